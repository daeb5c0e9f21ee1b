// The problems by which gpu_check compares cuDNN with the reference. Each is a
// function of its type and number alone.
//
//   for (int number = 0; number < 24; ++number) {
//     const CudnnCase drawn = DrawParityCase(Dtype::kBF16, number);
//     std::printf("%s\n", drawn.name.c_str());
//   }
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_TESTING_CUDNN_CASES_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_TESTING_CUDNN_CASES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "attention/cudnn/cudnn_problem.h"
#include "base/tensor/dtype.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {

struct CudnnCase {
  CudnnProblem problem;  // the backward one
  std::string name;      // "BF16 B2 H4/2 Tq64 Tk65 D128 top_left"
  // Elements that problem.element holds exactly.
  Tensor<float> query;     // [B, H, Tq, D]
  Tensor<float> key;       // [B, Hkv, Tk, D]
  Tensor<float> value;     // [B, Hkv, Tk, Dv]
  Tensor<float> gradient;  // of the output, [B, H, Tq, Dv]
  std::optional<Tensor<float>> bias;
  std::vector<int64_t> lengths;  // of keys; empty for none

  // Views of this object.
  AttentionInputs<float> inputs() const;
};

// Drawn sizes, lengths up to 192 that are and are not multiples of cuDNN's
// tiles, under masks that take turns by number, so that any seven numbers in a
// row have them all: none, top-left, bottom-right, key lengths, key lengths
// with top-left, bias, bias with top-left.
inline constexpr int kParityMasks = 7;
CudnnCase DrawParityCase(Dtype element, int number);

// The conditions of the two faults of cuDNN 9.19 that CudnnProblem::Padded
// works around, each for itself, together and beside them: log-sum-exps below
// kFaultLogSumExp with Tk % 128 == 64, and a single query. `number` is 0 to
// kFaultCases - 1.
inline constexpr int kFaultCases = 7;
inline constexpr double kFaultLogSumExp = -88.7;
CudnnCase DrawFaultCase(Dtype element, int number);

// Long enough that many blocks add to one gradient, in an order that is not
// fixed but by the deterministic algorithm.
CudnnCase DrawRepeatCase();

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_TESTING_CUDNN_CASES_H_
