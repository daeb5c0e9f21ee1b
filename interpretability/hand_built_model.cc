#include "interpretability/hand_built_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attention/mask.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/strided_view.h"

namespace softlookup {
namespace {

int64_t QueryWidth(const StreamLayout& stream) {
  return std::max(stream.vocabulary, stream.positions);
}

int64_t Same(int64_t n) { return n; }

// The elements of a tensor whose first dimension is 1, without it.
Tensor<double> WithoutBatch(Tensor<double> tensor) {
  Shape shape(tensor.shape().begin() + 1, tensor.shape().end());
  return Tensor<double>(std::move(shape), std::move(tensor.elements()));
}

}  // namespace

HandBuiltHead PreviousTokenHead(const StreamLayout& stream,
                                double match_score) {
  return {.query = stream.position(),
          .looks_for = [](int64_t t) { return t > 0 ? t - 1 : 0; },
          .key = stream.position(),
          .match_score = match_score,
          .value = stream.token(),
          .writes_as = Same,
          .output = stream.previous()};
}

HandBuiltHead InductionHead(const StreamLayout& stream, double match_score) {
  return {.query = stream.token(),
          .looks_for = Same,
          .key = stream.previous(),
          .match_score = match_score,
          .value = stream.token(),
          .writes_as = Same,
          .output = stream.next()};
}

HandBuiltModel::HandBuiltModel(const StreamLayout& stream, int64_t layers,
                               int64_t heads)
    : stream_(stream), layers_(layers) {
  const int64_t d = stream.width();
  for (MultiHeadWeights<double>& layer : layers_) {
    layer.heads = layer.key_heads = heads;
    layer.query = Tensor<double>({d, heads * QueryWidth(stream)});
    layer.key = Tensor<double>({d, heads * QueryWidth(stream)});
    layer.value = Tensor<double>({d, heads * stream.vocabulary});
    layer.output = Tensor<double>({heads * stream.vocabulary, d});
  }
}

void HandBuiltModel::SetHead(int64_t layer, int64_t head,
                             const HandBuiltHead& spec) {
  MultiHeadWeights<double>& weights = layers_[layer];
  SOFTLOOKUP_CHECK(spec.value.size == stream_.vocabulary &&
                       spec.output.size == stream_.vocabulary,
                   "values and writes are over the vocabulary");
  const int64_t query_width = QueryWidth(stream_);
  const int64_t query_begin = head * query_width;
  const int64_t value_begin = head * stream_.vocabulary;
  // Scores are scaled by 1 / sqrt(D) later on.
  const double gain =
      spec.match_score * std::sqrt(static_cast<double>(query_width));
  for (int64_t n = 0; n < spec.query.size; ++n) {
    weights.query(spec.query.begin + n, query_begin + spec.looks_for(n)) = gain;
  }
  for (int64_t n = 0; n < spec.key.size; ++n) {
    weights.key(spec.key.begin + n, query_begin + n) = 1;
  }
  for (int64_t n = 0; n < stream_.vocabulary; ++n) {
    weights.value(spec.value.begin + n, value_begin + n) = 1;
    weights.output(value_begin + n, spec.output.begin + spec.writes_as(n)) = 1;
  }
}

void HandBuiltModel::Ablate(int64_t layer, int64_t head) {
  const int64_t begin = head * stream_.vocabulary;
  for (int64_t n = 0; n < stream_.vocabulary; ++n) {
    for (int64_t c = 0; c < stream_.width(); ++c) {
      layers_[layer].output(begin + n, c) = 0;
    }
  }
}

absl::StatusOr<HandBuiltRun> HandBuiltModel::Run(
    absl::Span<const int64_t> tokens) const {
  return RunFrom(0, EmbedTokens(stream_, tokens));
}

absl::StatusOr<HandBuiltRun> HandBuiltModel::RunFrom(
    int64_t layer, const Tensor<double>& stream) const {
  HandBuiltRun run;
  run.streams.push_back(stream);
  const int64_t positions = stream.dim(0);
  for (size_t n = layer; n < layers_.size(); ++n) {
    const Tensor<double>& x = run.streams.back();
    MultiHeadOptions options;
    options.mask.causal = CausalAlignment::kTopLeft;
    options.attention.weights = true;
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        MultiHeadOutputs<double> outputs,
        MultiHeadForward<double>(StridedView<const double>(
                                     x.data(), {1, positions, stream_.width()}),
                                 layers_[n], options));
    run.writes.push_back(WithoutBatch(
        HeadWrites<double>(std::as_const(outputs.heads).view(), layers_[n])));
    run.patterns.push_back(WithoutBatch(*std::move(outputs.weights)));
    Tensor<double> after = x;
    for (int64_t e = 0; e < after.size(); ++e) after[e] += outputs.output[e];
    run.streams.push_back(std::move(after));
  }
  run.logits = Copy(run.streams.back().view().Slice(
      1, stream_.next().begin, stream_.next().begin + stream_.next().size));
  return run;
}

Tensor<double> EmbedTokens(const StreamLayout& stream,
                           absl::Span<const int64_t> tokens) {
  const int64_t positions = static_cast<int64_t>(tokens.size());
  SOFTLOOKUP_CHECK(1 <= positions && positions <= stream.positions,
                   "a sequence that fits the stream");
  Tensor<double> embedded({positions, stream.width()});
  for (int64_t t = 0; t < positions; ++t) {
    embedded(t, stream.token().begin + tokens[t]) = 1;
    embedded(t, stream.position().begin + t) = 1;
  }
  return embedded;
}

double LastLogitMargin(const HandBuiltRun& run, int64_t token) {
  const int64_t last = run.logits.dim(0) - 1;
  double best_other = -std::numeric_limits<double>::infinity();
  for (int64_t v = 0; v < run.logits.dim(1); ++v) {
    if (v != token) best_other = std::max(best_other, run.logits(last, v));
  }
  return run.logits(last, token) - best_other;
}

}  // namespace softlookup
