#include "compiler/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/io/mapped_file.h"
#include "ir/status_macros.h"

namespace lathe::io {
namespace {

using Json = nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr int kMostDepth = 3;  // file, array, list
constexpr char kMetadata[] = "__metadata__";

// The header, without exceptions; deep nesting and repeated names never become values.
absl::StatusOr<Json> ParseHeader(absl::Span<const char> text, const ArrayLimits& limits) {
  std::set<std::string> names;
  absl::Status bad;
  auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (!bad.ok()) return false;
    if (depth >= kMostDepth &&
        (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start)) {
      bad = absl::InvalidArgumentError("header is nested deeper than the format allows");
    } else if (depth == 1 && event == Json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!names.insert(name).second)
        bad = absl::InvalidArgumentError(
            absl::StrCat("array \"", absl::CHexEscape(name), "\" comes twice"));
      if (static_cast<int64_t>(names.size()) > limits.arrays)
        bad = absl::ResourceExhaustedError(
            absl::StrCat("has more arrays than the limit of ", limits.arrays));
    }
    return bad.ok();
  };
  Json header = Json::parse(text.begin(), text.end(), check, /*allow_exceptions=*/false);
  if (!bad.ok()) return bad;
  if (header.is_discarded() || !header.is_object())
    return absl::InvalidArgumentError("header is no JSON object");
  return header;
}

struct Place {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;
};

absl::Status ReadSizes(const Json& entry, const char* key, std::vector<int64_t>* to) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_array())
    return absl::InvalidArgumentError(absl::StrCat("has no list ", key));
  for (const Json& size : *it) {
    // A parsed integer without a sign is unsigned; what exceeds 64 bits is a float.
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{INT64_MAX})
      return absl::InvalidArgumentError(absl::StrCat(key, " holds what is no size"));
    to->push_back(size.get<int64_t>());
  }
  return absl::OkStatus();
}

absl::StatusOr<Place> ReadPlace(const std::string& name, const Json& entry,
                                const ArrayLimits& limits) {
  Place place{.name = name};
  if (!entry.is_object()) return absl::InvalidArgumentError("is no JSON object");
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string())
    return absl::InvalidArgumentError("has no dtype");
  const auto& type_name = dtype->get_ref<const std::string&>();
  if (!FromSafetensorsName(type_name, &place.dtype))
    return absl::UnimplementedError(absl::StrCat(
        "element type ", absl::CHexEscape(type_name.substr(0, 40)), " isn't supported"));
  std::vector<int64_t> offsets;
  LATHE_RETURN_IF_ERROR(ReadSizes(entry, "shape", &place.shape));
  LATHE_RETURN_IF_ERROR(ReadSizes(entry, "data_offsets", &offsets));
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return absl::InvalidArgumentError(
        absl::StrCat("data_offsets are [", absl::StrJoin(offsets, ", "), "], wanted [begin, end]"));
  place.begin = offsets[0];
  place.end = offsets[1];
  LATHE_ASSIGN_OR_RETURN(const int64_t want, ArrayBytes(place.dtype, place.shape, limits));
  if (place.end - place.begin != want)
    return absl::InvalidArgumentError(
        absl::StrCat("data has ", place.end - place.begin, " bytes, ", type_name, " of shape [",
                     absl::StrJoin(place.shape, ", "), "] wants ", want));
  return place;
}

absl::Status ReadMetadata(const Json& entry, Safetensors* to) {
  if (!entry.is_object())
    return absl::InvalidArgumentError(absl::StrCat(kMetadata, " is no JSON object"));
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string())
      return absl::InvalidArgumentError(
          absl::StrCat(kMetadata, ": \"", absl::CHexEscape(key), "\" is no string"));
    to->metadata[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

absl::StatusOr<Safetensors> Parse(absl::Span<const char> bytes, const std::shared_ptr<void>& owner,
                                  const ArrayLimits& limits) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes) return absl::InvalidArgumentError("is cut short");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > static_cast<uint64_t>(limits.header_bytes))
    return absl::ResourceExhaustedError(
        absl::StrCat("header has ", length, " bytes, the limit is ", limits.header_bytes));
  if (length > bytes.size() - kLengthBytes)
    return absl::InvalidArgumentError(absl::StrCat("header has ", length, " bytes, the file has ",
                                                   bytes.size() - kLengthBytes,
                                                   " after its length"));
  const absl::Span<const char> data = bytes.subspan(kLengthBytes + length);
  LATHE_ASSIGN_OR_RETURN(const Json header,
                         ParseHeader(bytes.subspan(kLengthBytes, length), limits));

  Safetensors result;
  std::vector<Place> places;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      LATHE_RETURN_IF_ERROR(ReadMetadata(entry, &result));
      continue;
    }
    absl::StatusOr<Place> place = ReadPlace(name, entry, limits);
    if (!place.ok())
      return absl::Status(place.status().code(), absl::StrCat("array \"", absl::CHexEscape(name),
                                                              "\": ", place.status().message()));
    places.push_back(*std::move(place));
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  int64_t at = 0;
  for (const Place& p : places) {
    const std::string who = absl::StrCat("array \"", absl::CHexEscape(p.name), "\"");
    if (p.begin != at)
      return absl::InvalidArgumentError(
          absl::StrCat(who, ": data begins at ", p.begin, ", the one before ends at ", at));
    if (p.end > static_cast<int64_t>(data.size()))
      return absl::InvalidArgumentError(absl::StrCat(
          who, ": data ends at ", p.end, ", the file has ", data.size(), " bytes of it"));
    at = p.end;
    absl::StatusOr<Tensor> t =
        TensorOver(std::shared_ptr<void>(owner, const_cast<char*>(data.data() + p.begin)),
                   p.end - p.begin, p.dtype, p.shape);
    if (!t.ok())
      return absl::Status(t.status().code(), absl::StrCat(who, ": ", t.status().message()));
    result.arrays[p.name] = *std::move(t);
  }
  if (at != static_cast<int64_t>(data.size()))
    return absl::InvalidArgumentError(
        absl::StrCat("arrays end at ", at, ", the file has ", data.size(), " bytes of data"));
  return result;
}

}  // namespace

absl::StatusOr<Safetensors> ParseSafetensors(absl::Span<const char> bytes,
                                             std::shared_ptr<void> owner, const std::string& name,
                                             const ArrayLimits& limits) {
  absl::StatusOr<Safetensors> result;
  try {
    result = Parse(bytes, owner, limits);
  } catch (const std::exception& e) {  // the JSON library's, and no memory
    result = absl::ResourceExhaustedError(e.what());
  }
  if (!result.ok())
    return absl::Status(result.status().code(),
                        absl::StrCat(name, ": ", result.status().message()));
  return result;
}

absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path, const ArrayLimits& limits) {
  LATHE_ASSIGN_OR_RETURN(const MappedFile file, MapFile(path, limits.bytes));
  return ParseSafetensors(file.bytes, file.owner, path, limits);
}

}  // namespace lathe::io
