#include "experiments/multi_head/stream.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/mask.h"
#include "attention/reference/multi_head.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"
#include "base/tensor/matrix_product.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "interpretability/hand_built_model.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

// [rows, columns] that keeps the variance of what it multiplies.
Tensor<double> DrawMatrix(uint64_t seed, const std::string& name, int64_t rows,
                          int64_t columns) {
  RandomStream stream(seed, name);
  return GaussianMatrix(stream, rows, columns,
                        1 / std::sqrt(static_cast<double>(rows)));
}

// tanh(x W_1) W_2 at every position: [T, d], [d, 4 d], [4 d, d].
struct FeedForward {
  Tensor<double> first, second;

  FeedForward(uint64_t seed, const std::string& name, int64_t width)
      : first(DrawMatrix(seed, absl::StrCat(name, " first"), width, 4 * width)),
        second(DrawMatrix(seed, absl::StrCat(name, " second"), 4 * width,
                          width)) {}

  template <typename T>
  Tensor<T> operator()(const Tensor<T>& x) const {
    Tensor<T> hidden = MatrixProduct<T>(x.view(), As<T>(first).view());
    for (T& element : hidden.elements()) element = Tanh(element);
    return MatrixProduct<T>(std::as_const(hidden).view(), As<T>(second).view());
  }

  template <typename T>
  static const Tensor<T> As(const Tensor<double>& matrix) {
    return Tensor<T>(matrix.shape(), std::vector<T>(matrix.elements().begin(),
                                                    matrix.elements().end()));
  }
};

// Causal attention over one sequence, [T, d] -> [T, d].
template <typename T>
absl::StatusOr<Tensor<T>> Attend(const Tensor<T>& x,
                                 const MultiHeadWeights<double>& weights) {
  MultiHeadWeights<T> typed;
  typed.heads = weights.heads;
  typed.key_heads = weights.key_heads;
  typed.query = FeedForward::As<T>(weights.query);
  typed.key = FeedForward::As<T>(weights.key);
  typed.value = FeedForward::As<T>(weights.value);
  typed.output = FeedForward::As<T>(weights.output);
  MultiHeadOptions options;
  options.mask.causal = CausalAlignment::kTopLeft;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      MultiHeadOutputs<T> outputs,
      MultiHeadForward<T>(
          StridedView<const T>(x.data(), {1, x.dim(0), x.dim(1)}), typed,
          options));
  return Tensor<T>(x.shape(), std::move(outputs.output.elements()));
}

// One sequence of the drawn problem, [T, d].
Tensor<double> Inputs(const MultiHeadProblem& problem) {
  return Tensor<double>({problem.x.dim(1), problem.x.dim(2)},
                        problem.x.elements());
}

// The largest |d y_i / d x_j| over output components, [i][j], along `direction`
// at x_j. `layer` maps Tensor<Complex> to StatusOr<Tensor<Complex>>.
template <typename Layer>
absl::StatusOr<Json> InfluenceMatrix(const Tensor<double>& x,
                                     absl::Span<const double> direction,
                                     const Layer& layer) {
  constexpr double kStep = 1e-50;
  const int64_t positions = x.dim(0);
  const int64_t width = x.dim(1);
  std::vector<std::vector<double>> influence(positions,
                                             std::vector<double>(positions, 0));
  for (int64_t j = 0; j < positions; ++j) {
    Tensor<Complex> stepped = FeedForward::As<Complex>(x);
    for (int64_t c = 0; c < width; ++c) {
      stepped(j, c) += Complex(0, kStep * direction[c]);
    }
    SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<Complex> y, layer(stepped));
    for (int64_t i = 0; i < positions; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        influence[i][j] =
            LargerOrNaN(influence[i][j], std::abs(y(i, c).imag()) / kStep);
      }
    }
  }
  Json measured;
  double across = 0;
  double from_the_future = 0;
  double at_own_position = 0;
  for (int64_t i = 0; i < positions; ++i) {
    at_own_position = LargerOrNaN(at_own_position, influence[i][i]);
    for (int64_t j = 0; j < positions; ++j) {
      if (i != j) across = LargerOrNaN(across, influence[i][j]);
      if (j > i)
        from_the_future = LargerOrNaN(from_the_future, influence[i][j]);
    }
  }
  measured["largest_at_own_position"] = at_own_position;
  measured["largest_across_positions"] = across;
  measured["largest_from_later_positions"] = from_the_future;
  measured["by_output_and_input_position"] = influence;
  return measured;
}

// Every row minus its mean, over its standard deviation.
Tensor<double> Normalized(const Tensor<double>& x) {
  Tensor<double> y = x;
  const double width = static_cast<double>(x.dim(1));
  for (int64_t t = 0; t < x.dim(0); ++t) {
    double mean = 0;
    for (int64_t c = 0; c < x.dim(1); ++c) mean += x(t, c);
    mean /= width;
    double variance = 0;
    for (int64_t c = 0; c < x.dim(1); ++c) {
      variance += (x(t, c) - mean) * (x(t, c) - mean);
    }
    const double deviation = std::sqrt(variance / width + 1e-5);
    for (int64_t c = 0; c < x.dim(1); ++c) {
      y(t, c) = (x(t, c) - mean) / deviation;
    }
  }
  return y;
}

struct Block {
  MultiHeadWeights<double> attention;
  FeedForward feed_forward;
};

// The residual stream before each sublayer and after the last, and the
// sublayers' writes.
struct ResidualRun {
  std::vector<Tensor<double>> streams, writes;
};

absl::StatusOr<ResidualRun> RunBlocks(const std::vector<Block>& blocks,
                                      size_t first, const Tensor<double>& x) {
  ResidualRun run;
  run.streams.push_back(x);
  const auto add = [&run](Tensor<double> write) {
    Tensor<double> after = run.streams.back();
    for (int64_t n = 0; n < after.size(); ++n) after[n] += write[n];
    run.streams.push_back(std::move(after));
    run.writes.push_back(std::move(write));
  };
  for (size_t n = first; n < blocks.size(); ++n) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        Tensor<double> write,
        Attend<double>(Normalized(run.streams.back()), blocks[n].attention));
    add(std::move(write));
    add(blocks[n].feed_forward(Normalized(run.streams.back())));
  }
  return run;
}

}  // namespace

absl::StatusOr<Json> MeasureInfluence(uint64_t seed,
                                      const MultiHeadSizes& sizes) {
  const MultiHeadProblem problem = DrawMultiHead(seed, sizes);
  const Tensor<double> x = Inputs(problem);
  std::vector<double> direction(sizes.width);
  RandomStream(seed, "influence direction")
      .FillGaussian(absl::MakeSpan(direction));
  const FeedForward feed_forward(seed, "feed-forward", sizes.width);
  Json influence;
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      influence["feed_forward"],
      InfluenceMatrix(x, direction,
                      [&](const Tensor<Complex>& stepped)
                          -> absl::StatusOr<Tensor<Complex>> {
                        return feed_forward(stepped);
                      }));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      influence["attention"],
      InfluenceMatrix(x, direction, [&](const Tensor<Complex>& stepped) {
        return Attend<Complex>(stepped, problem.weights);
      }));
  return influence;
}

absl::StatusOr<Json> MeasureResidualStream(uint64_t seed,
                                           const MultiHeadSizes& sizes,
                                           int64_t layers) {
  std::vector<Block> blocks;
  for (int64_t n = 0; n < layers; ++n) {
    const std::string layer = absl::StrCat("block ", n, " ");
    blocks.push_back({DrawMultiHead(seed, sizes, layer).weights,
                      FeedForward(seed, layer + "feed-forward", sizes.width)});
  }
  const Tensor<double> embedded = Inputs(DrawMultiHead(seed, sizes));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const ResidualRun run,
                              RunBlocks(blocks, 0, embedded));
  // x_0 + sum of writes, the sum taken first and from the last write back, so
  // that the additions are not the run's own.
  Tensor<double> sum(embedded.shape());
  Tensor<double> magnitude(embedded.shape());
  for (size_t n = run.writes.size(); n-- > 0;) {
    for (int64_t e = 0; e < sum.size(); ++e) {
      sum[e] += run.writes[n][e];
      magnitude[e] += std::abs(run.writes[n][e]);
    }
  }
  // Each side has as many additions as there are writes.
  double share = 0;
  const double additions = static_cast<double>(run.writes.size());
  const Tensor<double>& final_stream = run.streams.back();
  for (int64_t e = 0; e < sum.size(); ++e) {
    const double bound =
        1.01 * 2 * additions * kUnit * (magnitude[e] + std::abs(embedded[e]));
    share = LargerOrNaN(
        share, std::abs(embedded[e] + sum[e] - final_stream[e]) / bound);
  }
  Json norms = Json::array();
  for (const Tensor<double>& write : run.writes) {
    double square = 0;
    for (const double element : write.elements()) square += element * element;
    norms.push_back(std::sqrt(square));
  }
  // The later blocks again from the stream alone; and from a stream in which
  // one earlier write is missing.
  const size_t middle = blocks.size() / 2;
  const Tensor<double>& handed_on = run.streams[2 * middle];
  SOFTLOOKUP_ASSIGN_OR_RETURN(const ResidualRun rest,
                              RunBlocks(blocks, middle, handed_on));
  Tensor<double> lacking = handed_on;
  for (int64_t e = 0; e < lacking.size(); ++e) lacking[e] -= run.writes[0][e];
  SOFTLOOKUP_ASSIGN_OR_RETURN(const ResidualRun without,
                              RunBlocks(blocks, middle, lacking));
  Json residual;
  residual["sublayers"] = run.writes.size();
  residual["width"] = sizes.width;
  residual["sum_difference_over_bound"] = share;
  residual["write_norms"] = std::move(norms);
  residual["change_when_rerun_from_the_stream"] =
      LargestDifference(rest.streams.back(), final_stream);
  residual["change_when_a_write_is_missing"] =
      LargestDifference(without.streams.back(), final_stream);
  return residual;
}

absl::StatusOr<Json> MeasureReach(uint64_t seed, double match_score) {
  constexpr StreamLayout kStream = {.vocabulary = 8, .positions = 12};
  // Writes beyond this have changed; the weight on positions that a head does
  // not look at is far below it.
  constexpr double kChanged = 1e-3;
  RandomStream stream(seed, "reach");
  std::vector<int64_t> tokens(kStream.positions);
  for (int64_t& token : tokens) token = stream.UniformInt(kStream.vocabulary);
  const auto reach = [&](double score) -> absl::StatusOr<Json> {
    HandBuiltModel model(kStream, /*layers=*/1, /*heads=*/1);
    model.SetHead(0, 0, PreviousTokenHead(kStream, score));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun before, model.Run(tokens));
    int64_t reader_changed = 0;
    int64_t others_changed = 0;
    for (int64_t j = 0; j + 1 < kStream.positions; ++j) {
      std::vector<int64_t> changed = tokens;
      changed[j] = (changed[j] + 1) % kStream.vocabulary;
      SOFTLOOKUP_ASSIGN_OR_RETURN(const HandBuiltRun after, model.Run(changed));
      for (int64_t i = 0; i < kStream.positions; ++i) {
        const double change =
            LargestDifference(Copy(before.writes[0].view().Slice(1, i, i + 1)),
                              Copy(after.writes[0].view().Slice(1, i, i + 1)));
        // Position 0 looks at itself.
        const bool reads_j = i == j + 1 || (i == 0 && j == 0);
        (reads_j ? reader_changed : others_changed) += change > kChanged;
      }
    }
    return Json{{"writes_changed_where_the_token_is_read", reader_changed},
                {"writes_changed_elsewhere", others_changed}};
  };
  Json result;
  SOFTLOOKUP_ASSIGN_OR_RETURN(result["looks_one_back"], reach(match_score));
  SOFTLOOKUP_ASSIGN_OR_RETURN(result["looks_everywhere"], reach(0));
  result["tokens_changed"] = kStream.positions - 1;
  return result;
}

}  // namespace softlookup
