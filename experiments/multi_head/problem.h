// Random inputs and weights of a multi-head attention layer, for experiments.
//
//   const MultiHeadProblem problem =
//       DrawMultiHead(/*seed=*/1, {.batch = 2, .positions = 16, .width = 256,
//                                  .heads = 8});
//   MultiHeadForward<double>(problem.x.view(), problem.weights, options)
#ifndef SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_PROBLEM_H_
#define SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_PROBLEM_H_

#include <cstdint>
#include <string>

#include "attention/reference/multi_head.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct MultiHeadSizes {
  int64_t batch = 1;      // B
  int64_t positions = 1;  // T
  int64_t width = 1;      // d, a multiple of heads
  int64_t heads = 1;      // h

  int64_t head_width() const { return width / heads; }  // d_k = d_v
};

struct MultiHeadProblem {
  Tensor<double> x;  // [B, T, d], independent normals of variance 1
  // Independent normals of variance 1 / d, so that queries, keys, values and
  // outputs have about unit variance too.
  MultiHeadWeights<double> weights;
};

// From the streams "inputs", "query projection", "key projection", "value
// projection" and "output projection". The weights do not depend on `heads`:
// heads are blocks of the same matrices. `layer` goes in front of the streams'
// names, so that layers have weights of their own.
MultiHeadProblem DrawMultiHead(uint64_t seed, const MultiHeadSizes& sizes,
                               const std::string& layer = "");

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_MULTI_HEAD_PROBLEM_H_
