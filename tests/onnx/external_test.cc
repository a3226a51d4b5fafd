// External data: what a model may reach, and that it reaches nothing else.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/model_writer.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A folder of its own, with the model's folder in it: <root>/model, and files outside.
class External : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/external_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "below");
    Write(folder_ / "w.bin", "0123456789abcdef");
    Write(folder_ / "below" / "v.bin", "ABCDEFGH");
    Write(root_ / "secret.bin", "secretsecretsecret");
  }
  void TearDown() override { fs::remove_all(root_); }
  static void Write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // A model file whose initialiser of `count` bytes has the entries given.
  absl::StatusOr<ModelDef> Read(const std::vector<std::pair<std::string, std::string>>& entries,
                                int64_t count, const Bytes& more = {}) {
    MessageWriter t(more);
    t.AddEach(proto::Tensor::dims, std::vector<int64_t>{count});
    t.Add(proto::Tensor::data_type, kUint8).Add(proto::Tensor::name, Bytes("w"));
    for (const auto& [key, value] : entries)
      t.Add(proto::Tensor::external_data, MessageWriter()
                                              .Add(proto::StringStringEntry::key, key)
                                              .Add(proto::StringStringEntry::value, value));
    t.Add(proto::Tensor::data_location, 1);
    GraphWriter g;
    g.Initializer(t);
    g.Initializer(t);
    Write(folder_ / "m.onnx", ModelMessage(g));
    return ReadModel((folder_ / "m.onnx").string());
  }
  std::string Error(const std::vector<std::pair<std::string, std::string>>& entries,
                    int64_t count) {
    return std::string(Read(entries, count).status().message());
  }
  std::string Text(const absl::StatusOr<ModelDef>& m) {
    if (!m.ok()) return std::string(m.status().message());
    const TensorData& t = m->graph.initializers.at(1);
    return std::string(static_cast<const char*>(t.bytes.get()), static_cast<size_t>(t.num_bytes));
  }
  fs::path root_, folder_;
};

TEST_F(External, OffsetAndLengthChooseTheBytes) {
  EXPECT_EQ(Text(Read({{"location", "w.bin"}}, 16)), "0123456789abcdef");
  EXPECT_EQ(Text(Read({{"location", "w.bin"}, {"offset", "4"}, {"length", "3"}}, 3)), "456");
  EXPECT_EQ(Text(Read({{"location", "w.bin"}, {"offset", "10"}}, 6)), "abcdef");
  EXPECT_EQ(Text(Read({{"location", "./below//v.bin"}, {"checksum", "?"}}, 8)), "ABCDEFGH");
  EXPECT_EQ(Text(Read({{"location", "w.bin"}, {"offset", "16"}, {"length", "0"}}, 0)), "");
}

TEST_F(External, AFileIsMappedOnce) {
  const absl::StatusOr<ModelDef> m = Read({{"location", "w.bin"}}, 16);
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ(m->graph.initializers[0].bytes.get(), m->graph.initializers[1].bytes.get());
}

TEST_F(External, BytesBeyondTheFileAreRefused) {
  EXPECT_THAT(Error({{"location", "w.bin"}, {"offset", "17"}}, 1),
              HasSubstr("has 16 bytes, the tensor begins at 17"));
  EXPECT_THAT(Error({{"location", "w.bin"}, {"offset", "8"}, {"length", "9"}}, 9),
              HasSubstr("has 16 bytes, the tensor is 9 from 8"));
  EXPECT_THAT(Error({{"location", "w.bin"}, {"offset", "9223372036854775807"}}, 1),
              HasSubstr("begins at 9223372036854775807"));
  EXPECT_THAT(Error({{"location", "w.bin"}, {"offset", "9223372036854775808"}}, 1),
              HasSubstr("offset isn't a number of bytes"));
  EXPECT_THAT(Error({{"location", "w.bin"}, {"offset", "-1"}}, 1),
              HasSubstr("offset isn't a number of bytes"));
  EXPECT_THAT(Error({{"location", "w.bin"}, {"length", "many"}}, 1),
              HasSubstr("length isn't a number of bytes"));
  EXPECT_THAT(Error({{"location", "w.bin"}, {"length", "4"}}, 5),
              HasSubstr("the tensor's length is 4, UINT8 of shape [5] has 5 bytes"));
}

TEST_F(External, PathsOutsideTheFolderAreRefused) {
  EXPECT_THAT(Error({{"location", "../secret.bin"}}, 18), HasSubstr("the path has \"..\""));
  EXPECT_THAT(Error({{"location", "below/../../secret.bin"}}, 18), HasSubstr("\"..\""));
  EXPECT_THAT(Error({{"location", (root_ / "secret.bin").string()}}, 18),
              HasSubstr("the path is absolute"));
  EXPECT_THAT(Error({{"location", ""}}, 18), HasSubstr("no location"));
  EXPECT_THAT(Error({}, 18), HasSubstr("no location"));
  EXPECT_THAT(Error({{"location", "./"}}, 18), HasSubstr("names no file"));
  EXPECT_THAT(Error({{"location", std::string("w.bin\0x", 7)}}, 16), HasSubstr("zero byte"));
  EXPECT_THAT(Error({{"location", std::string(5000, 'a')}}, 16), HasSubstr("too long"));
  EXPECT_THAT(Error({{"location", "none.bin"}}, 16), HasSubstr("No such file"));
  EXPECT_EQ(Read({{"location", "none.bin"}}, 16).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(External, LinksAreRefused) {
  fs::create_symlink(root_ / "secret.bin", folder_ / "link.bin");
  fs::create_symlink(folder_ / "w.bin", folder_ / "near.bin");
  fs::create_directory_symlink(root_, folder_ / "up");
  fs::create_hard_link(root_ / "secret.bin", folder_ / "hard.bin");
  EXPECT_THAT(Error({{"location", "link.bin"}}, 18), HasSubstr("\"link.bin\" is a symbolic link"));
  EXPECT_THAT(Error({{"location", "near.bin"}}, 16), HasSubstr("is a symbolic link"));
  EXPECT_THAT(Error({{"location", "up/secret.bin"}}, 18), HasSubstr("\"up\" is a symbolic link"));
  EXPECT_THAT(Error({{"location", "hard.bin"}}, 18), HasSubstr("a hard link"));
}

TEST_F(External, TheFolderItselfMayBeReachedThroughALink) {
  ASSERT_TRUE(Read({{"location", "w.bin"}}, 16).ok());
  fs::create_directory_symlink(folder_, root_ / "alias");
  EXPECT_EQ(Text(ReadModel((root_ / "alias" / "m.onnx").string())), "0123456789abcdef");
}

TEST_F(External, OnlyRegularFilesAreOpened) {
  EXPECT_THAT(Error({{"location", "below"}}, 1), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(Error({{"location", "pipe"}}, 1), HasSubstr("not a regular file"));  // and no waiting
  EXPECT_THAT(Error({{"location", "w.bin/x"}}, 1), HasSubstr("Not a directory"));
}

TEST_F(External, AModelInMemoryHasNone) {
  ASSERT_TRUE(Read({{"location", "w.bin"}}, 16).ok());
  std::ifstream file(folder_ / "m.onnx", std::ios::binary);
  const Bytes bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(Text(ParseBytes(bytes)), HasSubstr("no external data"));
  EXPECT_EQ(Text(ParseBytes(bytes, {}, folder_.string())), "0123456789abcdef");
}

TEST_F(External, DataBothInsideAndOutsideIsRefused) {
  const Bytes raw = MessageWriter().Add(proto::Tensor::raw_data, Bytes("x"));
  EXPECT_THAT(Text(Read({{"location", "w.bin"}}, 16, raw)), HasSubstr("the file holds data too"));
}

TEST_F(External, TheFileLimitHoldsForDataToo) {
  ASSERT_TRUE(Read({{"location", "w.bin"}}, 16).ok());
  std::ofstream(folder_ / "w.bin", std::ios::app) << std::string(5000, 'x');
  EXPECT_THAT(Text(ReadModel((folder_ / "m.onnx").string(), {.file_bytes = 4096})),
              HasSubstr("has 5016 bytes, the limit is 4096"));
  EXPECT_THAT(Text(ReadModel((folder_ / "m.onnx").string(), {.file_bytes = 10})),
              HasSubstr("the limit is 10"));
}

}  // namespace
}  // namespace lathe::onnx
