#include "experiments/multi_head/circuits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/mask.h"
#include "attention/reference/multi_head.h"
#include "attention/textbook/dimension_names.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/linear_algebra.h"
#include "base/tensor/matrix_product.h"
#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "interpretability/circuits.h"

namespace softlookup {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

using View = StridedView<const double>;

Tensor<double> Product(const View& a, const View& b) {
  return MatrixProduct<double>(a, b);
}

// Every element's magnitude.
Tensor<double> Magnitudes(const View& matrix) {
  Tensor<double> magnitudes = Copy(matrix);
  for (double& element : magnitudes.elements()) element = std::abs(element);
  return magnitudes;
}

// The largest |a - b| / (1.01 * 2 * roundings * unit * magnitude) over the
// elements of matrices of one shape.
double LargestShareOfBound(const Tensor<double>& a, const Tensor<double>& b,
                           const Tensor<double>& magnitude, int64_t roundings) {
  double largest = 0;
  for (int64_t n = 0; n < a.size(); ++n) {
    const double bound =
        1.01 * 2 * static_cast<double>(roundings) * kUnit * magnitude[n];
    largest = LargerOrNaN(largest, std::abs(a[n] - b[n]) / bound);
  }
  return largest;
}

// Batch entry b of a [B, T, n] tensor.
View Sequence(const Tensor<double>& tensor, int64_t b) {
  return View(tensor.data() + b * tensor.dim(1) * tensor.dim(2),
              {tensor.dim(1), tensor.dim(2)});
}

// The [rows, columns] matrix of batch entry b and head h of [B, H, ...].
View HeadMatrix(const Tensor<double>& tensor, int64_t b, int64_t h) {
  const int64_t size = tensor.dim(2) * tensor.dim(3);
  return View(tensor.data() + (b * tensor.dim(1) + h) * size,
              {tensor.dim(2), tensor.dim(3)});
}

absl::StatusOr<MultiHeadOutputs<double>> Forward(
    const MultiHeadProblem& problem) {
  MultiHeadOptions options;
  options.mask.causal = CausalAlignment::kTopLeft;
  options.attention.weights = true;
  return MultiHeadForward<double>(problem.x.view(), problem.weights, options);
}

struct Spectrum {
  std::vector<double> singular_values;
  int64_t rank;
};

absl::StatusOr<Spectrum> Decompose(const Tensor<double>& matrix) {
  Spectrum spectrum;
  SOFTLOOKUP_ASSIGN_OR_RETURN(spectrum.singular_values,
                              SingularValues(matrix.view()));
  spectrum.rank = NumericalRank(
      spectrum.singular_values,
      RankTolerance(spectrum.singular_values, matrix.dim(0), matrix.dim(1)));
  return spectrum;
}

// A random row of width d that is orthogonal to every column of W, [d, n].
Tensor<double> OrthogonalRow(uint64_t seed, const View& w) {
  const int64_t d = w.dim(0);
  // An orthonormal basis of the columns (Gram and Schmidt, twice for full
  // accuracy).
  std::vector<std::vector<double>> basis;
  const auto remove = [&basis](std::vector<double>& v) {
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<double>& e : basis) {
        double along = 0;
        for (size_t c = 0; c < v.size(); ++c) along += v[c] * e[c];
        for (size_t c = 0; c < v.size(); ++c) v[c] -= along * e[c];
      }
    }
  };
  const auto normalize = [](std::vector<double>& v) {
    double square = 0;
    for (const double x : v) square += x * x;
    for (double& x : v) x /= std::sqrt(square);
  };
  for (int64_t column = 0; column < w.dim(1); ++column) {
    std::vector<double> v(d);
    for (int64_t c = 0; c < d; ++c) v[c] = w(c, column);
    remove(v);
    normalize(v);
    basis.push_back(std::move(v));
  }
  std::vector<double> row(d);
  RandomStream(seed, "unread direction").FillGaussian(absl::MakeSpan(row));
  remove(row);
  normalize(row);
  return Tensor<double>({1, d}, std::move(row));
}

Tensor<double> GenericRow(uint64_t seed, int64_t d) {
  return OrthogonalRow(seed, View(nullptr, Shape{d, 0}));
}

}  // namespace

absl::StatusOr<Json> MeasureIdentities(uint64_t seed,
                                       const MultiHeadSizes& sizes) {
  const MultiHeadProblem problem = DrawMultiHead(seed, sizes);
  const MultiHeadWeights<double>& weights = problem.weights;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const MultiHeadOutputs<double> outputs,
                              Forward(problem));
  const Tensor<double> writes =
      HeadWrites<double>(outputs.heads.view(), weights);
  const int64_t d = sizes.width;
  const int64_t dk = sizes.head_width();
  const Tensor<double> absolute_output = Magnitudes(weights.output.view());
  double sum_share = 0;
  double sum_difference = 0;
  double score_share = 0;
  double write_share = 0;
  std::vector<double> write_norms(sizes.heads, 0);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    const View x = Sequence(problem.x, b);
    const Tensor<double> absolute_x = Magnitudes(x);
    // The output as the sum of writes: products of d terms on either side.
    Tensor<double> sum({sizes.positions, d});
    Tensor<double> magnitude({sizes.positions, d});
    for (int64_t i = 0; i < sizes.heads; ++i) {
      const View write = HeadMatrix(writes, b, i);
      const Tensor<double> head_magnitude =
          Product(Magnitudes(HeadMatrix(outputs.heads, b, i)).view(),
                  Magnitudes(weights.OutputBlock(i)).view());
      for (int64_t n = 0; n < sum.size(); ++n) {
        const double element = write(n / d, n % d);
        sum[n] += element;
        magnitude[n] += head_magnitude[n];
        write_norms[i] += element * element;
      }
    }
    const Tensor<double> output = Copy(Sequence(outputs.output, b));
    sum_share =
        LargerOrNaN(sum_share, LargestShareOfBound(sum, output, magnitude, d));
    sum_difference =
        LargerOrNaN(sum_difference, LargestDifference(sum, output));
    for (int64_t i = 0; i < sizes.heads; ++i) {
      // q . k: d terms twice, then d_k. x QK x^T: d_k terms, then d twice.
      const Tensor<double> q = Product(x, weights.QueryBlock(i));
      const Tensor<double> k = Product(x, weights.KeyBlock(i));
      const Tensor<double> by_vectors =
          Product(q.view(), k.view().Transpose(0, 1));
      const Tensor<double> circuit = QkCircuit(weights, i);
      const Tensor<double> left = Product(x, circuit.view());
      const Tensor<double> by_circuit = Product(left.view(), x.Transpose(0, 1));
      const Tensor<double> absolute_q =
          Product(absolute_x.view(), Magnitudes(weights.QueryBlock(i)).view());
      const Tensor<double> absolute_k =
          Product(absolute_x.view(), Magnitudes(weights.KeyBlock(i)).view());
      score_share = LargerOrNaN(
          score_share,
          LargestShareOfBound(
              by_vectors, by_circuit,
              Product(absolute_q.view(), absolute_k.view().Transpose(0, 1)),
              2 * d + dk));
      // P x OV: T terms, d_k, d. The write: d terms, T, d_k.
      const View p = HeadMatrix(*outputs.weights, b, i);
      const Tensor<double> read = Product(p, x);
      const Tensor<double> ov = OvCircuit(weights, i);
      const Tensor<double> absolute_v =
          Product(Product(p, absolute_x.view()).view(),
                  Magnitudes(weights.ValueBlock(i)).view());
      write_share = LargerOrNaN(
          write_share,
          LargestShareOfBound(
              Product(read.view(), ov.view()), Copy(HeadMatrix(writes, b, i)),
              Product(absolute_v.view(),
                      Magnitudes(weights.OutputBlock(i)).view()),
              sizes.positions + d + dk));
    }
  }
  Json identities;
  identities["sum_of_writes"] = {
      {"largest_difference", sum_difference},
      {"largest_output", LargestMagnitude(outputs.output)},
      {"difference_over_bound", sum_share}};
  Json norms = Json::array();
  for (const double square : write_norms) norms.push_back(std::sqrt(square));
  identities["sum_of_writes"]["norm_by_head"] = std::move(norms);
  identities["score_through_qk_circuit"]["difference_over_bound"] = score_share;
  identities["write_through_ov_circuit"]["difference_over_bound"] = write_share;
  return identities;
}

absl::StatusOr<Json> MeasureSubspaces(uint64_t seed,
                                      const MultiHeadSizes& sizes) {
  // More rows than a head has dimensions, so that its writes could span more.
  MultiHeadSizes longer = sizes;
  longer.batch = 1;
  longer.positions = std::min(sizes.width, 3 * sizes.head_width());
  const MultiHeadProblem problem = DrawMultiHead(seed, longer);
  const MultiHeadWeights<double>& weights = problem.weights;
  MultiHeadWeights<double> full_width = weights;
  full_width.heads = full_width.key_heads = 1;

  Json subspaces;
  subspaces["width"] = sizes.width;
  subspaces["heads"] = sizes.heads;
  subspaces["head_width"] = sizes.head_width();
  for (const bool is_qk : {true, false}) {
    const auto circuit = [is_qk](const MultiHeadWeights<double>& w, int64_t i) {
      return is_qk ? QkCircuit(w, i) : OvCircuit(w, i);
    };
    Json measured;
    Json ranks = Json::array();
    int64_t largest_rank = 0;
    for (int64_t i = 0; i < sizes.heads; ++i) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(Spectrum spectrum,
                                  Decompose(circuit(weights, i)));
      ranks.push_back(spectrum.rank);
      largest_rank = std::max(largest_rank, spectrum.rank);
      if (i == 0) {
        measured["singular_values_of_first_head"] =
            std::move(spectrum.singular_values);
      }
    }
    SOFTLOOKUP_ASSIGN_OR_RETURN(Spectrum full,
                                Decompose(circuit(full_width, 0)));
    measured["circuit"] =
        DimensionNames({{"d", sizes.width}, {"dk", sizes.head_width()}})
            .ToJson(circuit(weights, 0).shape());
    measured["rank_by_head"] = std::move(ranks);
    measured["largest_rank"] = largest_rank;
    measured["rank_of_full_width_head"] = full.rank;
    measured["singular_values_of_full_width_head"] =
        std::move(full.singular_values);
    subspaces[is_qk ? "qk" : "ov"] = std::move(measured);
  }

  // The dimensions that the writes of many positions span.
  SOFTLOOKUP_ASSIGN_OR_RETURN(const MultiHeadOutputs<double> outputs,
                              Forward(problem));
  const Tensor<double> writes =
      HeadWrites<double>(outputs.heads.view(), weights);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Spectrum one_head,
                              Decompose(Copy(HeadMatrix(writes, 0, 0))));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Spectrum all_heads,
                              Decompose(Copy(Sequence(outputs.output, 0))));
  subspaces["writes"] = {{"positions", longer.positions},
                         {"dimensions_of_first_head", one_head.rank},
                         {"dimensions_of_all_heads", all_heads.rank}};

  // A unit change of the inputs outside the space that the first head's
  // projection reads, and one in a generic direction.
  const std::vector<std::pair<const char*, View>> reads = {
      {"query", weights.QueryBlock(0)},
      {"key", weights.KeyBlock(0)},
      {"value", weights.ValueBlock(0)}};
  const Tensor<double> generic = GenericRow(seed, sizes.width);
  for (const auto& [role, block] : reads) {
    const Tensor<double> outside = OrthogonalRow(seed, block);
    subspaces["reads"][role] = {
        {"change_from_outside",
         LargestMagnitude(Product(outside.view(), block))},
        {"change_from_generic_direction",
         LargestMagnitude(Product(generic.view(), block))}};
  }
  return subspaces;
}

}  // namespace softlookup
