// The operations that the transformer is made of: in float32 on the kernels,
// fast and with the same bits everywhere, and in float64 on the reference, as
// the oracle that gradients are checked with. One transformer, written once
// over this, runs on both.
//
//   Engine<float> engine({.pool = &pool});
//   engine.Multiply(x.view(), w.view(), y.view(), {.bias = b});
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

template <typename T>
struct MultiplyOptions {
  bool accumulate = false;  // C += A B instead of C = A B
  const T* bias = nullptr;  // [n], added to every row
};

// Where attention writes.
template <typename T>
struct AttentionTargets {
  StridedView<T> output;       // [B, H, T, D]
  StridedView<T> log_sum_exp;  // [B, H, T]
};
template <typename T>
struct AttentionGradientTargets {
  StridedView<T> query;  // [B, H, T, D]
  StridedView<T> key;    // [B, Hkv, T, D]
  StridedView<T> value;  // [B, Hkv, T, D]
};

// T is float or double.
template <typename T>
class Engine {
 public:
  explicit Engine(const kernels::KernelOptions& run = {}) : run_(run) {}

  // C = A B: A [m, k] and B [k, n] of any strides, C [m, n] with contiguous
  // rows. Sums run in an order of their own (attention/kernels/gemm.h).
  void Multiply(const StridedView<const T>& a, const StridedView<const T>& b,
                const StridedView<T>& c,
                const MultiplyOptions<T>& options = {}) const;

  void AttentionForward(const AttentionInputs<T>& inputs,
                        const AttentionTargets<T>& targets) const;
  void AttentionBackward(const AttentionInputs<T>& inputs,
                         const AttentionTargets<T>& outputs,
                         const StridedView<const T>& output_gradient,
                         const AttentionGradientTargets<T>& targets) const;

  // y[i] = function(x[i]), i < n; y may be x. One of exp, sigmoid, relu, gelu
  // and its slope.
  void Map(kernels::ArrayFunction function, const T* x, T* y, int64_t n) const;

  // Calls body(begin, end) for runs of rows that together are [0, rows), on
  // all threads. A row must not depend on another.
  void ForRows(int64_t rows,
               const std::function<void(int64_t, int64_t)>& body) const;
  // The same for columns, in runs of at least 16, a line of the cache.
  void ForColumns(int64_t columns,
                  const std::function<void(int64_t, int64_t)>& body) const;

  const kernels::KernelOptions& run() const { return run_; }

 private:
  void ForRuns(int64_t n, int64_t run,
               const std::function<void(int64_t, int64_t)>& body) const;

  kernels::KernelOptions run_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_ENGINE_H_
