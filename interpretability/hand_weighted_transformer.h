// For tests: a two-layer transformer whose weights are written by hand, so that
// what every head does is known exactly.
//
//   const HandWeightedTransformer hand(/*vocabulary=*/8, /*positions=*/18);
//   hand.model, hand.weights
//
// Head kPreviousHead of layer 0 attends to the position before and writes that
// token into a part of the stream of its own. Head kInductionHead of layer 1
// looks, with its own token, for positions into which that token was written,
// and writes the token that it finds there where the unembedding reads. The
// other heads do nothing.
#ifndef SOFTLOOKUP_INTERPRETABILITY_HAND_WEIGHTED_TRANSFORMER_H_
#define SOFTLOOKUP_INTERPRETABILITY_HAND_WEIGHTED_TRANSFORMER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor/strided_view.h"
#include "model/transformer.h"

namespace softlookup {

inline constexpr int64_t kPreviousHead = 1;
inline constexpr int64_t kInductionHead = 0;

struct HandWeightedTransformer {
  // positions >= vocabulary.
  HandWeightedTransformer(int64_t vocabulary, int64_t positions);

  // A parameter tensor by name, to change.
  StridedView<float> Parameter(const std::string& name);

  Transformer<float> model;
  std::vector<float> weights;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_HAND_WEIGHTED_TRANSFORMER_H_
