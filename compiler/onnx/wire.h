#pragma once
// Walks the protobuf messages of one file and knows at any time where it is: every error names byte
// and field ("byte 1234, ModelProto.graph.node[3].attribute[0].t: ..."). For the reader's own files
// alone, which throw inside: protozero does. ReadGuarded turns whatever was thrown into a status.
//
//   for (Fields f(in, proto::Graph::kSpec, bytes); f.Next();)
//     switch (f.tag()) { case proto::Graph::node: ParseNode(in, f.View(), &f.Add(graph->nodes)); }
#include <array>
#include <exception>
#include <functional>
#include <protozero/data_view.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/onnx/external_files.h"
#include "compiler/onnx/fields.h"
#include "compiler/onnx/reader.h"

namespace lathe::onnx {

struct ReadError : std::exception {
  explicit ReadError(absl::Status s) : status(std::move(s)) {}
  absl::Status status;
};

// One file being read: its bytes, its limits and what is used of them, and the place.
struct Input {
  Input(absl::Span<const char> b, std::shared_ptr<void> o, ExternalFiles e, const ReadLimits& l)
      : bytes(b), owner(std::move(o)), external(std::move(e)), limits(l) {}

  absl::Span<const char> bytes;
  std::shared_ptr<void> owner;
  ExternalFiles external;
  ReadLimits limits;
  int64_t nodes = 0, memory = 0;  // used so far

  struct Frame {
    const MessageSpec* message;
    const FieldSpec* field;  // null between fields
    int64_t index;           // of a repeated field, else -1
  };
  std::vector<Frame> path;
  const char* at = nullptr;  // where the current field begins

  // Throws a ReadError that names the place.
  [[noreturn]] void Fail(const std::string& what,
                         absl::StatusCode code = absl::StatusCode::kInvalidArgument) const;
  std::string Place() const;
  // Counts `bytes` of memory about to be taken; throws past the limit.
  void Charge(int64_t more);
};

// The known fields of one message, in the file's order; others are skipped. What Next returned true
// for is taken by exactly one of the getters.
class Fields {
 public:
  Fields(Input& in, const MessageSpec& spec, protozero::data_view bytes);
  bool Next();
  uint32_t tag() const { return field_->tag; }
  bool Has(uint32_t tag) const;  // among the fields so far

  void Skip() { reader_.skip(); }
  int64_t Int() { return reader_.get_int64(); }
  int32_t Int32() { return reader_.get_int32(); }
  float Float() { return reader_.get_float(); }
  protozero::data_view View() { return reader_.get_view(); }
  std::string String(int64_t most_bytes);  // ResourceExhausted past the limit
  std::string Name() { return String(in_.limits.name_bytes); }
  // The bytes of a repeated number, packed or not: those of one element or of many.
  protozero::data_view Numbers();
  void AppendInts(std::vector<int64_t>& to);
  void AppendFloats(std::vector<float>& to);

  template <typename T>
  T& Add(std::vector<T>& to) {
    in_.Charge(static_cast<int64_t>(sizeof(T)));
    return to.emplace_back();
  }
  // An error about the whole message, or about the current field.
  [[noreturn]] void Fail(const std::string& what,
                         absl::StatusCode code = absl::StatusCode::kInvalidArgument);
  [[noreturn]] void FailField(const std::string& what,
                              absl::StatusCode code = absl::StatusCode::kInvalidArgument);

 private:
  void CheckWire();

  Input& in_;
  const MessageSpec& spec_;
  protozero::pbf_reader reader_;
  const char* begin_;
  size_t depth_;  // of this message's frame in the path
  const FieldSpec* field_ = nullptr;
  std::array<int64_t, kMostFields> counts_{};
};

// Elements in the bytes of packed varints: each ends in a byte below 0x80.
int64_t CountVarints(protozero::data_view bytes);

// Runs `read` and returns what it threw as a status: nothing else leaves the reader.
absl::Status ReadGuarded(const Input& in, const std::function<void()>& read);

}  // namespace lathe::onnx
