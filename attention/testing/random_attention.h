// Drawn attention problems, for property tests of every implementation.
//
//   RandomStream stream(/*seed=*/7, "my_test");
//   const AttentionCase<double> drawn = DrawAttentionCase(stream);
//   SCOPED_TRACE(Describe(drawn));
//   auto outputs = reference::AttentionForward(drawn.inputs(), drawn.options);
//
// The draws cover every mask kind and their combinations (causal alignments
// with Tq below, equal to and above Tk; boolean masks and biases of every
// broadcast; key lengths and starts, 0 and Tk included; biases with -inf),
// grouped heads, Dv != D, scale overrides of either sign, nearly uniform and
// saturated rows, and rows with every key masked.
#ifndef SOFTLOOKUP_ATTENTION_TESTING_RANDOM_ATTENTION_H_
#define SOFTLOOKUP_ATTENTION_TESTING_RANDOM_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "attention/mask.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// One problem that owns its tensors.
template <typename T>
struct AttentionCase {
  AttentionSizes sizes;
  Tensor<T> query;            // [B, H, Tq, D]
  Tensor<T> key;              // [B, Hkv, Tk, D]
  Tensor<T> value;            // [B, Hkv, Tk, Dv]
  Tensor<T> output_gradient;  // [B, H, Tq, Dv]
  std::optional<Tensor<T>> bias;
  std::optional<Tensor<uint8_t>> allowed;
  std::vector<int64_t> key_lengths;
  std::vector<int64_t> key_starts;
  CausalAlignment causal = CausalAlignment::kNone;
  AttentionOptions options;

  // Views of this case, valid while it lives and stays where it is.
  AttentionInputs<T> inputs() const;

  // Whether query i of head h sees key j: allowed by the mask, and not with a
  // bias of -inf. Written out from the definitions, apart from
  // AttentionMask::Allows, so that tests have something to compare it with.
  bool Visible(int64_t b, int64_t h, int64_t i, int64_t j) const;
};

// Upper limits of the drawn sizes; the lower ones are 1.
struct AttentionLimits {
  uint32_t batch = 2;
  uint32_t key_heads = 2;
  uint32_t group = 3;  // H / Hkv
  uint32_t positions = 6;
  uint32_t width = 4;
};

AttentionCase<double> DrawAttentionCase(RandomStream& stream,
                                        const AttentionLimits& limits = {});

// The sizes and restrictions in words, for failure messages.
std::string Describe(const AttentionCase<double>& drawn);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TESTING_RANDOM_ATTENTION_H_
