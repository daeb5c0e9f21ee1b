// How far attention in half precision may be from the exact result, element by
// element, and how near it cannot be.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const ExactAttention exact,
//       ComputeExactAttention(inputs, scale, output_gradient, Dtype::kBF16));
//   const ParityReport report =
//       Compare(ours, exact.at("output"), Dtype::kBF16);
//   // report.worst <= 1: every error is within its bound
//
// The inputs are the rounded ones that cuDNN was given. With u the unit
// roundoff of the element type (2^-8 in bfloat16, 2^-11 in float16), P the
// weights, A = sum_j P |V| and d = sum_k dO O:
//
//   O   cuDNN rounds P and O:                u (|O| + A)
//   L   float32:                             e
//   dV  it rounds P, each head's dV and dV:  u (|dV| + 2 sum_i P |dO|)
//   dS  = P (dP - d); it rounds dS and O:    E = u (|dS| + 2 P sum_k |dO| A)
//   dQ  it rounds dQ:                        u |dQ| + scale sum_j E |K|
//   dK  it rounds each head's dK and dK:     u |dK| + scale sum_i (E + u |dS|)
//                                            |Q|
//   dB  it rounds dS and dB:                 u |dB| + sum E
//
// first order in u; a quarter is added for the higher orders (u <= 2^-8, so
// they are below it by far) and float32's e = 2^-19 (1 + S), S the largest sum
// of |q k scale| and |bias|: P is off by e relative to itself.
//
// A result nearer than rounding allows is as wrong as one too far. One rounding
// to nearest gives errors of about 0.4 u of the elements in the root mean
// square, spread evenly as they are; less than u / 16 over many elements is no
// rounding.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CHECK_PARITY_BOUNDS_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CHECK_PARITY_BOUNDS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {

// 2^-8 for kBF16, 2^-11 for kF16.
double UnitRoundoff(Dtype element);

struct Bounded {
  Tensor<double> exact;
  Tensor<double> bound;  // of the same shape
};

// By name: output, log_sum_exp, query_gradient, key_gradient, value_gradient
// and, where there is a bias, bias_gradient.
using ExactAttention = std::map<std::string, Bounded>;

// By the float64 reference, and the bounds by their definitions, in time and
// memory of order B H Tq Tk D: for small problems. The reference's errors.
absl::StatusOr<ExactAttention> ComputeExactAttention(
    const AttentionInputs<float>& inputs, double scale,
    const StridedView<const float>& output_gradient, Dtype element);

struct ParityReport {
  double worst = 0;     // the largest |ours - exact| / bound
  double relative = 0;  // root mean square of ours - exact, over u and over
                        // that of the exact elements
  std::string where;    // "[0, 1, 5, 63]: 0.25 for 0.2578125"
};

// NaN and infinities must be equal; where they are not, `worst` is infinite.
ParityReport Compare(const Tensor<float>& ours, const Bounded& exact,
                     Dtype element);

// The least `relative` of a tensor of at least this many elements, none of
// which is exact by nature.
inline constexpr double kLeastRelative = 1.0 / 16;
inline constexpr int64_t kManyElements = 512;

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CHECK_PARITY_BOUNDS_H_
