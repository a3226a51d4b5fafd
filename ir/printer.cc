// Print: the text form of a graph, one op a line. It works from the rows of the op table; only
// inputs, constants and `if` have a form of their own. docs/text_form.md describes what it prints.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/attr_text.h"
#include "ir/graph.h"
#include "ir/lexer.h"

namespace lathe::ir {
namespace {

using dim::Fact;
using dim::SymbolId;

class Printer {
 public:
  Printer(const Graph& graph, const std::function<std::string(ValueId)>* comment)
      : graph_(graph), comment_(comment), labels_(graph.num_nodes()) {
    // Inputs stand where they were made, unless that isn't the order of the call.
    std::vector<ValueId> in_body;
    for (const ValueId v : graph.body.nodes) {
      if (graph.node(v).op == Op::k_input) in_body.push_back(v);
    }
    inputs_first_ = in_body != graph.inputs;
  }

  std::string Run() {
    MakeLabels();
    if (!graph_.name.empty()) {
      absl::StrAppend(&out_, "program ", PlainOrQuoted(graph_.name), "\n");
    }
    PrintFacts();
    if (inputs_first_) {
      for (const ValueId v : graph_.inputs) PrintNode(v, 0);
    }
    PrintBlock(graph_.body, 0);
    for (size_t i = 0; i < graph_.body.results.size(); ++i) PrintOutput(i);
    return std::move(out_);
  }

 private:
  static std::string PlainOrQuoted(const std::string& name) {
    return IsPlainName(name) ? name : Quote(name);
  }

  // ---- Names of values.

  static const std::string& NameOf(const Node& n) {
    return n.op == Op::k_input ? n.attrs.name : n.name;
  }

  // Numbers count all values in the order in which they are made, an `if` after its sides: the ids
  // of the graph that Parse makes from the text.
  void MakeLabels() {
    size_t count = 0;
    absl::flat_hash_set<std::string> taken;
    std::vector<bool> counted(graph_.num_nodes(), false);
    if (inputs_first_) {
      for (const ValueId v : graph_.inputs) LabelNode(v, &count, &taken, &counted);
    }
    LabelBlock(graph_.body, &count, &taken, &counted);
  }

  void LabelBlock(const Block& block, size_t* count, absl::flat_hash_set<std::string>* taken,
                  std::vector<bool>* counted) {
    for (const ValueId v : block.nodes) {
      for (const Block& side : graph_.node(v).blocks) LabelBlock(side, count, taken, counted);
      LabelNode(v, count, taken, counted);
    }
  }

  void LabelNode(ValueId v, size_t* count, absl::flat_hash_set<std::string>* taken,
                 std::vector<bool>* counted) {
    if ((*counted)[v]) return;
    (*counted)[v] = true;
    const std::string number = absl::StrCat("%", (*count)++);
    const std::string& name = NameOf(graph_.node(v));
    const bool plain = IsPlainName(name) && taken->insert(name).second;
    labels_[v] = plain ? name : number;
  }

  // The label as a definition writes it: with the name behind a number that stands for it.
  std::string Definition(ValueId v) const {
    const std::string& name = NameOf(graph_.node(v));
    if (name.empty() || labels_[v] == name) return labels_[v];
    return absl::StrCat(labels_[v], " ", Quote(name));
  }

  // Total also for damaged graphs, which are printed while debugging.
  std::string Label(ValueId v) const {
    if (v < labels_.size() && !labels_[v].empty()) return labels_[v];
    return graph_.ValueName(v);
  }

  // ---- Dims and facts.

  void AddSymbols(Dim d) {
    for (const SymbolId s : dim::FreeSymbols(d)) used_.insert(s);
  }
  void AddSymbols(const Shape& shape) {
    for (const Dim d : shape) AddSymbols(d);
  }

  void AddSymbols(const Block& block) {
    for (const ValueId v : block.nodes) {
      const Node& n = graph_.node(v);
      AddSymbols(n.type.shape);
      ForEachDim(n.attrs, [this](Dim d) { AddSymbols(d); });
      for (const Block& side : n.blocks) AddSymbols(side);
    }
  }

  // A line a dim with the facts about it alone, then a line for each fact about several.
  void PrintFacts() {
    AddSymbols(graph_.body);
    for (const ValueId v : graph_.inputs) AddSymbols(graph_.type(v).shape);
    absl::flat_hash_map<SymbolId, std::vector<const Fact*>> alone;
    std::vector<const Fact*> together;
    absl::flat_hash_set<std::string> stated;
    for (const Fact& f : graph_.facts().facts()) {
      if (f.standing != dim::Standing::kDeclared || !stated.insert(f.claim.ToString()).second) {
        continue;
      }
      AddSymbols(Shape{f.claim.lhs, f.claim.rhs});
      std::vector<SymbolId> symbols = dim::FreeSymbols(f.claim.lhs);
      for (const SymbolId s : dim::FreeSymbols(f.claim.rhs)) symbols.push_back(s);
      if (!symbols.empty() && std::count(symbols.begin(), symbols.end(), symbols[0]) ==
                                  static_cast<std::ptrdiff_t>(symbols.size())) {
        alone[symbols[0]].push_back(&f);
      } else {
        together.push_back(&f);
      }
    }
    std::vector<SymbolId> symbols(used_.begin(), used_.end());
    std::sort(symbols.begin(), symbols.end());
    for (const SymbolId s : symbols) PrintDim(s, alone[s]);
    for (const Fact* f : together) absl::StrAppend(&out_, "assume ", f->claim.ToString(), "\n");
  }

  void PrintDim(SymbolId symbol, const std::vector<const Fact*>& facts) {
    const Dim d = graph_.dims()->SymbolDim(symbol);
    const std::string& name = graph_.dims()->SymbolName(symbol);
    absl::StrAppend(&out_, "dim ", name);
    // The first two bounds by numbers become a range.
    const Fact *low = nullptr, *high = nullptr;
    for (const Fact* f : facts) {
      if (f->claim.relation != Relation::kLe) continue;
      if (low == nullptr && f->claim.rhs == d && f->claim.lhs.is_constant()) low = f;
      if (high == nullptr && f->claim.lhs == d && f->claim.rhs.is_constant()) high = f;
    }
    const bool range = low != nullptr && high != nullptr;
    std::string claims;
    for (const Fact* f : facts) {
      if (range && (f == low || f == high)) continue;
      absl::StrAppend(&claims, claims.empty() ? "" : ", ", f->claim.ToString());
    }
    if (range) {
      absl::StrAppend(&out_, " in ", low->claim.lhs.constant(), "..", high->claim.rhs.constant(),
                      claims.empty() ? "" : ", ", claims);
    } else if (claims.starts_with(name + " ")) {  // dim n % 8 == 0
      out_ += claims.substr(name.size());
    } else if (!claims.empty()) {
      absl::StrAppend(&out_, "\nassume ", claims);
    }
    out_ += "\n";
  }

  // ---- Nodes.

  void PrintBlock(const Block& block, int indent) {
    for (const ValueId v : block.nodes) {
      if (indent == 0 && inputs_first_ && graph_.node(v).op == Op::k_input) continue;
      PrintNode(v, indent);
    }
  }

  void PrintNode(ValueId v, int indent) {
    const Node& n = graph_.node(v);
    out_.append(static_cast<size_t>(indent), ' ');
    out_ += Definition(v);
    if (n.op != Op::k_constant) absl::StrAppend(&out_, ": ", n.type.ToString());
    if (n.op == Op::k_constant) {
      absl::StrAppend(&out_, " = constant(", TensorText(n.attrs.tensor), ")");
    } else if (!n.blocks.empty()) {
      PrintIf(n, indent);
    } else if (n.op != Op::k_input) {
      PrintCall(n);
    } else if (n.attrs.elements.has_value()) {
      absl::StrAppend(&out_, " = input(elements=", lathe::ToString(*n.attrs.elements), ")");
    } else if (n.attrs.offsets.has_value()) {
      absl::StrAppend(&out_, " = input(offsets=", lathe::ToString(*n.attrs.offsets), ")");
    }
    if (comment_ != nullptr) {
      const std::string text = (*comment_)(v);
      if (!text.empty()) absl::StrAppend(&out_, "  # ", text);
    }
    out_ += "\n";
  }

  void PrintCall(const Node& n) {
    const OpInfo& row = Info(n.op);
    absl::StrAppend(&out_, " = ", std::string(row.name), "(");
    const char* separator = "";
    for (const ValueId operand : n.operands) {
      absl::StrAppend(&out_, separator, Label(operand));
      separator = ", ";
    }
    for (const AttrSpec& spec : row.attrs) {
      const AttrField* field = FindAttrField(spec.name);
      if (field == nullptr) continue;
      const auto text = AttrText(*field, n.attrs, spec.required);
      if (!text.has_value()) continue;
      absl::StrAppend(&out_, separator, std::string(spec.name), "=", *text);
      separator = ", ";
    }
    out_ += ")";
  }

  // Nesting is bounded by kMaxBlockDepth.
  void PrintIf(const Node& n, int indent) {
    absl::StrAppend(&out_, " = if ", n.attrs.claim.value_or(Claim{}).ToString());
    const char* word = "";
    for (const Block& side : n.blocks) {
      absl::StrAppend(&out_, word, " {\n");
      PrintBlock(side, indent + 2);
      out_.append(static_cast<size_t>(indent) + 2, ' ');
      absl::StrAppend(&out_, "yield ", side.results.empty() ? "" : Label(side.results[0]), "\n");
      out_.append(static_cast<size_t>(indent), ' ');
      out_ += "}";
      word = " else";
    }
  }

  void PrintOutput(size_t i) {
    const std::string label = Label(graph_.body.results[i]);
    const std::string name = i < graph_.output_names.size() ? graph_.output_names[i] : "";
    if (name == label) {
      absl::StrAppend(&out_, "output ", label, "\n");
    } else {
      absl::StrAppend(&out_, "output ", PlainOrQuoted(name), " = ", label, "\n");
    }
  }

  const Graph& graph_;
  const std::function<std::string(ValueId)>* comment_;
  std::vector<std::string> labels_;  // by value; empty for values in no block
  absl::flat_hash_set<SymbolId> used_;
  bool inputs_first_ = false;
  std::string out_;
};

}  // namespace

std::string Print(const Graph& graph) { return Printer(graph, nullptr).Run(); }

std::string Print(const Graph& graph, const std::function<std::string(ValueId)>& comment) {
  return Printer(graph, &comment).Run();
}

}  // namespace lathe::ir
