#pragma once
// What reads bytes from anyone, each as a function of them: files, models through the importer and
// the passes, and text. corpus_test.cc runs them over the corpora (corpus/<name>/) and over changed
// copies of these, with any compiler; with clang each is also a libFuzzer program:
//   scripts/build fuzz
//   build/fuzz/tests/fuzz/libfuzzer/fuzz_model -max_total_time=600 tests/fuzz/corpus/model
// What a run finds joins the corpus. A file "ok_..." there must read, a file "bad_..." must not.
#include "absl/types/span.h"

namespace lathe::fuzz {

struct Target {
  const char* name;
  // Reads the bytes and touches all that was read; true if they read.
  bool (*run)(absl::Span<const char> bytes);
};

absl::Span<const Target> Targets();
// Null if there is none of the name.
const Target* FindTarget(const char* name);

}  // namespace lathe::fuzz
