#include "compiler/io/npz.h"

#include <zip.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "compiler/io/mapped_file.h"
#include "compiler/io/npy.h"
#include "ir/status_macros.h"

namespace lathe::io {
namespace {

constexpr uint64_t kMostDeflateRatio = 1032;   // of zlib's format; a claim of more is a lie
constexpr uint64_t kDeflateRatioSlack = 4096;  // bytes, for the smallest members
constexpr char kSuffix[] = ".npy";
// A container without members, which the library would delete instead: its end record alone.
constexpr char kEndMark[] = "PK\x05\x06";
constexpr size_t kEndZeros = 18;

struct ZipCloser {
  void operator()(zip_t* z) const { zip_discard(z); }
  void operator()(zip_file_t* f) const { zip_fclose(f); }
};
using Zip = std::unique_ptr<zip_t, ZipCloser>;
using ZipMember = std::unique_ptr<zip_file_t, ZipCloser>;

std::string ErrorText(zip_error_t* error) {
  const std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

// Reads exactly `size` bytes.
absl::Status ReadExactly(zip_file_t* file, char* to, size_t size) {
  while (size > 0) {
    const zip_int64_t got = zip_fread(file, to, size);
    if (got < 0)
      return absl::DataLossError(
          absl::StrCat("can't be read: ", zip_error_strerror(zip_file_get_error(file))));
    if (got == 0) return absl::DataLossError("is cut short");
    to += got;
    size -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status CheckMember(const zip_stat_t& stat, int64_t total, const ArrayLimits& limits) {
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat.valid & kNeeded) != kNeeded) return absl::InvalidArgumentError("has no size");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    return absl::UnimplementedError(absl::StrCat("compression method ", stat.comp_method,
                                                 ", wanted stored (0) or deflated (8)"));
  if ((stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE)
    return absl::UnimplementedError("is encrypted");
  if (stat.size > static_cast<uint64_t>(limits.bytes - total))
    return absl::ResourceExhaustedError(absl::StrCat(
        "has ", stat.size, " bytes, ", total, " with those before, the limit is ", limits.bytes));
  const uint64_t most = stat.comp_method == ZIP_CM_STORE
                            ? stat.comp_size
                            : stat.comp_size * kMostDeflateRatio + kDeflateRatioSlack;
  if (stat.comp_size > static_cast<uint64_t>(limits.bytes) || stat.size > most)
    return absl::InvalidArgumentError(
        absl::StrCat("claims ", stat.size, " bytes in ", stat.comp_size, ", which can't be"));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadMember(zip_t* zip, zip_uint64_t index, const zip_stat_t& stat,
                                  const ArrayLimits& limits) {
  const ZipMember file(zip_fopen_index(zip, index, 0));
  if (file == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("can't be read: ", zip_error_strerror(zip_get_error(zip))));
  if (stat.size < kNpyPrefixBytes) return absl::InvalidArgumentError("no .npy header");
  std::string head(kNpyPrefixBytes, '\0');
  LATHE_RETURN_IF_ERROR(ReadExactly(file.get(), head.data(), head.size()));
  LATHE_ASSIGN_OR_RETURN(const size_t offset, NpyDataOffset(head));
  if (offset > stat.size) return absl::InvalidArgumentError("header is cut short");
  head.resize(offset);
  LATHE_RETURN_IF_ERROR(
      ReadExactly(file.get(), head.data() + kNpyPrefixBytes, offset - kNpyPrefixBytes));
  LATHE_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(head, limits));
  if (stat.size - offset != static_cast<uint64_t>(header.num_bytes))
    return absl::InvalidArgumentError(
        absl::StrCat("data has ", stat.size - offset, " bytes, ", Name(header.dtype), " of shape [",
                     absl::StrJoin(header.shape, ", "), "] wants ", header.num_bytes));
  LATHE_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(header.dtype, StoredShape(header)));
  LATHE_RETURN_IF_ERROR(
      ReadExactly(file.get(), static_cast<char*>(t.raw()), static_cast<size_t>(header.num_bytes)));
  // The checksum is compared where the member ends.
  char beyond;
  if (zip_fread(file.get(), &beyond, 1) != 0)
    return absl::DataLossError(absl::StrCat("doesn't end as it should: ",
                                            zip_error_strerror(zip_file_get_error(file.get()))));
  NormalizeBools(t);
  return InCOrder(header, std::move(t));
}

}  // namespace

absl::StatusOr<Arrays> ParseNpz(absl::Span<const char> bytes, const std::string& name,
                                const ArrayLimits& limits) {
  // The library takes no bytes at all for an empty container.
  if (bytes.empty())
    return absl::InvalidArgumentError(absl::StrCat(name, ": not a zip container: it is empty"));
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr)
    return absl::ResourceExhaustedError(absl::StrCat(name, ": ", ErrorText(&error)));
  const Zip zip(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (zip == nullptr) {
    zip_source_free(source);
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": not a zip container: ", ErrorText(&error)));
  }
  zip_error_fini(&error);
  const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
  if (count > limits.arrays)
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": has ", count, " members, the limit is ", limits.arrays));
  Arrays arrays;
  int64_t total = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t stat;
    if (zip_stat_index(zip.get(), index, 0, &stat) != 0 || (stat.valid & ZIP_STAT_NAME) == 0)
      return absl::InvalidArgumentError(absl::StrCat(name, ": member ", i, " can't be read"));
    const std::string member(absl::StripSuffix(stat.name, kSuffix));
    auto named = [&](const absl::Status& s) {
      return absl::Status(
          s.code(), absl::StrCat(name, ": array ", absl::CHexEscape(member), ": ", s.message()));
    };
    if (absl::Status s = CheckMember(stat, total, limits); !s.ok()) return named(s);
    if (arrays.count(member) != 0)
      return named(absl::InvalidArgumentError("the container has two of this name"));
    absl::StatusOr<Tensor> t = ReadMember(zip.get(), index, stat, limits);
    if (!t.ok()) return named(t.status());
    total += t->num_bytes();
    arrays[member] = *std::move(t);
  }
  return arrays;
}

absl::StatusOr<Arrays> ReadNpz(const std::string& path, const ArrayLimits& limits) {
  LATHE_ASSIGN_OR_RETURN(const MappedFile file, MapFile(path, limits.bytes));
  return ParseNpz(file.bytes, path, limits);
}

absl::Status WriteNpz(const std::string& path, const Arrays& arrays) {
  std::vector<std::string> images;  // alive until the container is closed
  images.reserve(arrays.size());
  for (const auto& [name, t] : arrays) {
    absl::StatusOr<std::string> image = FormatNpy(t);
    if (!image.ok())
      return absl::Status(image.status().code(),
                          absl::StrCat(path, ": array ", name, ": ", image.status().message()));
    images.push_back(*std::move(image));
  }
  if (images.empty()) return WriteWhole(path, kEndMark + std::string(kEndZeros, '\0'));
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (zip == nullptr)
    return absl::UnavailableError(absl::StrCat(path, ": can't be written (", code, ")"));
  size_t next = 0;
  for (const auto& [name, t] : arrays) {
    const std::string& image = images[next++];
    zip_source_t* source = zip_source_buffer(zip, image.data(), image.size(), 0);
    const zip_int64_t at =
        zip_file_add(zip, (name + kSuffix).c_str(), source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8);
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

}  // namespace lathe::io
