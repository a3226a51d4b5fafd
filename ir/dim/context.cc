#include "ir/dim/context.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ir/dim/node.h"

namespace lathe::dim {
namespace {

uint64_t Mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

uint64_t HashOf(Dim d) {
  return d.is_constant() ? Mix(1, static_cast<uint64_t>(d.constant())) : d.node()->hash;
}

bool IsName(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9') || s[0] == '.') return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.';
  });
}

// What a node is looked up by, before it exists.
struct Key {
  uint64_t hash = 0;
  NodeKind kind = NodeKind::kPoison;
  Dim a, b;
  int64_t constant = 0;
  absl::Span<const Node* const> factors;
  absl::Span<const Term> terms;
  std::string_view text;
};

struct NodeHash {
  using is_transparent = void;
  size_t operator()(const Node* n) const { return n->hash; }
  size_t operator()(const Key& k) const { return k.hash; }
};

struct NodeEq {
  using is_transparent = void;
  bool operator()(const Node* x, const Node* y) const { return x == y; }
  bool operator()(const Node* n, const Key& k) const { return (*this)(k, n); }
  bool operator()(const Key& k, const Node* n) const {
    if (n->hash != k.hash || n->kind != k.kind || n->a != k.a || n->b != k.b ||
        n->constant != k.constant || n->text != k.text) {
      return false;
    }
    return std::equal(n->factors.begin(), n->factors.end(), k.factors.begin(), k.factors.end()) &&
           std::equal(
               n->terms.begin(), n->terms.end(), k.terms.begin(), k.terms.end(),
               [](const Term& s, const Term& t) { return s.coef == t.coef && s.mono == t.mono; });
  }
};

uint32_t SaturatingAdd(uint32_t a, uint32_t b) { return a + b < a ? UINT32_MAX : a + b; }

void Contain(Node* n, const Node* part) {
  n->depth = std::max(n->depth, part->depth);
  n->tree_size = SaturatingAdd(n->tree_size, part->tree_size);
  n->symbols |= part->symbols;
}

void Contain(Node* n, Dim part) {
  if (!part.is_constant()) Contain(n, part.node());
}

// Poison of constants alone, which belong to no context.
const Node* ContextFreePoison(std::string_view text) {
  static const auto* nodes = [] {
    auto* all = new std::deque<Node>;
    for (const char* t : {"a size overflows int64", "a size is divided by the constant 0",
                          "sizes of two programs are mixed in one expression"}) {
      Node& n = all->emplace_back();
      n.text = t;
      n.self = {1, &n};
    }
    return all;
  }();
  for (const Node& n : *nodes) {
    if (n.text == text) return &n;
  }
  return &nodes->front();
}

}  // namespace

struct DimContext::Impl {
  std::deque<Node> nodes;
  absl::flat_hash_set<const Node*, NodeHash, NodeEq> interned;
  std::vector<const Node*> symbols;
  absl::flat_hash_map<std::string, SymbolId> by_name;
  absl::flat_hash_map<std::string, int> fresh;  // the next number to try for a hint

  Node* New(DimContext* context, const Key& key) {
    Node& n = nodes.emplace_back();
    n.context = context;
    n.kind = key.kind;
    n.hash = key.hash;
    n.a = key.a;
    n.b = key.b;
    n.constant = key.constant;
    n.factors.assign(key.factors.begin(), key.factors.end());
    n.terms.assign(key.terms.begin(), key.terms.end());
    n.text = std::string(key.text);
    n.self = {1, &n};
    return &n;
  }
};

DimContext::DimContext() : impl_(std::make_unique<Impl>()) {}
DimContext::~DimContext() = default;

Dim DimContext::Symbol(std::string_view name) {
  std::string key(name);
  if (auto it = impl_->by_name.find(key); it != impl_->by_name.end()) {
    return Dim(impl_->symbols[it->second]);
  }
  if (!IsName(name)) {
    return Interner::Poison(this, absl::StrCat("\"", key, "\" can't name a size: a name is a ",
                                               "letter or _, then letters, digits, _ or ."));
  }
  Node& n = impl_->nodes.emplace_back();
  n.context = this;
  n.kind = NodeKind::kSymbol;
  n.symbol = static_cast<SymbolId>(impl_->symbols.size());
  n.hash = Mix(2, n.symbol);
  n.symbols = uint64_t{1} << (n.symbol % 64);
  n.self = {1, &n};
  n.text = key;
  impl_->symbols.push_back(&n);
  impl_->by_name.emplace(std::move(key), n.symbol);
  return Dim(&n);
}

Dim DimContext::FreshSymbol(std::string_view hint) {
  std::string base(hint);
  for (char& c : base) {
    if (!IsName(std::string_view(&c, 1)) && !(c >= '0' && c <= '9') && c != '.') c = '_';
  }
  if (!IsName(base)) base = absl::StrCat("_", base);
  if (!impl_->by_name.contains(base)) return Symbol(base);
  int& next = impl_->fresh[base];
  std::string name;
  do {
    name = absl::StrCat(base, ++next);
  } while (impl_->by_name.contains(name));
  return Symbol(name);
}

absl::StatusOr<Dim> DimContext::Find(std::string_view name) const {
  auto it = impl_->by_name.find(std::string(name));
  if (it == impl_->by_name.end()) {
    return absl::NotFoundError(absl::StrCat("no size is named \"", std::string(name), "\""));
  }
  return Dim(impl_->symbols[it->second]);
}

const std::string& DimContext::SymbolName(SymbolId id) const { return impl_->symbols[id]->text; }
Dim DimContext::SymbolDim(SymbolId id) const { return Dim(impl_->symbols[id]); }
int DimContext::num_symbols() const { return static_cast<int>(impl_->symbols.size()); }

Dim Interner::Poison(DimContext* context, std::string text) {
  if (context == nullptr) return Dim(ContextFreePoison(text));
  Key key;
  key.kind = NodeKind::kPoison;
  key.hash = 3;
  for (char c : text) key.hash = Mix(key.hash, static_cast<unsigned char>(c));
  key.text = text;
  DimContext::Impl* im = impl(context);
  if (auto it = im->interned.find(key); it != im->interned.end()) return Dim(*it);
  const Node* n = im->New(context, key);
  im->interned.insert(n);
  return Dim(n);
}

Dim Interner::Atom(DimContext* context, NodeKind kind, Dim a, Dim b) {
  Key key;
  key.kind = kind;
  key.hash = Mix(Mix(Mix(4, static_cast<uint64_t>(kind)), HashOf(a)), HashOf(b));
  key.a = a;
  key.b = b;
  DimContext::Impl* im = impl(context);
  if (auto it = im->interned.find(key); it != im->interned.end()) return Dim(*it);
  int depth =
      std::max(a.is_constant() ? 0 : a.node()->depth, b.is_constant() ? 0 : b.node()->depth);
  if (depth + 1 > kDepthLimit) {
    return Poison(context, absl::StrCat("a size is nested deeper than ", kDepthLimit,
                                        " operations; name a part of it"));
  }
  Node* n = im->New(context, key);
  Contain(n, a);
  Contain(n, b);
  n->depth = static_cast<uint16_t>(depth + 1);
  im->interned.insert(n);
  return Dim(n);
}

const Node* Interner::Monomial(DimContext* context, absl::Span<const Node* const> factors) {
  if (factors.size() == 1) return factors[0];
  Key key;
  key.kind = NodeKind::kMonomial;
  key.hash = 5;
  for (const Node* f : factors) key.hash = Mix(key.hash, f->hash);
  key.factors = factors;
  DimContext::Impl* im = impl(context);
  if (auto it = im->interned.find(key); it != im->interned.end()) return *it;
  Node* n = im->New(context, key);
  n->degree = static_cast<uint32_t>(factors.size());
  for (const Node* f : factors) Contain(n, f);
  im->interned.insert(n);
  return n;
}

Dim Interner::Sum(DimContext* context, absl::Span<const Term> terms, int64_t constant) {
  if (terms.empty()) return Dim(constant);
  if (terms.size() == 1 && terms[0].coef == 1 && constant == 0) return Dim(terms[0].mono);
  if (terms.size() > static_cast<size_t>(kSumLimit)) {
    return Poison(context,
                  absl::StrCat("a size has more than ", kSumLimit, " terms; name a part of it"));
  }
  Key key;
  key.kind = NodeKind::kSum;
  key.hash = Mix(6, static_cast<uint64_t>(constant));
  for (const Term& t : terms) {
    key.hash = Mix(Mix(key.hash, t.mono->hash), static_cast<uint64_t>(t.coef));
  }
  key.constant = constant;
  key.terms = terms;
  DimContext::Impl* im = impl(context);
  if (auto it = im->interned.find(key); it != im->interned.end()) return Dim(*it);
  Node* n = im->New(context, key);
  for (const Term& t : terms) Contain(n, t.mono);
  im->interned.insert(n);
  // Decompose gives out the terms as Dims; making them here keeps it a pure reader.
  bool single = terms.size() == 1 && constant == 0;
  for (size_t i = 0; !single && i < n->terms.size(); ++i) {
    Sum(context, absl::Span<const Term>(&n->terms[i], 1), 0);
  }
  return Dim(n);
}

}  // namespace lathe::dim
