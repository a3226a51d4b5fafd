// Reads the text that print.cc writes. Names of registers, variables and symbols are taken as the
// printer numbers them; what is read is verified.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/kernel/kernel.h"
#include "ir/dim/facts.h"

namespace lathe::kernel {
namespace {

constexpr int kNestingLimit = 100;

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

const absl::flat_hash_map<std::string, KOp>& Ops() {
  static const auto* const kOps = [] {
    auto* ops = new absl::flat_hash_map<std::string, KOp>;
    for (int i = 0; i <= static_cast<int>(KOp::kGetVar); ++i) {
      ops->emplace(Name(static_cast<KOp>(i)), static_cast<KOp>(i));
    }
    return ops;
  }();
  return *kOps;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { Next(); }

  absl::StatusOr<std::shared_ptr<Kernel>> Parse() {
    std::shared_ptr<Kernel> k = ParseOne(0);
    if (status_.ok() && !token_.empty()) Wanted("the end");
    if (!status_.ok()) return status_;
    return k;
  }

 private:
  // Tokens: a word with what may stand in a name or number, a quoted string, a bracketed text, or a
  // single character.
  void Next();
  void Wanted(const std::string& what);
  bool Accept(std::string_view token);
  void Expect(std::string_view token);
  uint64_t Number(std::string_view prefix);
  int64_t Integer();
  uint64_t Bits();
  Dim Bracketed();
  Claim BracketedClaim();
  DType ElementType();
  KType Type();
  Reg Register();
  int Buffer();

  std::shared_ptr<Kernel> ParseOne(int depth);
  void ParseHeaderLine(Kernel* k, int depth);
  void ParseBuffer(Kernel* k);
  std::vector<Stmt> ParseBlock(int depth);
  Stmt ParseStatement(int depth);
  void ParseLet(Stmt* s);
  void ParseMask(Stmt* s, bool with_fill);
  void ParseAddress(Stmt* s);
  void ParseCall(Stmt* s);
  void ParseFor(Stmt* s, int depth);
  void ParseIf(Stmt* s, int depth);
  dim::SymbolId NewSymbol();

  std::string_view text_;
  size_t position_ = 0, token_start_ = 0;
  std::string_view token_;
  absl::Status status_;
  Kernel* kernel_ = nullptr;
  absl::flat_hash_map<Reg, KType> types_;
};

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '%' || c == '-';
}

void Parser::Next() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
    ++position_;
  }
  token_start_ = position_;
  if (position_ == text_.size()) {
    token_ = {};
    return;
  }
  size_t end = position_ + 1;
  const char c = text_[position_];
  if (IsWord(c)) {
    while (end < text_.size() && IsWord(text_[end])) ++end;
  } else if (c == '[') {
    end = std::min(text_.find(']', end), text_.size() - 1) + 1;
  } else if (c == '"') {
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text_.size());
  }
  token_ = text_.substr(position_, end - position_);
  position_ = end;
}

void Parser::Wanted(const std::string& what) {
  if (!status_.ok()) return;
  const int64_t line =
      std::count(text_.begin(), text_.begin() + static_cast<long>(token_start_), '\n');
  status_ = absl::InvalidArgumentError(absl::StrCat("kernel text, line ", line + 1, ": found \"",
                                                    View(token_), "\", wanted ", what));
  token_ = {};
  position_ = text_.size();
}

bool Parser::Accept(std::string_view token) {
  if (token_ != token) return false;
  Next();
  return true;
}

void Parser::Expect(std::string_view token) {
  if (!Accept(token)) Wanted(absl::StrCat("\"", View(token), "\""));
}

uint64_t Parser::Number(std::string_view prefix) {
  uint64_t value = 0;
  const bool good =
      token_.substr(0, prefix.size()) == prefix &&
      absl::SimpleAtoi(View(token_.substr(std::min(prefix.size(), token_.size()))), &value) &&
      value <= INT32_MAX;
  if (!good) {
    Wanted(absl::StrCat(View(prefix), "<number>"));
    return 0;
  }
  Next();
  return value;
}

int64_t Parser::Integer() {
  int64_t value = 0;
  if (!absl::SimpleAtoi(View(token_), &value)) {
    Wanted("an integer");
    return 0;
  }
  Next();
  return value;
}

uint64_t Parser::Bits() {
  uint64_t value = 0;
  if (token_.substr(0, 2) != "0x" || !absl::SimpleHexAtoi(View(token_), &value)) {
    Wanted("bits such as 0x3f800000");
    return 0;
  }
  Next();
  return value;
}

Dim Parser::Bracketed() {
  if (token_.size() < 2 || token_.front() != '[' || token_.back() != ']') {
    Wanted("a size in brackets");
    return 0;
  }
  absl::StatusOr<Dim> d =
      dim::ParseDim(token_.substr(1, token_.size() - 2), kernel_->dims.get(), false);
  if (!d.ok()) {
    Wanted(absl::StrCat("a size (", d.status().message(), ")"));
    return 0;
  }
  Next();
  return *d;
}

Claim Parser::BracketedClaim() {
  if (token_.size() < 2 || token_.front() != '[' || token_.back() != ']') {
    Wanted("a claim in brackets");
    return {};
  }
  absl::StatusOr<std::vector<Claim>> c =
      dim::ParseClaims(token_.substr(1, token_.size() - 2), kernel_->dims.get(), false);
  if (!c.ok() || c->size() != 1) {
    Wanted(absl::StrCat("one claim (", c.ok() ? "found several" : c.status().message(), ")"));
    return {};
  }
  Next();
  return (*c)[0];
}

KType Parser::Type() {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    const std::string_view name = lathe::Name(t);
    if (token_.substr(0, name.size()) != name) continue;
    std::string_view rest = token_.substr(name.size());
    int lanes = 1;
    const bool scalar = rest.empty();
    if (!scalar && (rest[0] != 'x' || !absl::SimpleAtoi(View(rest.substr(1)), &lanes))) continue;
    Next();
    return {t, lanes};
  }
  Wanted("a type such as f32x8");
  return {};
}

DType Parser::ElementType() {
  const KType t = Type();
  if (t.lanes != 1) Wanted("an element type");
  return t.dtype;
}

Reg Parser::Register() { return static_cast<Reg>(Number("%")); }

int Parser::Buffer() {
  const size_t number = Number("b");
  if (number >= kernel_->buffers.size()) Wanted("a buffer of the kernel before this");
  return static_cast<int>(number);
}

dim::SymbolId Parser::NewSymbol() {
  const std::string name(token_);
  if (name.empty() || name[0] < 'a' || name[0] > 'z' || kernel_->dims->Find(name).ok()) {
    Wanted("the name of a new symbol");
    return 0;
  }
  Next();
  dim::SymbolId id = 0;
  dim::IsSymbol(kernel_->dims->Symbol(name), &id);
  return id;
}

std::shared_ptr<Kernel> Parser::ParseOne(int depth) {
  auto k = std::make_shared<Kernel>();
  k->dims = std::make_shared<dim::DimContext>();
  Kernel* const outer = kernel_;
  auto outer_types = std::move(types_);
  types_.clear();
  kernel_ = k.get();
  k->is_micro = token_ == "micro";
  if (!Accept("micro")) Expect("kernel");
  std::vector<dim::SymbolId> sizes;
  while (status_.ok() && token_ != "{") sizes.push_back(NewSymbol());
  if (!status_.ok()) sizes.clear();
  for (dim::SymbolId id : sizes) k->sizes.push_back(k->dims->SymbolDim(id));
  dim::IsSymbol(k->dims->Symbol("t"), &k->task);
  Expect("{");
  while (status_.ok() && token_ != "body") ParseHeaderLine(k.get(), depth);
  Expect("body");
  k->body = ParseBlock(0);
  kernel_ = outer;
  types_ = std::move(outer_types);
  if (status_.ok()) status_ = Verify(*k);
  return k;
}

void Parser::ParseHeaderLine(Kernel* k, int depth) {
  if (Accept("buffer")) return ParseBuffer(k);
  if (Accept("assume")) {
    k->assumptions.push_back(BracketedClaim());
  } else if (Accept("tasks")) {
    k->tasks = Bracketed();
  } else if (Accept("failure")) {
    std::string text;
    const bool quoted = token_.size() >= 2 && token_.front() == '"' && token_.back() == '"' &&
                        absl::CUnescape(View(token_.substr(1, token_.size() - 2)), &text);
    if (!quoted) return Wanted("a quoted text");
    k->failures.push_back(text);
    Next();
  } else if (Accept("callee")) {
    if (depth >= kNestingLimit) return Wanted("callees nested less deeply");
    k->callees.push_back(ParseOne(depth + 1));
  } else {
    Wanted("buffer, assume, tasks, failure, callee or body");
  }
}

void Parser::ParseBuffer(Kernel* k) {
  BufferDecl d;
  if (Number("b") != k->buffers.size()) return Wanted("buffers in order");
  d.name = absl::StrCat("b", k->buffers.size());
  d.dtype = ElementType();
  bool known = false;
  for (BufferKind kind : {BufferKind::kInput, BufferKind::kOutput, BufferKind::kInOut,
                          BufferKind::kWorkerScratch, BufferKind::kTable}) {
    if (token_ != Name(kind)) continue;
    d.kind = kind;
    known = true;
  }
  if (!known) return Wanted("a kind of buffer");
  Next();
  d.elements = Bracketed();
  if (Accept("align")) d.alignment = static_cast<int>(Integer());
  if (d.kind == BufferKind::kTable) {
    Expect("=");
    while (token_.substr(0, 2) == "0x") d.table.push_back(Bits());
  }
  k->buffers.push_back(std::move(d));
}

void Parser::ParseMask(Stmt* s, bool with_fill) {
  if (!Accept("mask")) return;
  s->mask = Register();
  if (!with_fill) return;
  Expect("else");
  s->imm = Bits();
}

void Parser::ParseAddress(Stmt* s) {
  // "b0[i]" is two tokens: the name and the brackets.
  s->buffer = Buffer();
  s->index = Bracketed();
  if (Accept("stride")) s->stride = Bracketed();
}

void Parser::ParseLet(Stmt* s) {
  // In the canonical text registers are numbered in order, and variables likewise.
  s->out = Register();
  if (s->out != kernel_->num_regs) return Wanted(absl::StrCat("%", kernel_->num_regs));
  ++kernel_->num_regs;
  Expect("=");
  auto op = Ops().find(std::string(token_));
  if (op == Ops().end()) return Wanted("an op");
  s->op = op->second;
  Next();
  s->type = Type();
  switch (s->op) {
    case KOp::kConst:
      s->imm = Bits();
      break;
    case KOp::kIndex:
    case KOp::kMask:
      s->index = Bracketed();
      break;
    case KOp::kLane:
      break;
    case KOp::kLoad:
      ParseAddress(s);
      ParseMask(s, true);
      break;
    case KOp::kGather:
      s->buffer = Buffer();
      Expect("at");
      s->args[0] = Register();
      ParseMask(s, true);
      break;
    case KOp::kGetVar:
      s->imm = Number("v");
      break;
    default:
      s->args[0] = Register();
      for (int i = 1; i < 3 && Accept(","); ++i) s->args[i] = Register();
  }
  types_[s->out] = s->type;
}

void Parser::ParseCall(Stmt* s) {
  s->kind = StmtKind::kCall;
  s->imm = Number("");
  auto call = std::make_shared<CallArgs>();
  Expect("(");
  while (status_.ok() && !Accept(")")) {
    if (token_.substr(0, 1) == "b") {
      const int buffer = Buffer();
      call->buffers.push_back({buffer, Bracketed()});
    } else {
      call->sizes.push_back(Bracketed());
    }
    if (token_ != ")") Expect(",");
  }
  s->call = std::move(call);
}

void Parser::ParseFor(Stmt* s, int depth) {
  s->kind = StmtKind::kFor;
  s->symbol = NewSymbol();
  Expect("in");
  s->begin = Bracketed();
  Expect("to");
  s->end = Bracketed();
  Expect("step");
  s->step = Integer();
  if (Accept("unrolled")) s->loop = LoopKind::kUnrolled;
  Expect("{");
  s->body = ParseBlock(depth + 1);
}

void Parser::ParseIf(Stmt* s, int depth) {
  const bool on_sizes = token_.substr(0, 1) == "[";
  s->kind = on_sizes ? StmtKind::kIfDim : StmtKind::kIf;
  if (on_sizes) {
    s->claim = BracketedClaim();
  } else {
    s->args[0] = Register();
  }
  Expect("{");
  s->body = ParseBlock(depth + 1);
  if (!Accept("else")) return;
  Expect("{");
  s->other = ParseBlock(depth + 1);
}

Stmt Parser::ParseStatement(int depth) {
  Stmt s;
  auto value = [&](Reg r) {
    s.args[0] = r;
    s.type = types_[r];
  };
  if (token_.substr(0, 1) == "%") {
    ParseLet(&s);
  } else if (token_ == "var" || token_ == "set") {
    s.kind = token_ == "var" ? StmtKind::kVar : StmtKind::kSetVar;
    Next();
    s.imm = Number("v");
    Expect("=");
    value(Register());
    if (s.kind == StmtKind::kVar && s.imm != static_cast<uint64_t>(kernel_->num_vars++)) {
      Wanted("variables in order");
    }
  } else if (Accept("store")) {
    s.kind = StmtKind::kStore;
    ParseAddress(&s);
    Expect("=");
    value(Register());
    ParseMask(&s, false);
  } else if (Accept("for")) {
    ParseFor(&s, depth);
  } else if (Accept("if")) {
    ParseIf(&s, depth);
  } else if (Accept("bind")) {
    s.kind = StmtKind::kBind;
    s.symbol = NewSymbol();
    Expect("=");
    s.args[0] = Register();
  } else if (Accept("call")) {
    ParseCall(&s);
  } else if (Accept("fail")) {
    s.kind = StmtKind::kFail;
    s.imm = Number("");
    s.args[0] = Register();
    Expect("at");
    s.index = Bracketed();
    Expect("bound");
    s.stride = Bracketed();
  } else if (Accept("barrier")) {
    s.kind = StmtKind::kBarrier;
  } else {
    Wanted("a statement");
  }
  return s;
}

std::vector<Stmt> Parser::ParseBlock(int depth) {
  std::vector<Stmt> block;
  if (depth >= kNestingLimit) Wanted("blocks nested less deeply");
  while (status_.ok() && !Accept("}")) block.push_back(ParseStatement(depth));
  return block;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Kernel>> ParseKernel(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace lathe::kernel
