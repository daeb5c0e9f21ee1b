#include "experiments/saturation_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "base/random.h"
#include "base/tensor.h"
#include "experiments/estimate.h"

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

Json SpreadAtWidth(int64_t width, const ScoreSpreadOptions& options,
                   const std::string& kind, const Fill& fill) {
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
    scores.push_back(Dot(query, key));
    scaled.push_back(scores.back() * scale);
  }
  return {
      {"width", width},
      {"mean", EstimateJson(MeanEstimate(scores))},
      {"variance", EstimateJson(VarianceEstimate(scores))},
      {"standard_deviation", EstimateJson(StandardDeviationEstimate(scores))},
      {"scaled_variance", EstimateJson(VarianceEstimate(scaled))}};
}

// How many standard errors an estimate lies from the truth.
double Distance(const Json& estimate, double truth) {
  return std::abs(estimate["value"].get<double>() - truth) /
         estimate["standard_error"].get<double>();
}

Json Furthest(const Json& spread) {
  double mean = 0;
  double variance = 0;
  double scaled_variance = 0;
  double unscaled_variance = 0;
  for (const auto& [kind, widths] : spread.items()) {
    for (const auto& [name, at] : widths.items()) {
      const double width = at["width"].get<double>();
      mean = std::max(mean, Distance(at["mean"], 0));
      variance = std::max(variance, Distance(at["variance"], width));
      scaled_variance =
          std::max(scaled_variance, Distance(at["scaled_variance"], 1));
      unscaled_variance =
          std::max(unscaled_variance, Distance(at["variance"], 1));
    }
  }
  return {{"mean", mean},
          {"variance", variance},
          {"scaled_variance", scaled_variance},
          {"unscaled_variance", unscaled_variance}};
}

Json SingleTerm(const ScoreSpreadOptions& options) {
  RandomStream stream(options.seed, "score spread, single terms");
  std::vector<double> terms(options.draws);
  std::vector<double> keys(options.draws);
  stream.FillGaussian(absl::MakeSpan(terms));
  stream.FillGaussian(absl::MakeSpan(keys));
  std::vector<double> squares;
  for (int64_t draw = 0; draw < options.draws; ++draw) {
    terms[draw] *= keys[draw];
    squares.push_back(terms[draw] * terms[draw]);
  }
  return {{"mean", EstimateJson(MeanEstimate(terms))},
          {"second_moment", EstimateJson(MeanEstimate(squares))}};
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

// X W, [T, d_k] from [T, d] and [d, d_k].
Tensor<double> Project(const Tensor<double>& x, const Tensor<double>& w) {
  Tensor<double> projected({x.dim(0), w.dim(1)});
  for (int64_t t = 0; t < x.dim(0); ++t) {
    for (int64_t i = 0; i < x.dim(1); ++i) {
      for (int64_t k = 0; k < w.dim(1); ++k) {
        projected(t, k) += x(t, i) * w(i, k);
      }
    }
  }
  return projected;
}

// Squares of Gaussians plus 1: mean 2, variance 2, far from symmetric.
Tensor<double> SkewedInputs(const ProjectionOptions& options,
                            RandomStream& stream) {
  Tensor<double> inputs({options.tokens, options.model_width});
  stream.FillGaussian(absl::MakeSpan(inputs.elements()));
  for (double& entry : inputs.elements()) entry = entry * entry + 1;
  return inputs;
}

Tensor<double> Weights(const ProjectionOptions& options, RandomStream& stream) {
  Tensor<double> weights({options.model_width, options.head_width});
  stream.FillGaussian(absl::MakeSpan(weights.elements()));
  const double deviation =
      options.weight_gain / std::sqrt(static_cast<double>(options.model_width));
  for (double& weight : weights.elements()) weight *= deviation;
  return weights;
}

}  // namespace

Json MeasureScoreSpread(const ScoreSpreadOptions& options) {
  Json spread;
  for (const auto& [kind, fill] : EntryKinds()) {
    for (int64_t width = 2; width <= options.largest_width; width *= 2) {
      spread[kind][absl::StrCat(width)] =
          SpreadAtWidth(width, options, kind, fill);
    }
  }
  spread["furthest"] = Furthest(Json(spread));
  spread["term"] = SingleTerm(options);
  return spread;
}

Json MeasureProjections(const ProjectionOptions& options) {
  RandomStream inputs_stream(options.seed, "projection inputs");
  RandomStream weights_stream(options.seed, "projection weights");
  std::vector<double> inputs;
  std::vector<double> queries;
  std::vector<double> keys;
  std::vector<double> scores;
  for (int64_t r = 0; r < options.replicates; ++r) {
    Tensor<double> x = SkewedInputs(options, inputs_stream);
    if (options.normalise) NormaliseRows(x);
    const Tensor<double> q = Project(x, Weights(options, weights_stream));
    const Tensor<double> k = Project(x, Weights(options, weights_stream));
    const double scale = AttentionScale({}, options.head_width);
    Tensor<double> s({options.tokens, options.tokens});
    for (int64_t i = 0; i < options.tokens; ++i) {
      for (int64_t j = 0; j < options.tokens; ++j) {
        const auto width = static_cast<size_t>(options.head_width);
        s(i, j) = Dot({&q(i, 0), width}, {&k(j, 0), width}) * scale;
      }
    }
    inputs.push_back(MeanSquare(x));
    queries.push_back(MeanSquare(q));
    keys.push_back(MeanSquare(k));
    scores.push_back(MeanSquare(s));
  }
  return {{"input_mean_square", EstimateJson(MeanEstimate(inputs))},
          {"query_entry_variance", EstimateJson(MeanEstimate(queries))},
          {"key_entry_variance", EstimateJson(MeanEstimate(keys))},
          {"scaled_score_variance", EstimateJson(MeanEstimate(scores))}};
}

}  // namespace softlookup
