// Elementary functions and reductions over float32 arrays, the same bits on
// every instruction set and number of threads (determinism.md).
//
//   SOFTLOOKUP_RETURN_IF_ERROR(
//       kernels::MapArray(ArrayFunction::kGelu, x, absl::MakeSpan(y),
//       execution));
//   float norm = kernels::ArrayNorm(gradient, execution);
//
// By SLEEF's deterministic functions (Shibata and Petrogalli, IEEE TPDS 31,
// 2020). With eps = 2^-24, the error for every finite x:
//
//   exp, log, tanh, sin, cos, erf   2 eps |y| + 2^-149
//   sigmoid                         4 eps |y| + 2^-126
//   gelu                            4 eps |x| + 2^-149
//   gelu slope                      5 eps
//   relu                            none
//
// exp is inf above 128 ln 2; log is -inf at 0 and NaN below; sin and cos of
// +-inf are NaN, gelu of -inf and its slope at +-inf too (0 times infinity).
// NaN gives NaN.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_FUNCTIONS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_FUNCTIONS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/kernels/array_function.h"
#include "attention/kernels/kernel_options.h"

namespace softlookup::kernels {

// y[i] = function(x[i]). y may be x itself. InvalidArgument for other sizes,
// a y that overlaps x otherwise, and misaligned memory.
absl::Status MapArray(ArrayFunction function, absl::Span<const float> x,
                      absl::Span<float> y, const KernelOptions& execution);

// Sums run over 16 fixed lanes within chunks of 65,536 elements, then the same
// way over the chunks' sums. Of nothing: 0.
float ArraySum(absl::Span<const float> x, const KernelOptions& execution);

// The largest element, NaN if any element is. Of nothing: -inf.
float ArrayMaximum(absl::Span<const float> x, const KernelOptions& execution);

// sqrt(sum of squares), not rescaled: inf from about 1.8e19 on, and elements
// below about 1e-23 count as 0.
float ArrayNorm(absl::Span<const float> x, const KernelOptions& execution);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_FUNCTIONS_H_
