// The example of the README: a classifier whose batch and length are open.
#include <iostream>

#include "lathe/lathe.h"

int main() {
  lathe::Trace t("classifier");
  lathe::Dim batch = t.dim("batch", "1..64"), seq = t.dim("seq", "1..8192");
  lathe::Value x = t.input("x", lathe::f32, {batch, seq, 4});
  lathe::Value w = t.constant(lathe::Tensor::FromVector<float>({4, 2}, {1, 0, 0, 1, 1, 1, 2, -1}));
  lathe::Value scores = softmax(matmul(mean(x, {1}), w), -1);

  lathe::Engine engine;
  absl::StatusOr<lathe::Function> f = engine.compile(t.finish({scores}, {"scores"}));
  if (!f.ok() || !f->prepare().ok()) return 1;  // after this, no call waits for a compiler
  for (int64_t n : {1, 3, 1000}) {
    lathe::Tensor input(lathe::f32, {2, n, 4});
    for (int64_t i = 0; i < input.num_elements(); ++i) input.data<float>()[i] = float(i % 5);
    absl::StatusOr<std::vector<lathe::Tensor>> out = f->call({input});
    if (!out.ok()) return 1;
    std::cout << "seq " << n << ": " << (*out)[0].ToString() << "\n";
  }
  std::cout << "bytes at seq 8192: " << *f->peak_bytes({{"batch", 64}, {"seq", 8192}}) << "\n";
}
