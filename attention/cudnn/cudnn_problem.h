// One attention problem as cuDNN is given it: what cuDNN cannot do, and the
// tensors that it reads and writes.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const CudnnProblem problem,
//       DescribeCudnnProblem(inputs, options,
//                            {.element = Dtype::kBF16, .backward = true}));
//   for (const CudnnTensor& tensor : CudnnTensors(problem)) {
//     std::printf("%s %s\n", tensor.name.c_str(),
//                 ShapeString(tensor.shape).c_str());
//   }
//
// Everything that cuDNN refuses, or answers otherwise than
// attention/attention.h promises, is refused here first, by a message of ours
// that names the argument, what was given and what is allowed. Nothing here
// calls cuDNN.
//
// Sources of the limits: the cuDNN 9 documentation, "Attention" under "Graph
// API", and the support checks of cudnn-frontend 1.19
// (node/sdpa_support_surface.h, node/scaled_dot_product_flash_attention.h).
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PROBLEM_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"

namespace softlookup::cudnn {

// Widths D and Dv: multiples of the first up to the second.
inline constexpr int64_t kWidthMultiple = 8;
inline constexpr int64_t kMaxWidth = 256;

struct CudnnProblem {
  bool backward = false;
  Dtype element = Dtype::kBF16;  // or kF16: of queries, keys, values, outputs
  AttentionSizes sizes;
  CausalAlignment causal = CausalAlignment::kNone;
  bool key_lengths = false;   // a length per batch entry is given
  std::optional<Shape> bias;  // its shape, [B or 1, H or 1, Tq, Tk]
  double scale = 1;
  // The same bits from run to run; backward only, the forward always has them.
  bool deterministic = false;
  // Strides of what the caller has, in elements. All else is contiguous.
  Shape query_strides;
  Shape key_strides;
  Shape value_strides;

  // Whether cuDNN is given query and key lengths: with key_lengths, and always
  // backward, with full lengths if need be. Without them cuDNN 9.19 has two
  // faults on Hopper: dQ is NaN when Tk % 128 == 64 and a log-sum-exp is below
  // -88.7, and dK and dV are NaN when Tq == 1.
  bool Padded() const { return key_lengths || backward; }
};

Shape QueryShape(const AttentionSizes& sizes);   // [B, H, Tq, D]
Shape KeyShape(const AttentionSizes& sizes);     // [B, Hkv, Tk, D]
Shape ValueShape(const AttentionSizes& sizes);   // [B, Hkv, Tk, Dv]
Shape OutputShape(const AttentionSizes& sizes);  // [B, H, Tq, Dv]

// A description with contiguous strides.
CudnnProblem ContiguousProblem(const AttentionSizes& sizes, Dtype element,
                               bool backward);

// A key of a cache: equal exactly for problems that one plan serves. A plan
// knows the shape of key lengths and bias and not their values.
std::string CudnnProblemKey(const CudnnProblem& problem);

// InvalidArgument for what cuDNN does not do:
//   element types but BF16 and F16; widths that are not multiples of 8 up to
//   256; a last stride but 1, and other strides that are not multiples of 8 or
//   below it; a scale that is not positive; a bias that is broadcast along
//   queries or keys; bottom-right causality with a bias, with more queries than
//   keys, or with key lengths (cuDNN's diagonal ends at the last real key, ours
//   at the tensor's last); backward with one query and one key.
absl::Status CheckCudnnProblem(const CudnnProblem& problem);

struct CudnnRequest {
  Dtype element = Dtype::kBF16;
  bool backward = false;
  bool deterministic = false;
};

// The problem of these inputs, checked. InvalidArgument as CheckAttention and
// CheckCudnnProblem, and for what has no place in a CudnnProblem: boolean
// masks, key starts, and weights.
absl::StatusOr<CudnnProblem> DescribeCudnnProblem(
    const AttentionInputs<float>& inputs, const AttentionOptions& options,
    const CudnnRequest& request);

// The numbers by which tensors are bound to memory. A plan that was written to
// a file carries them, so they never change.
enum class CudnnTensorId : int64_t {
  kQuery = 1,
  kKey = 2,
  kValue = 3,
  kOutput = 4,
  kLogSumExp = 5,
  kBias = 6,
  kQueryLengths = 7,
  kKeyLengths = 8,
  kOutputGradient = 9,
  kQueryGradient = 10,
  kKeyGradient = 11,
  kValueGradient = 12,
  kBiasGradient = 13,
};

struct CudnnTensor {
  CudnnTensorId id = CudnnTensorId::kQuery;
  std::string name;
  Dtype dtype = Dtype::kBF16;
  Shape shape;
  Shape strides;  // in elements
  bool written = false;

  // Bytes from the first element to the last, both included.
  int64_t Bytes() const;

  bool operator==(const CudnnTensor&) const = default;
};

// The tensors of a problem that CheckCudnnProblem accepts, by increasing id.
// Dimensions are those of attention/attention.h, but that cuDNN gives
// everything rank 4: log_sum_exp is [B, H, Tq, 1] and lengths are [B, 1, 1, 1].
std::vector<CudnnTensor> CudnnTensors(const CudnnProblem& problem);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PROBLEM_H_
