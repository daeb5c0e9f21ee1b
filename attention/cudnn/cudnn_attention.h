// Attention by cuDNN on tensors of the host: the interface and the contract of
// the reference (attention/reference/attention_reference.h) in bfloat16 or
// float16.
//
//   CudnnAttention attention(&runner, {.element = Dtype::kBF16});
//   SOFTLOOKUP_ASSIGN_OR_RETURN(AttentionOutputs<float> outputs,
//                               attention.Forward(inputs, options));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       AttentionGradients<float> gradients,
//       attention.Backward(inputs, options, outputs, output_gradient.view()));
//
// Inputs are rounded to the element type, results are exact widenings of it;
// the log-sum-exp is float32 all the way.
//
// What cuDNN leaves open is settled here, before and after it runs:
// - Its answer for rows with every key masked is not documented. Such rows go
//   in with a log-sum-exp of 0 and gradients of 0, so that they reach no other
//   row, and come out as the contract says: output 0, log-sum-exp -inf,
//   gradients 0.
// - It multiplies what lies at masked positions by weights of 0, so that a NaN
//   there would spread. Elements beyond a key length go in as 0; elsewhere only
//   finite elements are accepted.
// - Gradients of what no query sees are 0, whether cuDNN writes them or not.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_ATTENTION_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_ATTENTION_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/cudnn/cudnn_problem.h"
#include "base/tensor/dtype.h"
#include "base/tensor/strided_view.h"

namespace softlookup::cudnn {

// A tensor's bytes on the host: read from `input` before the run, or written to
// `output` after it.
struct HostBytes {
  const void* input = nullptr;
  void* output = nullptr;
  int64_t bytes = 0;
};

// Something that computes a problem: a GPU, or a test's stand-in.
class CudnnRunner {
 public:
  virtual ~CudnnRunner() = default;
  // One entry for each of CudnnTensors(problem), CudnnTensor::Bytes() long.
  virtual absl::Status Run(
      const CudnnProblem& problem,
      const std::map<CudnnTensorId, HostBytes>& tensors) = 0;
};

struct CudnnAttentionOptions {
  Dtype element = Dtype::kBF16;  // or kF16
  // The same bits from run to run; costs 2 B H Tq Tk bytes on the GPU.
  bool deterministic = false;
};

class CudnnAttention {
 public:
  // The runner must outlive this object.
  CudnnAttention(CudnnRunner* runner, const CudnnAttentionOptions& options)
      : runner_(runner), options_(options) {}

  // O = softmax(Q K^T scale + bias) V and the log-sum-exp of each row.
  // InvalidArgument as DescribeCudnnProblem, for an element that is not finite
  // in the element type, naming it (in a bias, -inf is allowed), and for a
  // fully masked row under FullyMasked::kError. The runner's errors.
  absl::StatusOr<AttentionOutputs<float>> Forward(
      const AttentionInputs<float>& inputs,
      const AttentionOptions& options) const;

  // The gradients from output_gradient = dL/dO, [B, H, Tq, Dv], and the
  // forward's outputs. The errors of Forward and CheckAttentionBackward, and
  // InvalidArgument for outputs of other shapes.
  absl::StatusOr<AttentionGradients<float>> Backward(
      const AttentionInputs<float>& inputs, const AttentionOptions& options,
      const AttentionOutputs<float>& outputs,
      const StridedView<const float>& output_gradient) const;

 private:
  CudnnRunner* runner_;
  CudnnAttentionOptions options_;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_ATTENTION_H_
