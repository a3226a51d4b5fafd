#pragma once
// Golden files: whether a test renews the file that it compares with, and how it reads it.
//
//   if (Blesses()) {
//     std::ofstream(path, std::ios::binary) << found;
//   } else {
//     EXPECT_EQ(found, ReadFile(path)) << path << " differs; NAME_test --bless renews it";
//   }
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace lathe {

// The test was called with --bless, or LATHE_BLESS is in the environment.
inline bool Blesses() {
  if (std::getenv("LATHE_BLESS") != nullptr) return true;
  const auto& arguments = ::testing::internal::GetArgvs();
  return std::find(arguments.begin(), arguments.end(), "--bless") != arguments.end();
}

// The bytes of a file; none if it can't be read.
inline std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

}  // namespace lathe
