#include "bench/lathe_bench/npz.h"

#include <zip.h>

#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lathe::bench {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr uint64_t kMostBytes = uint64_t{16} << 30;

const struct {
  const char* descr;
  DType dtype;
} kTypes[] = {{"|b1", DType::kBool},
              {"<i4", DType::kI32},
              {"<i8", DType::kI64},
              {"<f4", DType::kF32},
              {"<f8", DType::kF64}};

// The text behind `'key':` in a .npy header, up to the comma or brace that ends it.
absl::StatusOr<std::string> HeaderField(const std::string& header, const std::string& key) {
  const size_t at = header.find("'" + key + "':");
  if (at == std::string::npos)
    return absl::InvalidArgumentError(absl::StrCat("header has no '", key, "'"));
  const size_t begin = at + key.size() + 3;
  size_t end =
      header.find_first_of(header.find('(', begin) < header.find(',', begin) ? ")" : ",}", begin);
  if (end == std::string::npos) return absl::InvalidArgumentError("header is cut short");
  return std::string(absl::StripAsciiWhitespace(header.substr(begin, end - begin)));
}

absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view text) {
  std::vector<int64_t> shape;
  if (!absl::ConsumePrefix(&text, "(")) return absl::InvalidArgumentError("shape is no tuple");
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    int64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent < 0)
      return absl::InvalidArgumentError(absl::StrCat("extent \"", part, "\" is no size"));
    shape.push_back(extent);
  }
  return shape;
}

struct ZipCloser {
  void operator()(zip_t* z) const { zip_discard(z); }
};

}  // namespace

absl::StatusOr<Tensor> ParseNpy(const std::string& bytes, const std::string& name) {
  auto error = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("array ", name, ": ", what));
  };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), kMagic, kMagicBytes) != 0)
    return error("no .npy header");
  const int version = bytes[6];
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const size_t start = version == 1 ? 10 : 12;
  const size_t length =
      byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (version != 1 && version != 2) return error(absl::StrCat("format version ", version));
  if (length > bytes.size() - start) return error("header is cut short");
  const std::string header = bytes.substr(start, length);

  absl::StatusOr<std::string> descr = HeaderField(header, "descr");
  absl::StatusOr<std::string> order = HeaderField(header, "fortran_order");
  absl::StatusOr<std::string> shape_text = HeaderField(header, "shape");
  for (const absl::Status& s : {descr.status(), order.status(), shape_text.status()})
    if (!s.ok()) return error(std::string(s.message()));
  if (*order != "False") return error("Fortran order isn't supported");
  absl::StatusOr<std::vector<int64_t>> shape = ParseShape(*shape_text);
  if (!shape.ok()) return error(std::string(shape.status().message()));
  for (const auto& type : kTypes) {
    if (*descr != absl::StrCat("'", type.descr, "'")) continue;
    absl::StatusOr<Tensor> t = Tensor::Make(type.dtype, *shape);
    if (!t.ok()) return error(std::string(t.status().message()));
    const size_t want = static_cast<size_t>(t->num_bytes());
    if (bytes.size() - start - length < want)
      return error(
          absl::StrCat("data has ", bytes.size() - start - length, " bytes, wanted ", want));
    if (want > 0) std::memcpy(t->raw(), bytes.data() + start + length, want);
    return t;
  }
  return error(absl::StrCat("element type ", *descr, " isn't supported"));
}

std::string FormatNpy(const Tensor& t) {
  const Tensor dense = t.Contiguous();
  std::string header = "{'descr': '";
  for (const auto& type : kTypes)
    if (type.dtype == t.dtype()) header += type.descr;
  absl::StrAppend(&header, "', 'fortran_order': False, 'shape': (", absl::StrJoin(t.shape(), ", "),
                  t.rank() == 1 ? ",), }" : "), }");
  while ((kMagicBytes + 4 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes(kMagic, kMagicBytes);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(static_cast<const char*>(dense.raw()), static_cast<size_t>(dense.num_bytes()));
  return bytes;
}

absl::StatusOr<Arrays> ReadNpz(const std::string& path) {
  int code = 0;
  const std::unique_ptr<zip_t, ZipCloser> zip(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (zip == nullptr)
    return absl::NotFoundError(
        absl::StrCat(path, ": can't be read as a zip container (", code, ")"));
  Arrays arrays;
  const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(zip.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0)
      return absl::InvalidArgumentError(absl::StrCat(path, ": entry ", i, " can't be read"));
    if (stat.size > kMostBytes)
      return absl::ResourceExhaustedError(absl::StrCat(path, ": ", stat.name, " has ", stat.size,
                                                       " bytes, the limit is ", kMostBytes));
    std::string bytes(stat.size, '\0');
    zip_file_t* file = zip_fopen_index(zip.get(), static_cast<zip_uint64_t>(i), 0);
    const zip_int64_t read = file == nullptr ? -1 : zip_fread(file, bytes.data(), stat.size);
    if (file != nullptr) zip_fclose(file);
    if (read != static_cast<zip_int64_t>(stat.size))
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", stat.name, " is cut short"));
    const std::string name(absl::StripSuffix(stat.name, ".npy"));
    absl::StatusOr<Tensor> t = ParseNpy(bytes, name);
    if (!t.ok())
      return absl::Status(t.status().code(), absl::StrCat(path, ": ", t.status().message()));
    arrays[name] = *std::move(t);
  }
  return arrays;
}

absl::Status WriteNpz(const std::string& path, const Arrays& arrays) {
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (zip == nullptr)
    return absl::UnavailableError(absl::StrCat(path, ": can't be written (", code, ")"));
  std::vector<std::string> images;  // alive until the container is closed
  images.reserve(arrays.size());
  for (const auto& [name, t] : arrays) {
    const std::string& image = images.emplace_back(FormatNpy(t));
    zip_source_t* source = zip_source_buffer(zip, image.data(), image.size(), 0);
    const zip_int64_t at = zip_file_add(zip, (name + ".npy").c_str(), source, ZIP_FL_OVERWRITE);
    if (at < 0) {
      zip_source_free(source);
      zip_discard(zip);
      return absl::UnavailableError(absl::StrCat(path, ": can't add ", name));
    }
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(at), ZIP_CM_STORE, 0);
  }
  if (zip_close(zip) != 0) {
    zip_discard(zip);
    return absl::UnavailableError(absl::StrCat(path, ": can't be written"));
  }
  return absl::OkStatus();
}

}  // namespace lathe::bench
