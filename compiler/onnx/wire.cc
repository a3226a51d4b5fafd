#include "compiler/onnx/wire.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

#include "absl/strings/str_cat.h"

namespace lathe::onnx {
namespace {

using protozero::pbf_wire_type;

const char* WireName(pbf_wire_type type) {
  switch (type) {
    case pbf_wire_type::varint:
      return "a varint";
    case pbf_wire_type::fixed32:
      return "4 bytes";
    case pbf_wire_type::fixed64:
      return "8 bytes";
    case pbf_wire_type::length_delimited:
      return "a length and bytes";
    default:
      return "an unknown wire type";
  }
}

// How one element stands in the file.
pbf_wire_type ElementWire(Wire wire) {
  switch (wire) {
    case Wire::kInt:
    case Wire::kInts:
      return pbf_wire_type::varint;
    case Wire::kFloat:
    case Wire::kFloats:
      return pbf_wire_type::fixed32;
    case Wire::kDoubles:
      return pbf_wire_type::fixed64;
    default:
      return pbf_wire_type::length_delimited;
  }
}

bool IsPackable(Wire wire) {
  return wire == Wire::kInts || wire == Wire::kFloats || wire == Wire::kDoubles;
}

bool IsRepeated(Wire wire) {
  return IsPackable(wire) || wire == Wire::kStrings || wire == Wire::kMessages;
}

std::string Explain(const protozero::exception& e) {
  if (dynamic_cast<const protozero::end_of_buffer_exception*>(&e) != nullptr)
    return "is cut short: it runs past the end of its message";
  if (dynamic_cast<const protozero::varint_too_long_exception*>(&e) != nullptr)
    return "holds an integer of more than 10 bytes";
  if (dynamic_cast<const protozero::unknown_pbf_wire_type_exception*>(&e) != nullptr)
    return "a field of a wire type that protobuf doesn't have stands here";
  if (dynamic_cast<const protozero::invalid_tag_exception*>(&e) != nullptr)
    return "a field number that protobuf doesn't allow stands here";
  return absl::StrCat("isn't protobuf: ", e.what());
}

}  // namespace

std::string Input::Place() const {
  std::string place = absl::StrCat("byte ", at == nullptr ? 0 : at - bytes.data(), ", ");
  for (size_t i = 0; i < path.size(); ++i) {
    if (i == 0) place += path[i].message->name;
    if (path[i].field == nullptr) continue;
    absl::StrAppend(&place, ".", path[i].field->name);
    if (path[i].index >= 0) absl::StrAppend(&place, "[", path[i].index, "]");
  }
  return place;
}

void Input::Fail(const std::string& what, absl::StatusCode code) const {
  throw ReadError(absl::Status(code, absl::StrCat(Place(), ": ", what)));
}

void Input::Charge(int64_t more) {
  if (more > limits.memory - memory)
    Fail(absl::StrCat("what is made of the file needs more than the limit of ", limits.memory,
                      " bytes"),
         absl::StatusCode::kResourceExhausted);
  memory += more;
}

Fields::Fields(Input& in, const MessageSpec& spec, protozero::data_view bytes)
    : in_(in), spec_(spec), reader_(bytes), begin_(bytes.data()), depth_(in.path.size()) {
  in_.path.push_back({&spec, nullptr, -1});
}

bool Fields::Next() {
  for (;;) {
    // Inner messages leave their frames behind, so that the place of what they throw stays known.
    in_.path.resize(depth_ + 1);
    in_.path[depth_] = {&spec_, nullptr, -1};
    in_.at = reader_.data().data();
    if (!reader_.next()) {
      in_.path.resize(depth_);
      return false;
    }
    const auto found = std::find_if(spec_.fields.begin(), spec_.fields.end(),
                                    [&](const FieldSpec& f) { return f.tag == reader_.tag(); });
    if (found == spec_.fields.end()) {
      reader_.skip();
      continue;
    }
    field_ = &*found;
    int64_t& count = counts_[static_cast<size_t>(found - spec_.fields.begin())];
    in_.path[depth_].field = field_;
    in_.path[depth_].index = IsRepeated(field_->wire) ? count : -1;
    if (++count == 2 && field_->wire == Wire::kMessage) FailField("is given twice");
    if (field_->wire == Wire::kIgnored) {
      reader_.skip();
      continue;
    }
    CheckWire();
    return true;
  }
}

void Fields::CheckWire() {
  const pbf_wire_type want = ElementWire(field_->wire), found = reader_.wire_type();
  if (found == want) return;
  if (IsPackable(field_->wire) && found == pbf_wire_type::length_delimited) return;
  FailField(absl::StrCat("is encoded as ", WireName(found), ", wanted ", WireName(want)));
}

bool Fields::Has(uint32_t tag) const {
  for (size_t i = 0; i < spec_.fields.size(); ++i)
    if (spec_.fields[i].tag == tag) return counts_[i] > 0;
  return false;
}

std::string Fields::String(int64_t most_bytes) {
  const protozero::data_view view = reader_.get_view();
  if (static_cast<int64_t>(view.size()) > most_bytes)
    FailField(absl::StrCat("has ", view.size(), " bytes, the limit is ", most_bytes),
              absl::StatusCode::kResourceExhausted);
  in_.Charge(static_cast<int64_t>(view.size()));
  return std::string(view.data(), view.size());
}

protozero::data_view Fields::Numbers() {
  if (reader_.wire_type() == pbf_wire_type::length_delimited) {
    const protozero::data_view view = reader_.get_view();
    const size_t size = field_->wire == Wire::kFloats ? 4 : field_->wire == Wire::kDoubles ? 8 : 1;
    if (view.size() % size != 0)
      FailField(absl::StrCat("has ", view.size(), " bytes, wanted a multiple of ", size));
    if (size == 1 && !view.empty() && static_cast<signed char>(view.data()[view.size() - 1]) < 0)
      FailField("is cut short: its last integer has no end");
    return view;
  }
  const char* const begin = reader_.data().data();
  reader_.skip();
  return {begin, static_cast<size_t>(reader_.data().data() - begin)};
}

void Fields::AppendInts(std::vector<int64_t>& to) {
  const protozero::data_view view = Numbers();
  const int64_t count = CountVarints(view);
  in_.Charge(count * static_cast<int64_t>(sizeof(int64_t)));
  if (to.empty()) to.reserve(static_cast<size_t>(count));  // later pieces grow it as vectors do
  for (const char *p = view.data(), *end = p + view.size(); p != end;)
    to.push_back(static_cast<int64_t>(protozero::decode_varint(&p, end)));
}

void Fields::AppendFloats(std::vector<float>& to) {
  const protozero::data_view view = Numbers();
  in_.Charge(static_cast<int64_t>(view.size()));
  const size_t old = to.size();
  if (view.empty()) return;
  if (view.size() == sizeof(float)) {  // unpacked: the vector grows as it likes
    to.emplace_back();
  } else {
    to.resize(old + view.size() / sizeof(float));
  }
  std::memcpy(to.data() + old, view.data(), view.size());
}

void Fields::Fail(const std::string& what, absl::StatusCode code) {
  in_.path.resize(depth_);
  if (depth_ == 0) in_.path.push_back({&spec_, nullptr, -1});
  in_.at = begin_;
  in_.Fail(what, code);
}

void Fields::FailField(const std::string& what, absl::StatusCode code) {
  in_.path.resize(depth_ + 1);
  in_.Fail(what, code);
}

int64_t CountVarints(protozero::data_view bytes) {
  return std::count_if(bytes.data(), bytes.data() + bytes.size(),
                       [](char c) { return static_cast<signed char>(c) >= 0; });
}

absl::Status ReadGuarded(const Input& in, const std::function<void()>& read) {
  try {
    read();
    return absl::OkStatus();
  } catch (const ReadError& e) {
    return e.status;
  } catch (const protozero::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat(in.Place(), ": ", Explain(e)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(in.Place(), ": no memory"));
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat(in.Place(), ": ", e.what()));
  }
}

}  // namespace lathe::onnx
