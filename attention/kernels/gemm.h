// The float32 product of two matrices, the same bits on every instruction set
// and number of threads (determinism.md).
//
//   // y = gelu(x W + b), [tokens, d_out]
//   SOFTLOOKUP_RETURN_IF_ERROR(kernels::Gemm(
//       x.view(), w.view(), y.view(),
//       {.bias = absl::MakeConstSpan(b), .activation = ArrayFunction::kGelu},
//       execution));
//   // dW += x^T dy: transposes are strides
//   SOFTLOOKUP_RETURN_IF_ERROR(
//       kernels::Gemm(x.view().Transpose(0, 1), dy.view(), dw.view(),
//                     {.accumulate = true}, execution));
//
// Element (i, j) is a sum of chains of fused multiply-adds, each over 128 inner
// indices in ascending order, so a row of a product has the bits that a product
// of that row alone has. Scratch: kGemmScratchBytes per thread.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_GEMM_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_GEMM_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/kernels/array_function.h"
#include "attention/kernels/kernel_options.h"
#include "base/tensor/strided_view.h"

namespace softlookup::kernels {

inline constexpr int64_t kGemmScratchBytes = 294912;

struct GemmOptions {
  bool accumulate = false;            // C += A B instead of C = A B
  absl::Span<const float> bias = {};  // [n], added to every row at the end
  std::optional<ArrayFunction> activation = {};  // applied last
};

// C = A B, A [m, k] and B [k, n] of any strides, C [m, n] with a last stride
// of 1. k = 0 gives 0. InvalidArgument for ranks other than 2, sizes that do
// not fit, a target whose elements overlap each other or an input's, and
// misaligned memory.
absl::Status Gemm(const StridedView<const float>& a,
                  const StridedView<const float>& b,
                  const StridedView<float>& c, const GemmOptions& options,
                  const KernelOptions& execution);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_GEMM_H_
