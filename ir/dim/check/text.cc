// Proofs as people read them.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dim/check/poly.h"
#include "ir/dim/check/proof.h"

namespace lathe::dim::check {
namespace {

std::string ToText(Int v) {
  if (v >= INT64_MIN && v <= INT64_MAX) return absl::StrCat(static_cast<int64_t>(v));
  std::string digits;
  for (Int rest = v; rest != 0; rest /= 10) {
    int digit = static_cast<int>(rest % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  return v < 0 ? "-" + digits : digits;
}

class Printer {
 public:
  Printer(const Problem& problem, const Certificate& c) : problem_(problem), c_(c) {
    for (const std::vector<Atom>* list : {&problem.atoms, &c.atoms}) {
      for (const Atom& a : *list) {
        std::string text = AtomText(a);
        if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
        names_.push_back(std::move(text));
      }
    }
  }

  std::string Text(const Poly& e) const {
    if (e.empty()) return "0";
    std::string text;
    for (auto it = e.rbegin(); it != e.rend(); ++it) {
      auto [mono, coef] = *it;
      bool minus = coef < 0;
      text += text.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
      std::string size = ToText(coef);
      if (minus) size.erase(0, 1);
      if (mono.empty() || size != "1") text += size;
      for (size_t i = 0; i < mono.size(); ++i) {
        if (i > 0 || size != "1") text += "*";
        size_t x = static_cast<size_t>(mono[i]);
        text += x < names_.size() ? names_[x] : "?";
      }
    }
    return text;
  }

  std::string Text(const Statement& s) const {
    switch (s.sense) {
      case Sense::kGe:
        return Text(s.e) + " >= 0";
      case Sense::kEq:
        return Text(s.e) + " == 0";
      case Sense::kNe:
        return Text(s.e) + " != 0";
      case Sense::kIn:
        return absl::StrCat(Text(s.e), " in {", absl::StrJoin(s.set, ", "), "}");
      case Sense::kFalse:
        break;
    }
    return "false";
  }

  std::string All() const {
    std::string text;
    for (size_t i = 0; i < c_.steps.size(); ++i) {
      const Step& s = c_.steps[i];
      absl::StrAppend(&text, i, ": ", Text(s.conclusion), "  [", Reason(s), "]\n");
    }
    return text;
  }

 private:
  static constexpr size_t kLongest = 1000;  // of an atom's text

  std::string Name(uint32_t symbol) const {
    return symbol < problem_.names.size() ? problem_.names[symbol] : absl::StrCat("s", symbol);
  }

  std::string AtomText(const Atom& a) const {
    if (a.kind == AtomKind::kSymbol) return Name(a.symbol);
    std::string x = Text(a.a), y = Text(a.b);
    auto in_brackets = [](const Poly& p, const std::string& text) {
      bool simple = p.empty() || (p.size() == 1 && p.begin()->first.size() <= 1 && text[0] != '-' &&
                                  text.find('*') == std::string::npos);
      return simple ? text : "(" + text + ")";
    };
    switch (a.kind) {
      case AtomKind::kFloorDiv:
        return absl::StrCat("(", in_brackets(a.a, x), " // ", in_brackets(a.b, y), ")");
      case AtomKind::kMod:
        return absl::StrCat("(", in_brackets(a.a, x), " % ", in_brackets(a.b, y), ")");
      case AtomKind::kProduct:
        return absl::StrCat("((", x, ") * (", y, "))");
      case AtomKind::kCeilDiv:
        return absl::StrCat("ceildiv(", x, ", ", y, ")");
      default:
        return absl::StrCat(a.kind == AtomKind::kMin ? "min(" : "max(", x, ", ", y, ")");
    }
  }

  std::string Reason(const Step& s) const {
    static constexpr const char* kNames[] = {"fact",
                                             "a size is not negative",
                                             "assume",
                                             "sum",
                                             "equal",
                                             "product",
                                             "square",
                                             "//",
                                             "by definition",
                                             "min, max",
                                             "min, max",
                                             "cases",
                                             "contradiction",
                                             "absurd",
                                             "member",
                                             "a fact is defined",
                                             "all points tried"};
    std::string text = kNames[static_cast<size_t>(s.rule) % std::size(kNames)];
    if (s.rule == Rule::kFact) absl::StrAppend(&text, " ", s.index);
    for (size_t k = 0; k < s.premises.size(); ++k) {
      text += k == 0 ? ": " : s.rule == Rule::kCombine ? " + " : ", ";
      if (s.rule == Rule::kCombine && k < s.multipliers.size() && s.multipliers[k] != Constant(1)) {
        std::string m = Text(s.multipliers[k]);
        absl::StrAppend(&text, s.multipliers[k].size() > 1 ? "(" + m + ")" : m, "*");
      }
      absl::StrAppend(&text, "#", s.premises[k]);
    }
    if (s.divisor != 1) absl::StrAppend(&text, ", by ", ToText(s.divisor));
    return text;
  }

  const Problem& problem_;
  const Certificate& c_;
  std::vector<std::string> names_;  // of the atoms
};

}  // namespace

std::string ToString(const Problem& problem, const Certificate& c, const Poly& e) {
  return Printer(problem, c).Text(e);
}
std::string ToString(const Problem& problem, const Certificate& c, const Statement& s) {
  return Printer(problem, c).Text(s);
}
std::string ToString(const Problem& problem, const Certificate& c) {
  return Printer(problem, c).All();
}

}  // namespace lathe::dim::check
