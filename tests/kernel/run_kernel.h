#pragma once
// What the tests of Kernel IR share: running a function of a few operands over arrays of bits in
// the evaluator, and comparing bits with any NaN equal to any NaN.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "codegen/kernel/builder.h"
#include "codegen/kernel/evaluator.h"
#include "codegen/kernel/scalar_ops.h"

namespace lathe::kernel {

using Emit = std::function<Reg(KernelBuilder&, const std::vector<Reg>&)>;

// y[i] = emit(x0[i], x1[i], ..) for whole vectors of `lanes`; the last one is masked.
inline std::shared_ptr<Kernel> MapKernel(const std::vector<DType>& operands, DType result,
                                         int lanes, const Emit& emit) {
  KernelBuilder b("map");
  Dim n = b.Size("n");
  std::vector<int> x;
  for (DType t : operands) x.push_back(b.Buffer("x", t, BufferKind::kInput, n));
  int y = b.Buffer("y", result, BufferKind::kOutput, n);
  b.Tasks(CeilDiv(n, lanes));
  Dim i = b.task() * lanes;
  Reg mask = b.Mask(n - i, lanes);
  std::vector<Reg> loaded;
  for (int buffer : x) loaded.push_back(b.Load(buffer, i, lanes, 1, mask));
  b.Store(y, i, emit(b, loaded), 1, mask);
  return b.Finish();
}

// Elements of any type as bits, packed into a buffer and back.
inline std::vector<std::byte> Pack(DType t, const std::vector<uint64_t>& bits) {
  const size_t size = static_cast<size_t>(SizeOf(t));
  std::vector<std::byte> bytes(bits.size() * size);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bytes[i * size], &bits[i], size);
  return bytes;
}

inline std::vector<uint64_t> Unpack(DType t, const std::vector<std::byte>& bytes) {
  const size_t size = static_cast<size_t>(SizeOf(t));
  std::vector<uint64_t> bits(bytes.size() / size);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], &bytes[i * size], size);
  return bits;
}

inline std::vector<uint64_t> RunMap(const Kernel& k, const std::vector<std::vector<uint64_t>>& in) {
  const int64_t n = static_cast<int64_t>(in[0].size());
  std::vector<std::vector<std::byte>> bytes;
  std::vector<EvalBuffer> buffers;
  for (size_t i = 0; i < in.size(); ++i) bytes.push_back(Pack(k.buffers[i].dtype, in[i]));
  const DType result = k.buffers[in.size()].dtype;
  bytes.push_back(Pack(result, std::vector<uint64_t>(in[0].size())));
  for (auto& b : bytes) buffers.push_back({b.data(), n});
  const int lanes = k.body[0].type.lanes;
  absl::Status s = Evaluate(k, buffers, {n}, 0, (n + lanes - 1) / lanes, 0, nullptr);
  EXPECT_TRUE(s.ok()) << s;
  return Unpack(result, bytes.back());
}

inline bool SameBits(DType t, uint64_t a, uint64_t b) {
  if (a == b) return true;
  return VisitDType(t, [&](auto type) {
    using T = decltype(type);
    const T x = scalar::FromBits<T>(a), y = scalar::FromBits<T>(b);
    return x != x && y != y;
  });
}

}  // namespace lathe::kernel
