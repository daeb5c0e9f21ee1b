// The worked example's backward pass, by hand, with four confirmations.
//
// L is one component of one token's output, under the causal mask and the
// scale. By hand, row by row, mirroring the forward lines:
//
//   O = P V              g_ij  = dL/do_i . v_j          dV = P^T dL/dO
//   P = softmax(S)       dS_ij = P_ij (g_ij - sum_k P_ik g_ik)
//   S = Q K^T / sqrt(2)  dQ = dS K / sqrt(2)            dK = dS^T Q / sqrt(2)
//
// The same gradients come from the reference implementation, from the complex
// step, from central differences, and from PyTorch's autograd.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       Json json, MeasureBackward(ChapterExample(), {.token = 3,
//                                                     .component = 2}));
//
// Source: the chapter, section 3, on the backward pass.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_BACKWARD_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_BACKWARD_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/tensor/tensor.h"
#include "experiments/worked_example/forward.h"

namespace softlookup {

// L = o_{token, component}, both counted from 1 as the chapter does.
struct ExampleLoss {
  int64_t token = 3;      // 1 to 3
  int64_t component = 2;  // 1 or 2
};

struct HandBackward {
  Tensor<double> weights;    // g, [3, 3]
  std::vector<double> mean;  // of g under each row's weights, [3]
  Tensor<double> scores;     // dS, [3, 3]
  Tensor<double> query;      // dQ, [3, 2]
  Tensor<double> key;        // dK, [3, 2]
  Tensor<double> value;      // dV, [3, 2]
};

// The rules above, from output_gradient = dL/dO, [3, 2].
HandBackward ComputeHandBackward(const WorkedExample& example,
                                 const Tensor<double>& weights, double scale,
                                 const Tensor<double>& output_gradient);

// {loss, hand, reference, nudges, deviations, masked_entries}. The comparison
// with PyTorch is there only for the chapter's own inputs and loss, which are
// what its values were made for.
absl::StatusOr<Json> MeasureBackward(const WorkedExample& example,
                                     const ExampleLoss& loss);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_BACKWARD_H_
