// The tensors of a cuDNN attention graph: names, numbers, types, dimensions and
// strides.
//
//   for (const CudnnTensor& tensor : CudnnTensors(problem)) {
//     std::printf("%s %s\n", tensor.name.c_str(),
//                 ShapeString(tensor.shape).c_str());
//   }
//
// Dimensions are those of attention/attention.h, but that cuDNN gives
// everything rank 4: log_sum_exp is [B, H, Tq, 1] and lengths are [B, 1, 1, 1].
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_TENSORS_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_TENSORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "attention/cudnn/cudnn_problem.h"
#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"

namespace softlookup::cudnn {

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
  // Of a matrix product (cudnn_product.h).
  kFactorA = 14,
  kFactorB = 15,
  kProduct = 16,
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
std::vector<CudnnTensor> CudnnTensors(const CudnnProblem& problem);

// The workspace that cuDNN 9.19 asks for on Hopper, in bytes, as measured:
//
//   forward   256, and none for a single query
//   backward  256 + 4 B H Tq for the row sums of dO * O,
//             + dQ in float32, 4 B H Tq D; for the deterministic algorithm and
//               where a bias has a gradient, dS in half precision instead,
//               2 B H Tq Tk with Tq rounded up to 64 and Tk to 128,
//             + with grouped heads dK and dV of every query head in half
//               precision, 2 B H Tk (D + Dv)
//
// A check on what a plan says, never used instead of it.
int64_t ExpectedWorkspaceBytes(const CudnnProblem& problem);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_TENSORS_H_
