// The operations that the transformer is made of: in float32 on the kernels,
// fast and with the same bits everywhere, and in float64 on the reference, as
// the oracle that gradients are checked with. One transformer, written once
// over this, runs on both.
//
//   Engine<float> engine({.pool = &pool});
//   engine.Multiply(x.view(), w.view(), y.view(), bias);
//
// Operands must fit: these are not for input from outside, and CHECK.
#ifndef SOFTLOOKUP_MODEL_ENGINE_H_
#define SOFTLOOKUP_MODEL_ENGINE_H_

#include <cstdint>
#include <functional>

#include "attention/attention.h"
#include "attention/kernels/array_function.h"
#include "attention/kernels/kernel_options.h"
#include "base/tensor/strided_view.h"

namespace softlookup {

// T is float or double.
template <typename T>
class Engine {
 public:
  explicit Engine(const kernels::KernelOptions& execution = {})
      : execution_(execution) {}

  // C = A B + bias: A [m, k] and B [k, n] of any strides, C [m, n] with
  // contiguous rows, `bias` [n], added to every row, or null. Sums run in an
  // order of their own (attention/kernels/gemm.h).
  void Multiply(const StridedView<const T>& a, const StridedView<const T>& b,
                const StridedView<T>& c, const T* bias = nullptr) const {
    Product(a, b, c, bias, /*accumulate=*/false);
  }
  // C = C + A B + bias.
  void MultiplyAdd(const StridedView<const T>& a, const StridedView<const T>& b,
                   const StridedView<T>& c, const T* bias = nullptr) const {
    Product(a, b, c, bias, /*accumulate=*/true);
  }

  // Into output [B, H, T, D] and log_sum_exp [B, H, T].
  void AttentionForward(const AttentionInputs<T>& inputs,
                        const StridedView<T>& output,
                        const StridedView<T>& log_sum_exp) const;
  // From what that wrote and d_output [B, H, T, D] into the gradients of the
  // query [B, H, T, D], the key and the value [B, Hkv, T, D].
  void AttentionBackward(const AttentionInputs<T>& inputs,
                         const StridedView<const T>& output,
                         const StridedView<const T>& log_sum_exp,
                         const StridedView<const T>& d_output,
                         const StridedView<T>& d_query,
                         const StridedView<T>& d_key,
                         const StridedView<T>& d_value) const;

  // y[i] = function(x[i]), i < n; y may be x. One of exp, sigmoid, relu, gelu
  // and its slope.
  void Map(kernels::ArrayFunction function, const T* x, T* y, int64_t n) const;

  // Calls body(begin, end) for blocks of rows that together are [0, rows), on
  // all threads. A row must not depend on another.
  void ForRows(int64_t rows,
               const std::function<void(int64_t, int64_t)>& body) const;
  // The same for columns, in blocks of at least 16, a line of the cache.
  void ForColumns(int64_t columns,
                  const std::function<void(int64_t, int64_t)>& body) const;

  // Instruction set and threads.
  const kernels::KernelOptions& execution() const { return execution_; }

 private:
  void Product(const StridedView<const T>& a, const StridedView<const T>& b,
               const StridedView<T>& c, const T* bias, bool accumulate) const;
  void ForBlocks(int64_t n, int64_t block,
                 const std::function<void(int64_t, int64_t)>& body) const;

  kernels::KernelOptions execution_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_ENGINE_H_
