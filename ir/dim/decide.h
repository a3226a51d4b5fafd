#pragma once
// Decider: whether facts, and the denial of a claim, can hold together; decided over the integers
// by linear arithmetic, for sizes of any magnitude. Internal to ir/dim: FactSet asks it after the
// quick road (prove.h) gave no answer, Explain asks it for conflicts, Certify for proofs.
//
// Symbols and all that linear arithmetic can't express (`//`, `%`, ceildiv, min, max, products)
// become variables, and what is known of each operation becomes inequalities: c*q <= a <= c*q + c-1
// for q = a // c, products of bounds for products. Where that has a solution over the variables
// but not over the symbols, the search splits: e <= k or e >= k + 1. The outcome is a model that
// was verified by evaluation, or a tree of splits with a linear contradiction at each leaf.
// Bounded by steps, hence repeatable.
//
// Files: decide_rows.cc (from Dims to inequalities), decide_products.cc (products of inequalities),
// decide.cc (the search), decide_facts.cc (which facts take part).
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ir/dim/linear.h"
#include "ir/dim/theory.h"

namespace lathe::dim {

using Factors = absl::InlinedVector<int, 4>;  // variables, ascending, with repeats

// What a variable stands for.
struct DecideVariable {
  NodeKind kind = NodeKind::kSymbol;
  SymbolId symbol = 0;
  Dim a, b;         // operands of //, %, ceildiv, min, max, opaque products
  Factors factors;  // kMonomial: two or more
};

// Why an inequality holds that isn't derived from others. `row` is what it states, >= 0.
struct Premise {
  enum Kind : uint8_t {
    kFact,         // fact `index` (-1: the claim or its denial); of e == 0 the two sides
    kNotEqual,     // hypothesis, a side of: the e of `index` isn't 0 (denied membership: not value)
    kSetHull,      // the least or greatest member of fact `index`
    kSetGap,       // hypothesis, a side of: e <= one member or e >= the next
    kInteger,      // hypothesis, a side of: e <= k or e >= k + 1
    kNonNegative,  // symbol variable `index`
    kQuotient,     // a - b*q >= 0 or b*q + b - 1 - a >= 0 for variable `index`; given b >= 1
    kDefinition,   // m == a - b*q, c == -((-a) // b) for variable `index`, two sides; given b >= 1
    kBound,        // min(a, b) <= a, b or max alike
    kSelect,       // min(a, b) == a, two sides; given a <= b; or alike
    kProduct,      // first * second, both >= 0
    kTimes,        // first == 0 (its opposite is `second`), times variable `index`
    kSquare,       // variable `index`, squared, is >= 0
  };
  Kind kind = kFact;
  bool negated = false;  // of two sides: the one with the sign changed
  int index = -1;
  int first = -1, second = -1;  // steps that it rests on
  LinearRow row;
};

struct RefutationNode {
  int contradiction = -1;            // a leaf: the step that states -1 >= 0
  int low_premise = -1, low = -1;    // otherwise two hypotheses, one of which holds, and the nodes
  int high_premise = -1, high = -1;  // that refute them
};

struct Refutation {
  std::vector<DecideVariable> variables;
  std::vector<Premise> premises;
  Derivation steps;
  std::vector<RefutationNode> nodes;
  int root = -1;
  Why used;  // the facts that it rests on
};

// Effort for one question. `steps` is work: an inequality that is derived, or a row that a system
// starts with, is one. Verification and shape rules rest on it: with a fifth some models are
// refused.
struct DecideLimits {
  int steps = 1000;
  int nodes = 16;
  int variables = 48;
  size_t facts = 12;
};

class Decider {
 public:
  Decider(const Theory& theory, DecideLimits limits) : theory_(theory), limits_(limits) {}

  // A claim that holds: id >= 0.
  void Assume(FactId id, const Constraint& claim);
  // The claim that shall be refuted; once.
  void Deny(const Claim& claim);

  enum class Outcome : uint8_t { kRefuted, kModel, kUnknown };
  // kModel: `values` (which come with values for all symbols, used where a symbol doesn't matter)
  // made `accept` return true. kRefuted: see refutation().
  Outcome Run(std::vector<int64_t>* values,
              absl::FunctionRef<bool(const std::vector<int64_t>&)> accept);
  const Refutation& refutation() const { return r_; }

 private:
  // e != 0, e != v, or e in set: what the rows can't say.
  struct Choice {
    Sense sense;
    int index;
    LinearTerms terms;
    Wide constant;
    std::vector<int64_t> set;  // kIn: members; kNe: the one value that e hasn't
  };
  struct Range {
    int low = -1, high = -1;  // rows of Bounds, or -1
  };
  struct Bounds {
    std::vector<LinearRow> rows;  // x - low >= 0 and high - x >= 0
    std::vector<Range> of;        // by variable
  };

  // decide_rows.cc
  void AddConstraint(int index, const Constraint& c);
  bool RowOf(Dim d, LinearRow* row);
  int VariableOf(const Node* mono);
  int Atom(NodeKind kind, Dim a, Dim b);
  int MonomialOf(Factors factors, bool make);
  Factors FactorsOf(int x, int y) const;
  void AddAxioms(int variable);
  void AddVariableDivisions();
  int AddPremise(Premise premise);
  LinearRow PremiseRow(Premise premise);
  LinearRow EqualRow(Premise premise);
  bool Multiply(const LinearRow& x, const LinearRow& y, bool make, LinearRow* out);
  Bounds FindBounds(const std::vector<LinearRow>& rows);
  bool Tightens(const LinearRow& row, size_t term, const Bounds& bounds) const;
  const LinearRow* EndOf(const LinearTerm& t, const Bounds& bounds, bool least) const;
  static bool AddEnd(const LinearRow& end, Wide factor, LinearRow* out);
  bool DeriveBound(const LinearRow& row, size_t term, const Bounds& bounds, LinearRow* out);
  bool LowerBound(const LinearRow& row, const Bounds& bounds, LinearRow* out);
  void AddProducts(const std::vector<LinearRow>& given, std::vector<LinearRow>* rows);
  void AddFactProducts();

  // decide.cc
  int Search(std::vector<LinearRow>* path, int depth);
  int Split(absl::FunctionRef<int(int side)> enter, std::vector<LinearRow>* path, int depth);
  int Branch(Premise low, Premise high, std::vector<LinearRow>* path, int depth);
  int ChooseSplit(const std::vector<Wide>& point, std::vector<LinearRow>* path, int depth);
  void ChooseFactor(const Factors& factors, const std::vector<Wide>& point,
                    const std::vector<LinearRow>& path, int* best, bool* above);
  int SplitMinMax(int variable, const LinearRow& a, const LinearRow& b,
                  std::vector<LinearRow>* path, int depth);
  bool TryPoint(const std::vector<Wide>& point);
  void MarkUsed(int step, std::vector<uint8_t>* premises) const;
  void Collect(int node, std::vector<uint8_t>* premises) const;

  const Theory& theory_;
  DecideLimits limits_;
  Refutation r_;
  std::vector<LinearRow> rows_;  // what holds in every branch
  std::vector<Choice> choices_;
  std::vector<std::pair<const Node*, int>> variable_of_;
  std::vector<int> monomials_;
  std::vector<int> divisions_;  // by a divisor that isn't constant
  bool truncated_ = false;
  std::vector<int64_t>* values_ = nullptr;
  absl::FunctionRef<bool(const std::vector<int64_t>&)>* accept_ = nullptr;
  bool found_ = false;
};

struct Decision {
  Decider::Outcome outcome = Decider::Outcome::kUnknown;
  std::vector<int64_t> values;  // kModel: of all symbols below `num_symbols`
  Why used;                     // kRefuted: the facts that it rests on; they suffice
  bool splits = false;          // kRefuted: not by one linear contradiction alone
};

// Whether the theory's claims near `claim`, and either its denial or itself, can hold together.
// A model takes the values of `base` for the symbols that don't matter; `base_is_model` says that
// all the theory's claims hold in it. `refutation`, if not null, gets the tree.
Decision Decide(const Theory& theory, const Claim& claim, bool deny, int num_symbols,
                const std::vector<int64_t>& base, bool base_is_model, DecideLimits limits,
                Refutation* refutation = nullptr);

}  // namespace lathe::dim
