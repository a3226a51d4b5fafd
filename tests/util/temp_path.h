#pragma once
// Where a test may write a file of that name: no other process has the folder, since tests run side
// by side.
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace lathe {

inline std::string TempPath(const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("lathe_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

}  // namespace lathe
