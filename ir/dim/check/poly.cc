#include "ir/dim/check/poly.h"

#include <algorithm>

namespace lathe::dim::check {

Poly Constant(Int v) {
  Poly p;
  if (v != 0) p[{}] = v;
  return p;
}

Poly Variable(int32_t atom) { return {{{atom}, 1}}; }

bool IsConstant(const Poly& p, Int* value) {
  *value = ConstantOf(p);
  return p.empty() || (p.size() == 1 && p.begin()->first.empty());
}

Int ConstantOf(const Poly& p) {
  auto it = p.find({});
  return it == p.end() ? 0 : it->second;
}

bool AddProduct(const Poly& p, const Poly& q, Int k, Poly* sum) {
  for (const auto& [x, a] : p) {
    for (const auto& [y, b] : q) {
      Int coef = 0;
      if (__builtin_mul_overflow(a, b, &coef) || __builtin_mul_overflow(coef, k, &coef)) {
        return false;
      }
      Mono m(x.size() + y.size());
      std::merge(x.begin(), x.end(), y.begin(), y.end(), m.begin());
      auto [it, is_new] = sum->try_emplace(std::move(m), 0);
      if (__builtin_add_overflow(it->second, coef, &it->second)) return false;
      if (it->second == 0) sum->erase(it);
      if (sum->size() > kTermLimit) return false;
    }
  }
  return true;
}

bool Add(const Poly& p, Int k, Poly* sum) { return AddProduct(p, Constant(k), 1, sum); }

bool FloorDiv(Int a, Int b, Int* q) {
  if (b == 0) return false;
  if (b == -1) return !__builtin_sub_overflow(Int{0}, a, q);
  *q = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

}  // namespace lathe::dim::check
