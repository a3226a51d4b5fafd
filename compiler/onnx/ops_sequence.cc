// Sequences and optionals: their structure is known while importing, so they are lists of values
// here and no program ever sees one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

constexpr int64_t kMostItems = 65536;

using List = std::shared_ptr<const std::vector<Val>>;

// Never null; empty after a fault.
List Items(NodeContext& c, int input) {
  const Val v = c.InVal(input);
  if (v.kind == Val::Kind::kSequence) return v.items;
  c.Fail(absl::StrCat("input ", input, v.present() ? " is a tensor" : " is missing",
                      "; wanted a sequence"));
  return std::make_shared<const std::vector<Val>>();
}

// Before a list of `count` items is made, or all items of one are used. False after a fault.
bool TakeItems(NodeContext& c, size_t count) {
  if (!c.ok()) return false;
  if (count > static_cast<size_t>(kMostItems)) {
    c.Fail(absl::ResourceExhaustedError(
        absl::StrCat("a sequence is longer than the limit of ", kMostItems)));
    return false;
  }
  if (absl::Status s = c.importer().TakeItems(static_cast<int64_t>(count)); !s.ok()) c.Fail(s);
  return c.ok();
}

// A position in 0..count-1, or `otherwise` if the input isn't there. Negative ones count from the
// end.
int64_t Position(NodeContext& c, int input, int64_t count, int64_t otherwise) {
  if (!c.Has(input)) return otherwise;
  const std::optional<std::vector<int64_t>> at = c.Constants(input);
  if (!at) return 0;
  const int64_t given = at->size() == 1 ? (*at)[0] : count;
  const int64_t place = given < 0 ? given + count : given;
  if (at->size() == 1 && place >= 0 && place < count) return place;
  c.Fail(absl::OutOfRangeError(
      absl::StrCat("position ", given, " of a sequence; wanted one of ", count)));
  return 0;
}

void SequenceConstruct(NodeContext& c) {
  if (!TakeItems(c, static_cast<size_t>(c.num_inputs()))) return;
  std::vector<Val> items;
  for (int i = 0; i < c.num_inputs(); ++i) items.push_back(c.InVal(i));
  for (const Val& v : items)
    if (v.kind != Val::Kind::kTensor) return c.Fail("an item is no tensor");
  c.OutVal(0, Val::Sequence(std::move(items)));
}

void SequenceEmpty(NodeContext& c) { c.OutVal(0, Val::Sequence({})); }

void SequenceInsert(NodeContext& c) {
  const List before = Items(c, 0);
  const Val item = c.InVal(1);
  const int64_t count = static_cast<int64_t>(before->size());
  if (item.kind != Val::Kind::kTensor) return c.Fail("input 1 is no tensor");
  int64_t at = count;
  if (c.Has(2)) {
    const std::optional<std::vector<int64_t>> given = c.Constants(2);
    if (!given) return;
    // The end itself is a place to insert at.
    const bool is_end = given->size() == 1 && (*given)[0] == count;
    if (!is_end) at = Position(c, 2, count, count);
  }
  if (!TakeItems(c, before->size() + 1)) return;
  std::vector<Val> items = *before;
  items.insert(items.begin() + at, item);
  c.OutVal(0, Val::Sequence(std::move(items)));
}

void SequenceErase(NodeContext& c) {
  const List before = Items(c, 0);
  const int64_t count = static_cast<int64_t>(before->size());
  const int64_t at = Position(c, 1, count, count - 1);
  if (!c.ok()) return;
  if (before->empty()) return c.Fail("the sequence is empty");
  if (!TakeItems(c, before->size())) return;
  std::vector<Val> items = *before;
  items.erase(items.begin() + at);
  c.OutVal(0, Val::Sequence(std::move(items)));
}

void SequenceAt(NodeContext& c) {
  const List items = Items(c, 0);
  if (!c.Has(1)) return c.Fail("input 1 is missing; wanted a position");
  const int64_t at = Position(c, 1, static_cast<int64_t>(items->size()), 0);
  if (c.ok()) c.OutVal(0, (*items)[static_cast<size_t>(at)]);
}

void SequenceLength(NodeContext& c) {
  const int64_t count = static_cast<int64_t>(Items(c, 0)->size());
  if (c.ok()) c.OutVal(0, Val::Constant(Tensor::Scalar<int64_t>(count)));
}

// Without sizes in single steps, with a scalar in steps of that many, with a list in those.
void SplitToSequence(NodeContext& c) {
  V x = c.In(0);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", 0), x.rank());
  if (!c.ok()) return;
  const Dim extent = x.dim(axis);
  if (!c.ok()) return;  // a scalar
  if (c.Has(1) && c.InVal(1).kind != Val::Kind::kTensor)
    return c.Fail("input 1 is a sequence; wanted a tensor");
  std::vector<Dim> sizes;
  const bool list = c.Has(1) && c.scope().TypeOf(c.InVal(1)).rank() == 1;
  if (list) {
    const std::optional<std::vector<Dim>> given = c.Dims(1);
    if (!given) return;
    if (!TakeItems(c, given->size())) return;
    sizes = *given;
    Dim sum = 0;
    for (Dim d : sizes) sum += d;
    c.Require(Eq(sum, extent), "the parts of a split make up the whole");
  } else {
    int64_t step = 1;
    if (c.Has(1)) {
      const std::optional<std::vector<int64_t>> given = c.Constants(1);
      if (!given) return;
      step = given->size() == 1 ? (*given)[0] : 0;
    }
    if (step < 1) return c.Fail("the size of the parts isn't positive");
    if (!extent.is_constant())
      return c.Unsupported(absl::StrCat("the length of the sequence is known only from the size ",
                                        extent.ToString(), "; fix it to load the model"));
    const int64_t rest = extent.constant() % step != 0 ? 1 : 0;
    if (!TakeItems(c, static_cast<size_t>(extent.constant() / step + rest))) return;
    for (int64_t at = 0; at < extent.constant(); at += step)
      sizes.push_back(std::min(step, extent.constant() - at));
  }
  const bool squeeze = !c.Has(1) && c.Int("keepdims", 1) == 0;
  std::vector<Val> items;
  Dim at = 0;
  for (Dim size : sizes) {
    V part = SliceAxis(x, axis, at, at + size);
    if (!c.ok()) return;
    Shape shape = x.shape();
    shape[static_cast<size_t>(axis)] = size;
    part = squeeze ? Squeeze(part, {axis}) : ReshapeTo(part, shape);
    if (!c.ok()) return;
    items.push_back(c.scope().Here(part.id));
    at += size;
  }
  c.OutVal(0, Val::Sequence(std::move(items)));
}

void ConcatFromSequence(NodeContext& c) {
  const List items = Items(c, 0);
  if (!TakeItems(c, items->size())) return;
  if (items->empty()) return c.Fail("the sequence is empty; wanted something to concatenate");
  std::vector<V> parts;
  for (const Val& v : *items) parts.push_back(c.Use(v));
  if (!c.ok()) return;
  const bool fresh = c.Int("new_axis") != 0;
  const int axis = c.Axis(c.Int("axis"), parts[0].rank() + (fresh ? 1 : 0));
  if (!c.ok()) return;
  for (V& part : parts)
    if (fresh) part = Unsqueeze(part, {axis});
  c.Out(0, Concat(parts, axis));
}

void SequenceMap(NodeContext& c) {
  const Attribute* body = c.Find("body");
  if (body == nullptr || body->graphs.size() != 1) return c.Fail("attribute body is no graph");
  const size_t count = Items(c, 0)->size();
  if (!c.ok()) return;
  std::vector<std::vector<Val>> results(static_cast<size_t>(c.num_outputs()));
  for (size_t i = 0; i < count; ++i) {
    std::vector<Val> inputs;
    for (int k = 0; k < c.num_inputs(); ++k) {
      const Val v = c.InVal(k);
      if (v.kind != Val::Kind::kSequence) {
        inputs.push_back(v);
      } else if (v.items->size() == count) {
        inputs.push_back((*v.items)[i]);
      } else {
        return c.Fail(
            absl::StrCat("input ", k, " has ", v.items->size(), " items, the first one ", count));
      }
    }
    absl::StatusOr<std::vector<Val>> values =
        c.importer().ImportGraph(*body->graphs[0], c.scope(), inputs);
    if (!values.ok()) return c.Fail(values.status());
    if (values->size() < results.size()) return c.Fail("the body has too few outputs");
    absl::Status taken = c.importer().TakeItems(static_cast<int64_t>(results.size()));
    if (!taken.ok()) return c.Fail(std::move(taken));
    for (size_t k = 0; k < results.size(); ++k) results[k].push_back((*values)[k]);
  }
  for (size_t k = 0; k < results.size(); ++k)
    c.OutVal(static_cast<int>(k), Val::Sequence(std::move(results[k])));
}

// -- optionals: the value itself, or none

void Optional(NodeContext& c) { c.OutVal(0, c.InVal(0)); }

void OptionalHasElement(NodeContext& c) {
  c.OutVal(0, Val::Constant(Tensor::Scalar<bool>(c.Has(0))));
}

void OptionalGetElement(NodeContext& c) {
  if (!c.Has(0)) return c.Fail("the optional has no value");
  c.OutVal(0, c.InVal(0));
}

}  // namespace

std::vector<Mapping> SequenceMappings() {
  return {
      {"", "SequenceConstruct", SequenceConstruct},
      {"", "SequenceEmpty", SequenceEmpty},
      {"", "SequenceInsert", SequenceInsert},
      {"", "SequenceErase", SequenceErase},
      {"", "SequenceAt", SequenceAt},
      {"", "SequenceLength", SequenceLength},
      {"", "SplitToSequence", SplitToSequence},
      {"", "ConcatFromSequence", ConcatFromSequence},
      {"", "SequenceMap", SequenceMap},
      {"", "Optional", Optional},
      {"", "OptionalHasElement", OptionalHasElement},
      {"", "OptionalGetElement", OptionalGetElement},
  };
}

}  // namespace lathe::onnx
