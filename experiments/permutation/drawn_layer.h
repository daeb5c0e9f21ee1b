// One attention layer of drawn projections, in three variants.
//
// Whether the layer knows the order of its tokens depends on the variant:
// without positions it does not; the causal mask and position embeddings each
// tell it.
//
//   RandomStream stream(seed, "layer");
//   const Tensor<double> tokens = DrawTokens(stream, 3);      // [3, 8]
//   const Layer layer = DrawLayer(stream);
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       HeadOutputs<double> head, Attend(layer, Variant::kCausal, tokens));
//
// Source: the chapter, section 1, on what must be added back.
#ifndef SOFTLOOKUP_EXPERIMENTS_PERMUTATION_DRAWN_LAYER_H_
#define SOFTLOOKUP_EXPERIMENTS_PERMUTATION_DRAWN_LAYER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "attention/textbook/single_head.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"

namespace softlookup {

inline constexpr int64_t kTokenWidth = 8;  // of the token embeddings

enum class Variant { kNoPositions, kCausal, kPositions };
inline constexpr std::array<Variant, 3> kVariants = {
    Variant::kNoPositions, Variant::kCausal, Variant::kPositions};

// Something measured of each variant.
template <typename T>
class OfVariants {
 public:
  T& operator[](Variant v) { return of_[static_cast<size_t>(v)]; }
  const T& operator[](Variant v) const { return of_[static_cast<size_t>(v)]; }

 private:
  std::array<T, kVariants.size()> of_;
};

struct Layer {
  Tensor<double> query_matrix;  // W_Q, [8, 4]
  Tensor<double> key_matrix;    // W_K, [8, 4]
  Tensor<double> value_matrix;  // W_V, [8, 2]
};

// How many draws are measured, and from which streams.
struct PermutationDraws {
  int64_t draws = 100;  // of embeddings and projections, >= 1
  uint64_t seed = 1;
};

// Embeddings of `length` tokens, [length, 8], standard normal.
Tensor<double> DrawTokens(RandomStream& stream, int64_t length);

// Projections that keep the variance.
Layer DrawLayer(RandomStream& stream);

// The sinusoidal embeddings of positions 0 to T - 1, [T, width]: sine and
// cosine in pairs, of t / 10000^(2 i / width) (Vaswani et al. 2017).
Tensor<double> PositionEmbeddings(int64_t positions, int64_t width);

// The layer on tokens [T, 8]: weights [T, T], outputs [T, 2].
absl::StatusOr<HeadOutputs<double>> Attend(const Layer& layer, Variant variant,
                                           Tensor<double> tokens);

// What effects on outputs are relative to: the largest |component| of the
// tokens' values.
double ValueSize(const Layer& layer, const Tensor<double>& tokens);

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_PERMUTATION_DRAWN_LAYER_H_
