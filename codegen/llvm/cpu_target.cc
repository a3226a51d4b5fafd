// What this machine can do.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/llvm/llvm_target.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace lathe::llvm_target {
namespace {

int64_t CacheBytes(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

CpuTarget WithCaches(CpuTarget t) {
  t.l1_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, t.l1_bytes);
  t.l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE, t.l2_bytes);
  t.l3_bytes = CacheBytes(_SC_LEVEL3_CACHE_SIZE, t.l3_bytes);
  t.triple = llvm::sys::getProcessTriple();
  t.is_x86 = llvm::Triple(t.triple).isX86();
  return t;
}

}  // namespace

std::string CpuTarget::Identity() const {
  return absl::StrCat(triple, " ", cpu, " ", features, " ", vector_bytes);
}

CpuTarget Avx2Target() {
  CpuTarget t;
  t.cpu = "x86-64-v3";  // AVX2, FMA, BMI2: every x86 server since 2015
  t.vector_bytes = 32;
  t.num_vector_registers = 16;
  return WithCaches(t);
}

CpuTarget HostTarget() {
  const char* wanted = std::getenv("LATHE_CPU");
  if (wanted != nullptr && std::string_view(wanted) == "avx2") return Avx2Target();
  const auto found = llvm::sys::getHostCPUFeatures();
  const auto has = [&](const char* feature) {
    auto it = found.find(feature);
    return it != found.end() && it->second;
  };
  CpuTarget t;
  t.cpu = llvm::sys::getHostCPUName().str();
  std::vector<std::string> features;
  for (const auto& f : found) {
    features.push_back(absl::StrCat(f.second ? "+" : "-", std::string(f.first())));
  }
  std::sort(features.begin(), features.end());
  t.features = absl::StrJoin(features, ",");
  const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  t.vector_bytes = avx512 ? 64 : has("avx2") ? 32 : 16;
  t.num_vector_registers = avx512 ? 32 : 16;
  t.has_fma = has("fma");
  t.has_f16c = has("f16c");
  t.has_dot4 = avx512 ? has("avx512vnni") : has("avxvnni");
  return WithCaches(t);
}

}  // namespace lathe::llvm_target
