// Attention-only models whose weights are set by hand.
//
// The residual stream is cut into four subspaces, each with one dimension per
// token or position:
//
//   token      [0, V)              which token stands here
//   position   [V, V + T)          where this is
//   previous   [V + T, 2 V + T)    which token stands before
//   next       [2 V + T, 3 V + T)  which token should follow: the logits
//
// The embedding writes a one into token and into position; a head reads one
// subspace for its queries, one for its keys and one for its values, and
// writes into one:
//
//   HandBuiltModel model(stream, /*layers=*/2, /*heads=*/1);
//   model.SetHead(0, 0, PreviousTokenHead(stream, /*match_score=*/20));
//   model.SetHead(1, 0, InductionHead(stream, 20));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(HandBuiltRun run, model.Run(tokens));
//   run.logits(t, v)
//
// There is no normalisation and no feed-forward layer.
//
// Source: the chapter, section 4, on the residual stream and induction heads;
// Elhage et al. 2021; Olsson et al. 2022.
#ifndef SOFTLOOKUP_INTERPRETABILITY_HAND_BUILT_MODEL_H_
#define SOFTLOOKUP_INTERPRETABILITY_HAND_BUILT_MODEL_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/reference/multi_head.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// A run of dimensions of the residual stream.
struct Subspace {
  int64_t begin;
  int64_t size;
};

struct StreamLayout {
  int64_t vocabulary;  // V
  int64_t positions;   // T, the longest sequence

  Subspace token() const { return {0, vocabulary}; }
  Subspace position() const { return {vocabulary, positions}; }
  Subspace previous() const { return {vocabulary + positions, vocabulary}; }
  Subspace next() const { return {2 * vocabulary + positions, vocabulary}; }
  int64_t width() const { return 3 * vocabulary + positions; }
};

// What one head reads and writes. Entry n of the query's subspace looks for
// entry looks_for(n) of the key's; entry n of the value's is written as entry
// writes_as(n). A match scores `match_score` after scaling, anything else 0.
struct HandBuiltHead {
  Subspace query;
  std::function<int64_t(int64_t)> looks_for;
  Subspace key;
  double match_score;
  Subspace value;
  std::function<int64_t(int64_t)> writes_as;
  Subspace output;
};

// Position t looks for position t - 1 (the first one for itself) and writes
// the token it finds there into `previous`.
HandBuiltHead PreviousTokenHead(const StreamLayout& stream, double match_score);

// Looks for positions whose previous token is the token here, and writes the
// token it finds there into `next`.
HandBuiltHead InductionHead(const StreamLayout& stream, double match_score);

struct HandBuiltRun {
  std::vector<Tensor<double>> streams;   // [T, d] before each layer and after
                                         // the last: layers + 1
  std::vector<Tensor<double>> patterns;  // [H, T, T] by layer
  std::vector<Tensor<double>> writes;    // [H, T, d] by layer
  Tensor<double> logits;                 // [T, V]: `next` after the last layer
};

class HandBuiltModel {
 public:
  // Every head writes nothing until it is set.
  HandBuiltModel(const StreamLayout& stream, int64_t layers, int64_t heads);

  // Heads have a query width of max(V, T) and a value width of V.
  void SetHead(int64_t layer, int64_t head, const HandBuiltHead& spec);
  // Sets a head's writes to zero.
  void Ablate(int64_t layer, int64_t head);

  // The causal run over 1 to T tokens.
  absl::StatusOr<HandBuiltRun> Run(absl::Span<const int64_t> tokens) const;
  // The layers from `layer` on, from a residual stream [T, d].
  absl::StatusOr<HandBuiltRun> RunFrom(int64_t layer,
                                       const Tensor<double>& stream) const;

  const StreamLayout& stream() const { return stream_; }
  // The weights of a layer.
  const MultiHeadWeights<double>& layer(int64_t n) const { return layers_[n]; }

 private:
  StreamLayout stream_;
  std::vector<MultiHeadWeights<double>> layers_;
};

// The embedding of `tokens`, [T, d].
Tensor<double> EmbedTokens(const StreamLayout& stream,
                           absl::Span<const int64_t> tokens);

// By how much the logit of `token` at the last position exceeds every other
// one; negative when another one is larger.
double LastLogitMargin(const HandBuiltRun& run, int64_t token);

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_HAND_BUILT_MODEL_H_
