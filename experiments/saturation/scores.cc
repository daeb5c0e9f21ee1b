#include "experiments/saturation/scores.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "base/random/random.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

using Fill = std::function<void(RandomStream&, absl::Span<double>)>;

// Ways to draw entries of mean 0 and variance 1.
const std::vector<std::pair<std::string, Fill>>& EntryKinds() {
  static const auto& kinds = *new std::vector<std::pair<std::string, Fill>>{
      {"gaussian",
       [](RandomStream& stream, absl::Span<double> entries) {
         stream.FillGaussian(entries);
       }},
      {"uniform",
       [](RandomStream& stream, absl::Span<double> entries) {
         for (double& entry : entries) {
           entry = (2 * stream.Uniform() - 1) * std::sqrt(3.0);
         }
       }},
      {"signs",
       [](RandomStream& stream, absl::Span<double> entries) {
         for (double& entry : entries) entry = stream.Sign();
       }},
  };
  return kinds;
}

double Dot(absl::Span<const double> a, absl::Span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double MeanSquare(const Tensor<double>& tensor) {
  return Dot(tensor.elements(), tensor.elements()) /
         static_cast<double>(tensor.size());
}

// Whether the key is drawn apart from the query or is the query itself.
enum class Keys { kIndependent, kSameAsQuery };

ScoresAtWidth SpreadAtWidth(int64_t width, const ScoreSpreadOptions& options,
                            const std::string& kind, const Fill& fill,
                            Keys keys) {
  RandomStream stream(options.seed, absl::StrCat("score spread, ", kind,
                                                 " entries, width ", width));
  const double scale = AttentionScale({}, width);
  std::vector<double> query(width);
  std::vector<double> key(width);
  std::vector<double> scores;
  std::vector<double> scaled;
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    fill(stream, absl::MakeSpan(query));
    fill(stream, absl::MakeSpan(key));
    if (keys == Keys::kSameAsQuery) key = query;
    scores.push_back(Dot(query, key));
    scaled.push_back(scores.back() * scale);
  }
  return {.width = width,
          .mean = MeanEstimate(scores),
          .variance = VarianceEstimate(scores),
          .standard_deviation = StandardDeviationEstimate(scores),
          .scaled_variance = VarianceEstimate(scaled)};
}

std::vector<ScoresAtWidth> SpreadByWidth(const ScoreSpreadOptions& options,
                                         const std::string& kind,
                                         const Fill& fill, Keys keys) {
  std::vector<ScoresAtWidth> by_width;
  for (int64_t width = 2; width <= options.largest_width; width *= 2) {
    by_width.push_back(SpreadAtWidth(width, options, kind, fill, keys));
  }
  return by_width;
}

FurthestOff Furthest(const std::vector<EntryKind>& kinds) {
  Largest mean;
  Largest variance;
  Largest scaled_variance;
  Largest unscaled_variance;
  for (const EntryKind& kind : kinds) {
    for (const ScoresAtWidth& at : kind.by_width) {
      mean.See(ErrorsOff(at.mean, 0));
      variance.See(ErrorsOff(at.variance, static_cast<double>(at.width)));
      scaled_variance.See(ErrorsOff(at.scaled_variance, 1));
      unscaled_variance.See(ErrorsOff(at.variance, 1));
    }
  }
  return {.mean = mean.value(),
          .variance = variance.value(),
          .scaled_variance = scaled_variance.value(),
          .unscaled_variance = unscaled_variance.value()};
}

TermMoments SingleTerm(const ScoreSpreadOptions& options, Keys keys) {
  RandomStream stream(options.seed, "score spread, single terms");
  std::vector<double> query(options.draws);
  std::vector<double> key(options.draws);
  stream.FillGaussian(absl::MakeSpan(query));
  stream.FillGaussian(absl::MakeSpan(key));
  if (keys == Keys::kSameAsQuery) key = query;
  std::vector<double> terms;
  std::vector<double> squares;
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    terms.push_back(query[draw] * key[draw]);
    squares.push_back(terms.back() * terms.back());
  }
  return {.mean = MeanEstimate(terms), .second_moment = MeanEstimate(squares)};
}

// Mean 0 and variance 1 over each row.
void NormaliseRows(Tensor<double>& rows) {
  const int64_t width = rows.dim(1);
  for (int64_t r = 0; r < rows.dim(0); ++r) {
    const absl::Span<double> row(&rows(r, 0), width);
    const double mean = Mean(row);
    for (double& entry : row) entry -= mean;
    const double deviation =
        std::sqrt(Dot(row, row) / static_cast<double>(width));
    for (double& entry : row) entry /= deviation;
  }
}

// Squares of Gaussians plus 1: mean 2, variance 2, far from symmetric.
Tensor<double> SkewedInputs(const ProjectionOptions& options,
                            RandomStream& stream) {
  Tensor<double> inputs =
      GaussianMatrix(stream, options.tokens, options.d_model, 1);
  for (double& entry : inputs.elements()) entry = entry * entry + 1;
  return inputs;
}

Tensor<double> Weights(const ProjectionOptions& options, RandomStream& stream) {
  return GaussianMatrix(
      stream, options.d_model, options.d_head,
      options.weight_gain / std::sqrt(static_cast<double>(options.d_model)));
}

}  // namespace

ScoreSpread MeasureScoreSpread(const ScoreSpreadOptions& options) {
  ScoreSpread spread;
  for (const auto& [kind, fill] : EntryKinds()) {
    spread.kinds.push_back(
        {kind, SpreadByWidth(options, kind, fill, Keys::kIndependent)});
  }
  spread.furthest = Furthest(spread.kinds);
  spread.term = SingleTerm(options, Keys::kIndependent);
  const auto& [kind, fill] = EntryKinds().front();
  spread.same_vector = SpreadByWidth(options, kind, fill, Keys::kSameAsQuery);
  spread.same_vector_term = SingleTerm(options, Keys::kSameAsQuery);
  return spread;
}

Divisors MeasureDivisors(int64_t width) {
  const double wide = 1 / AttentionScale({}, width);
  const double narrow = 1 / AttentionScale({}, 2);
  return {.width = width,
          .divisor = wide,
          .divisor_at_width_2 = narrow,
          .ratio = wide / narrow};
}

ProjectionMoments MeasureProjections(const ProjectionOptions& options) {
  RandomStream inputs_stream(options.seed, "projection inputs");
  RandomStream weights_stream(options.seed, "projection weights");
  std::vector<double> inputs;
  std::vector<double> queries;
  std::vector<double> keys;
  std::vector<double> scores;
  for (int64_t r = 0; r < options.replicates; ++r) {
    Tensor<double> x = SkewedInputs(options, inputs_stream);
    if (options.normalise) NormaliseRows(x);
    const Tensor<double> q = MatrixProduct(x, Weights(options, weights_stream));
    const Tensor<double> k = MatrixProduct(x, Weights(options, weights_stream));
    const double scale = AttentionScale({}, options.d_head);
    Tensor<double> s({options.tokens, options.tokens});
    for (int64_t i = 0; i < options.tokens; ++i) {
      for (int64_t j = 0; j < options.tokens; ++j) {
        const auto width = static_cast<size_t>(options.d_head);
        s(i, j) = Dot({&q(i, 0), width}, {&k(j, 0), width}) * scale;
      }
    }
    inputs.push_back(MeanSquare(x));
    queries.push_back(MeanSquare(q));
    keys.push_back(MeanSquare(k));
    scores.push_back(MeanSquare(s));
  }
  return {.input_mean_square = MeanEstimate(inputs),
          .query_entry_variance = MeanEstimate(queries),
          .key_entry_variance = MeanEstimate(keys),
          .scaled_score_variance = MeanEstimate(scores)};
}

}  // namespace softlookup
