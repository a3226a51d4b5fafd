// Traces, compiles and calls; exits with 0 if the answer is right.
#include <lathe/lathe.h>

int main() {
  lathe::Trace t("twice");
  const lathe::Dim n = t.dim("n");
  const lathe::Value x = t.input("x", lathe::f32, {n});
  lathe::Engine engine;
  absl::StatusOr<lathe::Function> f = engine.compile(t.finish({x * 2.0}, {"y"}));
  if (!f.ok() || !f->prepare().ok()) return 1;
  const auto out = f->call({lathe::Tensor::FromVector<float>({3}, {1, 2, 3})});
  return out.ok() && (*out)[0].data<float>()[2] == 6.0f ? 0 : 1;
}
