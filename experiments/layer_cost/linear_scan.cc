#include "experiments/layer_cost/linear_scan.h"

#include <cstdint>

#include "experiments/layer_cost/traced.h"

namespace softlookup {

template <typename T>
Tensor<T> LinearRecurrence(const Tensor<T>& a, const Tensor<T>& b) {
  Tensor<T> states(b.shape());
  const int64_t d = b.dim(1);
  for (int64_t t = 0; t < b.dim(0); ++t) {
    for (int64_t c = 0; c < d; ++c) {
      const T before = t > 0 ? states(t - 1, c) : T(0);
      states(t, c) = Update(a(t, c) * before + b(t, c));
    }
  }
  return states;
}

template <typename T>
Tensor<T> LinearScan(const Tensor<T>& a, const Tensor<T>& b) {
  const int64_t positions = b.dim(0);
  const int64_t d = b.dim(1);
  Tensor<T> decay = a;
  Tensor<T> state = b;
  for (int64_t reach = 1; reach < positions; reach *= 2) {
    // A round reads the one before only: all positions could run at once.
    const Tensor<T> old_decay = decay;
    const Tensor<T> old_state = state;
    for (int64_t t = reach; t < positions; ++t) {
      for (int64_t c = 0; c < d; ++c) {
        state(t, c) =
            Update(old_decay(t, c) * old_state(t - reach, c) + old_state(t, c));
        decay(t, c) = Update(old_decay(t, c) * old_decay(t - reach, c));
      }
    }
  }
  return state;
}

#define SOFTLOOKUP_INSTANTIATE(T)                                          \
  template Tensor<T> LinearRecurrence(const Tensor<T>&, const Tensor<T>&); \
  template Tensor<T> LinearScan(const Tensor<T>&, const Tensor<T>&)
SOFTLOOKUP_INSTANTIATE(double);
SOFTLOOKUP_INSTANTIATE(Traced);
#undef SOFTLOOKUP_INSTANTIATE

}  // namespace softlookup
