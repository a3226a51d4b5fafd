// Text of Dims and claims, as people write it; ParseDim (parse.cc) reads it back to the same Dim.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/dim/node.h"

namespace lathe {
namespace dim {
namespace {

// Texts stop here: sharing can make the tree of a Dim far larger than its graph.
constexpr size_t kTextLimit = 1 << 16;

class Printer {
 public:
  std::string Print(Dim d) {
    Poly p = PolyOf(d);
    PrintPoly(p);
    return std::move(out_);
  }

 private:
  // Whether a text is used as it stands, as a factor or a dividend, or as a divisor.
  enum Place { kAlone, kDividend, kFactor };

  bool Full() const { return out_.size() > kTextLimit; }

  void PrintPoly(const Poly& p) {
    bool constant_first = !p.terms.empty() && p.terms[0].coef < 0 && p.constant > 0;
    if (p.terms.empty() || constant_first) absl::StrAppend(&out_, p.constant);
    bool first = p.terms.empty() ? false : !constant_first;
    for (const Term& t : p.terms) {
      if (Full()) {
        out_ += "...";
        return;
      }
      PrintTerm(t, first);
      first = false;
    }
    if (p.terms.empty() || constant_first || p.constant == 0) return;
    out_ += Joint(p.constant);
    absl::StrAppend(&out_, Magnitude(p.constant));
  }

  static uint64_t Magnitude(int64_t v) {
    return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  }

  // -2^63 keeps its sign, since 2^63 alone isn't an int64.
  static const char* Joint(int64_t v) { return v == INT64_MIN ? " + -" : v < 0 ? " - " : " + "; }

  void PrintTerm(const Term& t, bool first) {
    if (first) {
      if (t.coef < 0) out_ += "-";
    } else {
      out_ += Joint(t.coef);
    }
    if (Magnitude(t.coef) == 1) {
      // "-a // b" would parse as (-a) // b.
      PrintMono(t.mono, t.coef < 0 && first ? kFactor : kAlone);
      return;
    }
    absl::StrAppend(&out_, Magnitude(t.coef), "*");
    PrintMono(t.mono, kFactor);
  }

  void PrintMono(const Node* n, Place place) {
    if (n->kind != NodeKind::kMonomial) {
      PrintAtom(n, place);
      return;
    }
    bool first = true;
    for (const Node* f : n->factors) {
      if (!first) out_ += "*";
      first = false;
      PrintAtom(f, kFactor);
    }
  }

  void PrintAtom(const Node* n, Place place) {
    if (Full()) {
      out_ += "...";
      return;
    }
    switch (n->kind) {
      case NodeKind::kSymbol:
        out_ += n->text;
        return;
      case NodeKind::kFloorDiv:
        if (IsCeiling(n)) {
          out_ += "ceildiv(";
          PrintPoly({PolyOf(n->a).terms, 0});
          absl::StrAppend(&out_, ", ", n->b.constant(), ")");
          return;
        }
        PrintBinary(n, " // ", place);
        return;
      case NodeKind::kMod:
        PrintBinary(n, " % ", place);
        return;
      case NodeKind::kProduct:
        PrintBinary(n, "*", place);
        return;
      case NodeKind::kCeilDiv:
      case NodeKind::kMin:
      case NodeKind::kMax:
        PrintCall(n);
        return;
      default:
        out_ += "error(" + n->text + ")";
    }
  }

  // (a + c - 1) // c.
  static bool IsCeiling(const Node* n) {
    return n->b.is_constant() && !n->a.is_constant() &&
           PolyOf(n->a).constant == n->b.constant() - 1;
  }

  void PrintBinary(const Node* n, const char* op, Place place) {
    bool wrap = place != kAlone;
    if (wrap) out_ += "(";
    bool product = n->kind == NodeKind::kProduct;
    PrintOperand(n->a, product ? kFactor : kDividend);
    out_ += op;
    PrintOperand(n->b, kFactor);
    if (wrap) out_ += ")";
  }

  void PrintOperand(Dim d, Place place) {
    if (d.is_constant()) {
      if (d.constant() < 0) {
        absl::StrAppend(&out_, "(", d.constant(), ")");
      } else {
        absl::StrAppend(&out_, d.constant());
      }
      return;
    }
    Poly p = PolyOf(d);
    bool sum = p.terms.size() + (p.constant != 0) > 1;
    bool scaled = !sum && (p.terms[0].coef != 1 || p.terms[0].mono->degree > 1);
    if (!sum && !scaled) {
      PrintAtom(p.terms[0].mono, place);
      return;
    }
    // "4*n // 3" is (4*n) // 3; a divisor and a sum need the parentheses.
    bool wrap = sum || place == kFactor || p.terms[0].coef < 0;
    if (wrap) out_ += "(";
    PrintPoly(p);
    if (wrap) out_ += ")";
  }

  void PrintCall(const Node* n) {
    NodeKind kind = n->kind;
    out_ += kind == NodeKind::kCeilDiv ? "ceildiv(" : kind == NodeKind::kMin ? "min(" : "max(";
    PrintPoly(PolyOf(n->a));
    while (kind != NodeKind::kCeilDiv && !n->b.is_constant() && n->b.node()->kind == kind) {
      n = n->b.node();
      out_ += ", ";
      PrintPoly(PolyOf(n->a));
    }
    out_ += ", ";
    PrintPoly(PolyOf(n->b));
    out_ += ")";
  }

  std::string out_;
};

}  // namespace
}  // namespace dim

std::string Dim::ToString() const { return dim::Printer().Print(*this); }

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", shape[i].ToString());
  }
  return text + "]";
}

std::string Claim::ToString() const {
  if (relation == Relation::kIn) {
    std::string text = lhs.ToString() + " in {";
    for (size_t i = 0; i < set.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", set[i]);
    return text + "}";
  }
  const char* op = relation == Relation::kEq   ? " == "
                   : relation == Relation::kNe ? " != "
                   : relation == Relation::kLt ? " < "
                                               : " <= ";
  return lhs.ToString() + op + rhs.ToString();
}

}  // namespace lathe
