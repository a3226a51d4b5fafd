#include "compiler/io/npy.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "compiler/io/mapped_file.h"
#include "ir/status_macros.h"

namespace lathe::io {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kMostHeaderBytes = 1 << 20;  // NumPy itself refuses more than 10,000
constexpr size_t kAlignment = 64;             // of the data, as NumPy writes it
constexpr size_t kShownBytes = 60;            // of a strange header in an error

// Reads the header's text, a Python dictionary of 'descr', 'fortran_order' and 'shape'.
class HeaderText {
 public:
  explicit HeaderText(absl::string_view text) : rest_(text) {}

  absl::Status Parse(NpyHeader* to) {
    LATHE_RETURN_IF_ERROR(Expect('{'));
    bool descr = false, order = false, shape = false;
    while (!Take('}')) {
      std::string key;
      LATHE_RETURN_IF_ERROR(String(&key));
      LATHE_RETURN_IF_ERROR(Expect(':'));
      bool* const seen = key == "descr"           ? &descr
                         : key == "fortran_order" ? &order
                         : key == "shape"         ? &shape
                                                  : nullptr;
      if (seen == nullptr || *seen) return Error("has an unknown or repeated key");
      *seen = true;
      LATHE_RETURN_IF_ERROR(key == "descr"   ? Type(&to->dtype)
                            : key == "shape" ? Shape(&to->shape)
                                             : Bool(&to->fortran));
      if (!Take(',') && !Next('}')) return Error("wants a comma or a brace");
    }
    Space();
    if (!rest_.empty()) return Error("goes on after its dictionary");
    if (!descr || !order || !shape)
      return absl::InvalidArgumentError("header lacks descr, fortran_order or shape");
    return absl::OkStatus();
  }

 private:
  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "header ", what, ", found \"", absl::CHexEscape(rest_.substr(0, kShownBytes)), "\""));
  }
  void Space() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool Next(char c) {
    Space();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Take(char c) {
    if (!Next(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  absl::Status Expect(char c) {
    return Take(c) ? absl::OkStatus() : Error(absl::StrCat("wants '", std::string(1, c), "'"));
  }
  absl::Status String(std::string* to) {
    Space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return Error("wants a string");
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return Error("wants the end of a string");
    *to = std::string(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return absl::OkStatus();
  }
  absl::Status Type(DType* to) {
    if (!Next('\'') && !Next('"'))
      return Error("wants an element type (structured ones aren't supported)");
    std::string name;
    LATHE_RETURN_IF_ERROR(String(&name));
    if (FromNpyName(name, to)) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("element type '", absl::CHexEscape(name.substr(0, kShownBytes)),
                     "' isn't supported", name[0] == '>' ? " (big endian)" : ""));
  }
  absl::Status Bool(bool* to) {
    Space();
    *to = absl::ConsumePrefix(&rest_, "True");
    return *to || absl::ConsumePrefix(&rest_, "False") ? absl::OkStatus()
                                                       : Error("wants True or False");
  }
  absl::Status Shape(std::vector<int64_t>* to) {
    LATHE_RETURN_IF_ERROR(Expect('('));
    while (!Take(')')) {
      Space();
      size_t digits = 0;
      while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') ++digits;
      int64_t extent = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &extent)) return Error("wants an extent");
      rest_.remove_prefix(digits);
      absl::ConsumePrefix(&rest_, "L");  // Python 2 wrote long integers so
      to->push_back(extent);
      if (!Take(',') && !Next(')')) return Error("wants a comma or a parenthesis");
    }
    return absl::OkStatus();
  }

  absl::string_view rest_;
};

absl::Status Named(const absl::Status& s, const std::string& name) {
  return absl::Status(s.code(), absl::StrCat("array ", name, ": ", s.message()));
}

}  // namespace

absl::StatusOr<size_t> NpyDataOffset(absl::Span<const char> prefix) {
  if (prefix.size() < kNpyPrefixBytes || std::memcmp(prefix.data(), kMagic, kMagicBytes) != 0)
    return absl::InvalidArgumentError("no .npy header");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(prefix[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    return absl::UnimplementedError(absl::StrCat("format version ", version));
  const size_t length =
      byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > kMostHeaderBytes)
    return absl::ResourceExhaustedError(
        absl::StrCat("header has ", length, " bytes, the limit is ", kMostHeaderBytes));
  const size_t start = version == 1 ? 10 : 12;
  if (start + length < kNpyPrefixBytes) return absl::InvalidArgumentError("header is cut short");
  return start + length;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const char> bytes, const ArrayLimits& limits) {
  const size_t start = bytes[6] == 1 ? 10 : 12;
  NpyHeader header;
  LATHE_RETURN_IF_ERROR(
      HeaderText(absl::string_view(bytes.data() + start, bytes.size() - start)).Parse(&header));
  LATHE_ASSIGN_OR_RETURN(header.num_bytes, ArrayBytes(header.dtype, header.shape, limits));
  return header;
}

std::vector<int64_t> StoredShape(const NpyHeader& header) {
  std::vector<int64_t> shape = header.shape;
  if (header.fortran) std::reverse(shape.begin(), shape.end());
  return shape;
}

Tensor InCOrder(const NpyHeader& header, Tensor t) {
  if (!header.fortran || header.shape.size() < 2) return t;
  std::vector<int64_t> strides = t.strides();
  std::reverse(strides.begin(), strides.end());
  return Tensor::View(t.raw(), t.dtype(), header.shape, std::move(strides)).Clone();
}

absl::StatusOr<Tensor> ParseNpy(absl::Span<const char> bytes, std::shared_ptr<void> owner,
                                const std::string& name, const ArrayLimits& limits) {
  const absl::StatusOr<size_t> offset = NpyDataOffset(bytes.subspan(0, kNpyPrefixBytes));
  if (!offset.ok()) return Named(offset.status(), name);
  if (*offset > bytes.size()) return Named(absl::InvalidArgumentError("header is cut short"), name);
  const absl::StatusOr<NpyHeader> header = ParseNpyHeader(bytes.subspan(0, *offset), limits);
  if (!header.ok()) return Named(header.status(), name);
  const auto found = static_cast<int64_t>(bytes.size() - *offset);
  if (found != header->num_bytes)
    return Named(absl::InvalidArgumentError(absl::StrCat(
                     "data has ", found, " bytes, ", Name(header->dtype), " of shape [",
                     absl::StrJoin(header->shape, ", "), "] wants ", header->num_bytes)),
                 name);
  absl::StatusOr<Tensor> t =
      TensorOver(std::shared_ptr<void>(std::move(owner), const_cast<char*>(bytes.data() + *offset)),
                 header->num_bytes, header->dtype, StoredShape(*header));
  if (!t.ok()) return Named(t.status(), name);
  return InCOrder(*header, *std::move(t));
}

absl::StatusOr<Tensor> ReadNpy(const std::string& path, const ArrayLimits& limits) {
  LATHE_ASSIGN_OR_RETURN(const MappedFile file, MapFile(path, limits.bytes));
  return ParseNpy(file.bytes, file.owner, path, limits);
}

absl::StatusOr<std::string> FormatNpy(const Tensor& t) {
  const char* const descr = NpyName(t.dtype());
  if (descr == nullptr)
    return absl::UnimplementedError(
        absl::StrCat("NumPy has no element type for ", Name(t.dtype()), ": cast it first"));
  const Tensor dense = t.Contiguous();
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(t.shape(), ", "), t.rank() == 1 ? ",), }" : "), }");
  while ((kMagicBytes + 4 + header.size() + 1) % kAlignment != 0) header += ' ';
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

absl::Status WriteNpy(const std::string& path, const Tensor& t) {
  LATHE_ASSIGN_OR_RETURN(const std::string bytes, FormatNpy(t));
  return WriteWhole(path, bytes);
}

}  // namespace lathe::io
