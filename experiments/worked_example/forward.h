// The worked example's forward pass, as it would stand on a blackboard.
//
// Three tokens with queries, keys and values of width 2, in four cases: with
// and without the causal mask, with and without the scale. For each case the
// scores, their exponentials, the row sums, the weights and the outputs. The
// weights and outputs come from the reference implementation; the quotient of
// exponential and row sum is the second, by-hand way to the weights.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       BoardCase board, ComputeBoardCase(ChapterExample(),
//                                         /*causal=*/true, /*scaled=*/true));
//   board.head.weights(1, 1)                 // 0.670
//   SOFTLOOKUP_ASSIGN_OR_RETURN(Json json, MeasureForward(ChapterExample()));
//
// Source: the chapter, section 3.
#ifndef SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_FORWARD_H_
#define SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_FORWARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/textbook/single_head.h"
#include "base/json.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// Number of tokens and width of queries, keys and values.
inline constexpr int64_t kExampleTokens = 3;
inline constexpr int64_t kExampleWidth = 2;

struct WorkedExample {
  Tensor<double> query;  // each [3, 2]
  Tensor<double> key;
  Tensor<double> value;
};

// The chapter's numbers.
WorkedExample ChapterExample();

// 1 / sqrt(2), or 1 without scaling; top-left causal or no mask.
HeadOptions CaseOptions(bool causal, bool scaled);

// "causal_scaled", "unmasked_unscaled", ...
std::string CaseName(bool causal, bool scaled);

struct BoardCase {
  Tensor<double> scores;         // [3, 3]; -inf where masked
  Tensor<double> exponentials;   // [3, 3], exp(score); 0 where masked
  std::vector<double> row_sums;  // [3], of the exponentials
  HeadOutputs<double> head;      // weights and outputs of the reference
};

absl::StatusOr<BoardCase> ComputeBoardCase(const WorkedExample& example,
                                           bool causal, bool scaled);

// The Shannon entropy of a row of weights, in nats.
double Entropy(const Tensor<double>& weights, int64_t row);

// {inputs, scores, cases, masking, mirror, scaling}; every member says what it
// is in its name. Fails only as the reference does.
absl::StatusOr<Json> MeasureForward(const WorkedExample& example);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_WORKED_EXAMPLE_FORWARD_H_
