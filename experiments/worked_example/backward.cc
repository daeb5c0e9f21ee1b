#include "experiments/worked_example/backward.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/softmax.h"
#include "attention/testing/gradient_check.h"
#include "attention/textbook/single_head.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/matrix.h"
#include "base/tensor/shape.h"
#include "experiments/worked_example/pytorch_values.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;

// The step of the central differences: a power of two near u^(1/3), so that
// x + h and x - h are exact.
constexpr double kDifferenceStep = 0x1p-17;

// How far a score or a query component is moved to see what L does.
constexpr double kNudge = 0.1;

const HeadOptions& Options() {
  static const auto& options = *new HeadOptions(CaseOptions(true, true));
  return options;
}

double Scale() { return AttentionScale({}, kExampleWidth); }

template <typename T>
Tensor<T> Cast(const Tensor<double>& tensor) {
  Tensor<T> cast(tensor.shape());
  for (int64_t n = 0; n < tensor.size(); ++n) cast[n] = tensor[n];
  return cast;
}

template <typename T>
Tensor<T> FromSpan(const Shape& shape, absl::Span<const T> elements) {
  return Tensor<T>(shape, std::vector<T>(elements.begin(), elements.end()));
}

// L as a function of one of the quantities that lead to it, the others fixed.
enum class Quantity { kWeights, kScores, kQuery, kKey, kValue };

struct NamedQuantity {
  Quantity quantity;
  std::string name;
};
const std::vector<NamedQuantity>& Quantities() {
  static const auto& quantities =
      *new std::vector<NamedQuantity>{{Quantity::kWeights, "weights"},
                                      {Quantity::kScores, "scores"},
                                      {Quantity::kQuery, "query"},
                                      {Quantity::kKey, "key"},
                                      {Quantity::kValue, "value"}};
  return quantities;
}

template <typename T>
T Loss(const WorkedExample& example, const ExampleLoss& loss, Quantity quantity,
       absl::Span<const T> x) {
  const int64_t row = loss.token - 1;
  const int64_t component = loss.component - 1;
  if (quantity == Quantity::kQuery || quantity == Quantity::kKey ||
      quantity == Quantity::kValue) {
    const Shape shape = {kExampleTokens, kExampleWidth};
    const auto input = [&](Quantity which, const Tensor<double>& given) {
      return quantity == which ? FromSpan<T>(shape, x) : Cast<T>(given);
    };
    return HeadForward(input(Quantity::kQuery, example.query),
                       input(Quantity::kKey, example.key),
                       input(Quantity::kValue, example.value), Options())
        .value()
        .output(row, component);
  }
  // O = P V over the whole row; S enters it through the keys that the mask
  // leaves.
  const absl::Span<const T> given = x.subspan(row * kExampleTokens);
  std::vector<T> weights(given.begin(), given.begin() + kExampleTokens);
  if (quantity == Quantity::kScores) {
    weights = Softmax<T>(given.subspan(0, row + 1));
  }
  T sum = T(0);
  for (size_t j = 0; j < weights.size(); ++j) {
    sum += weights[j] * example.value(j, component);
  }
  return sum;
}

// Where a quantity stands: what its derivative is taken at.
const Tensor<double>& ValueOf(Quantity quantity, const WorkedExample& example,
                              const BoardCase& board) {
  switch (quantity) {
    case Quantity::kWeights:
      return board.head.weights;
    case Quantity::kScores:
      return board.scores;
    case Quantity::kQuery:
      return example.query;
    case Quantity::kKey:
      return example.key;
    case Quantity::kValue:
      break;
  }
  return example.value;
}

const Tensor<double>& GradientOf(Quantity quantity, const HandBackward& hand) {
  switch (quantity) {
    case Quantity::kWeights:
      return hand.weights;
    case Quantity::kScores:
      return hand.scores;
    case Quantity::kQuery:
      return hand.query;
    case Quantity::kKey:
      return hand.key;
    case Quantity::kValue:
      break;
  }
  return hand.value;
}

// The largest difference of the hand gradients from each confirmation.
Json Confirm(const WorkedExample& example, const ExampleLoss& loss,
             const BoardCase& board, const HandBackward& hand) {
  Json complex_step;
  Json difference;
  for (const auto& [quantity, name] : Quantities()) {
    const Tensor<double>& x = ValueOf(quantity, example, board);
    const Tensor<double>& gradient = GradientOf(quantity, hand);
    const Tensor<double> by_complex_step(
        x.shape(), ComplexStepGradient(
                       [&, quantity = quantity](absl::Span<const Complex> at) {
                         return Loss<Complex>(example, loss, quantity, at);
                       },
                       x.elements()));
    const Tensor<double> by_difference(
        x.shape(), CentralDifferenceGradient(
                       [&, quantity = quantity](absl::Span<const double> at) {
                         return Loss<double>(example, loss, quantity, at);
                       },
                       x.elements(), kDifferenceStep));
    complex_step[name] = LargestDifference(gradient, by_complex_step);
    difference[name] = LargestDifference(gradient, by_difference);
  }
  return {{"complex_step", std::move(complex_step)},
          {"central_difference", std::move(difference)},
          {"central_difference_step", kDifferenceStep}};
}

absl::StatusOr<double> DifferenceFrom(const Tensor<double>& ours,
                                      const Json& lists) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> theirs,
                              MatrixFromLists(lists));
  if (theirs.shape() != ours.shape()) {
    return absl::InvalidArgumentError(
        "a value from PyTorch has another shape than ours");
  }
  return LargestDifference(ours, theirs);
}

// The largest difference from PyTorch: all four forward cases, autograd
// through the written-out example, and its fused function. Null when the
// example or the loss is not the one that PyTorch was asked about.
absl::StatusOr<Json> CompareWithPyTorch(const WorkedExample& example,
                                        const ExampleLoss& loss,
                                        const HandBackward& hand) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Json reference, WorkedExampleReference());
  const Json& values = reference["values"];
  for (const auto& [name, input] :
       {std::pair("query", &example.query), std::pair("key", &example.key),
        std::pair("value", &example.value)}) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const double difference,
                                DifferenceFrom(*input, values[name]));
    if (difference != 0) return nullptr;
  }
  if (loss.token != 3 || loss.component != 2) return nullptr;

  Json compared;
  compared["version"] = reference["provenance"]["torch"];
  for (const bool causal : {true, false}) {
    for (const bool scaled : {true, false}) {
      const std::string name = CaseName(causal, scaled);
      SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase board,
                                  ComputeBoardCase(example, causal, scaled));
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const double weights,
          DifferenceFrom(board.head.weights, values[name]["weights"]));
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const double outputs,
          DifferenceFrom(board.head.output, values[name]["output"]));
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const double fused,
          DifferenceFrom(board.head.output, values[name]["fused_output"]));
      compared["forward"][name] = std::max({weights, outputs, fused});
    }
  }
  for (const auto& [quantity, name] : Quantities()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        double difference,
        DifferenceFrom(GradientOf(quantity, hand), values["gradients"][name]));
    if (values["fused_gradients"].contains(name)) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const double fused, DifferenceFrom(GradientOf(quantity, hand),
                                             values["fused_gradients"][name]));
      difference = std::max(difference, fused);
    }
    compared["gradients"][name] = difference;
  }
  return compared;
}

// What L and the row's weights do when one score, or one component of the
// query, is raised by kNudge.
absl::StatusOr<Json> MeasureNudges(const WorkedExample& example,
                                   const ExampleLoss& loss,
                                   const BoardCase& board) {
  const int64_t row = loss.token - 1;
  const auto row_of = [row](const Tensor<double>& matrix, int64_t visible) {
    std::vector<double> elements(visible);
    for (int64_t j = 0; j < visible; ++j) elements[j] = matrix(row, j);
    return elements;
  };
  const std::vector<double> scores = row_of(board.scores, loss.token);
  const std::vector<double> before = row_of(board.head.weights, loss.token);
  const double loss_before = board.head.output(row, loss.component - 1);
  const auto changes = [&](const std::vector<double>& moved) {
    const std::vector<double> after = Softmax<double>(moved);
    double loss_after = 0;
    Json score_changes;
    Json weight_changes;
    for (size_t j = 0; j < after.size(); ++j) {
      loss_after += after[j] * example.value(j, loss.component - 1);
      score_changes.push_back(moved[j] - scores[j]);
      weight_changes.push_back(after[j] - before[j]);
    }
    return Json{{"score_changes", score_changes},
                {"weight_changes", weight_changes},
                {"loss_change", loss_after - loss_before}};
  };
  Json nudges;
  nudges["size"] = kNudge;
  for (size_t j = 0; j < scores.size(); ++j) {
    std::vector<double> moved = scores;
    moved[j] += kNudge;
    nudges["scores"].push_back(changes(moved));
  }
  for (int64_t c = 0; c < kExampleWidth; ++c) {
    WorkedExample moved = example;
    moved.query(row, c) += kNudge;
    SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase after,
                                ComputeBoardCase(moved, true, true));
    nudges["query_components"].push_back(
        changes(row_of(after.scores, loss.token)));
  }
  return nudges;
}

// L = the sum of the component over all rows: every row has a gradient, so
// that the zeros at masked entries are the mask's doing and not the loss's.
absl::StatusOr<Json> MeasureMaskedEntries(const WorkedExample& example,
                                          const ExampleLoss& loss) {
  Tensor<double> output_gradient({kExampleTokens, kExampleWidth});
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    output_gradient(i, loss.component - 1) = 1;
  }
  Json masked;
  for (const bool causal : {true, false}) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const HeadGradients gradients,
        HeadBackward(example.query, example.key, example.value,
                     CaseOptions(causal, true), output_gradient));
    double above_diagonal = 0;
    double smallest = HUGE_VAL;
    for (int64_t i = 0; i < kExampleTokens; ++i) {
      for (int64_t j = i + 1; j < kExampleTokens; ++j) {
        const double size = std::abs(gradients.scores(i, j));
        above_diagonal = std::max(above_diagonal, size);
        smallest = std::min(smallest, size);
      }
    }
    masked[causal ? "causal" : "unmasked"] = {
        {"score_gradients", NestedLists(gradients.scores)},
        {"largest_above_diagonal", above_diagonal},
        {"smallest_above_diagonal", smallest}};
  }
  return masked;
}

// What a query component's gradient is made of: dS_j k_jc over the keys.
Json QueryPulls(const WorkedExample& example, const ExampleLoss& loss,
                const Tensor<double>& score_gradients) {
  Json pulls;
  for (int64_t c = 0; c < kExampleWidth; ++c) {
    Json of_component = Json::array();
    for (int64_t j = 0; j < kExampleTokens; ++j) {
      of_component.push_back(score_gradients(loss.token - 1, j) *
                             example.key(j, c));
    }
    pulls.push_back(std::move(of_component));
  }
  return pulls;
}

// The loss's own row, as the row rule speaks of it.
Json MeasureRow(const ExampleLoss& loss, const HandBackward& hand,
                const HeadGradients& gradients) {
  const Tensor<double>& score_gradients = gradients.scores;
  const int64_t row = loss.token - 1;
  double largest = 0;
  double elsewhere = 0;
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    for (int64_t j = 0; j < kExampleTokens; ++j) {
      double& size = i == row ? largest : elsewhere;
      size = std::max(size, std::abs(score_gradients(i, j)));
    }
  }
  Json measured;
  for (int64_t j = 0; j < kExampleTokens; ++j) {
    const double above_mean = hand.weights(row, j) - hand.mean[row];
    measured["above_mean"].push_back(above_mean);
    measured["distance_from_mean"].push_back(std::abs(above_mean));
    measured["share_of_largest"].push_back(std::abs(score_gradients(row, j)) /
                                           largest);
  }
  for (int64_t c = 0; c < kExampleWidth; ++c) {
    measured["query_gradient_sizes"].push_back(
        std::abs(gradients.query(row, c)));
  }
  measured["largest_score_gradient"] = largest;
  measured["largest_score_gradient_in_other_rows"] = elsewhere;
  return measured;
}

}  // namespace

HandBackward ComputeHandBackward(const WorkedExample& example,
                                 const Tensor<double>& weights, double scale,
                                 const Tensor<double>& output_gradient) {
  SOFTLOOKUP_CHECK(weights.shape() == (Shape{kExampleTokens, kExampleTokens}) &&
                       output_gradient.shape() == example.value.shape(),
                   "the worked example's shapes");
  HandBackward hand;
  // O = P V
  hand.weights = MatrixProduct(output_gradient, Transposed(example.value));
  hand.value = MatrixProduct(Transposed(weights), output_gradient);
  // P = softmax(S)
  hand.scores = Tensor<double>(weights.shape());
  for (int64_t i = 0; i < kExampleTokens; ++i) {
    double mean = 0;
    for (int64_t k = 0; k < kExampleTokens; ++k) {
      mean += weights(i, k) * hand.weights(i, k);
    }
    hand.mean.push_back(mean);
    for (int64_t j = 0; j < kExampleTokens; ++j) {
      hand.scores(i, j) = weights(i, j) * (hand.weights(i, j) - mean);
    }
  }
  // S = Q K^T scale
  hand.query = MatrixProduct(hand.scores, example.key);
  hand.key = MatrixProduct(Transposed(hand.scores), example.query);
  for (double& x : hand.query.elements()) x *= scale;
  for (double& x : hand.key.elements()) x *= scale;
  return hand;
}

absl::StatusOr<Json> MeasureBackward(const WorkedExample& example,
                                     const ExampleLoss& loss) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const BoardCase board,
                              ComputeBoardCase(example, true, true));
  Tensor<double> output_gradient({kExampleTokens, kExampleWidth});
  output_gradient(loss.token - 1, loss.component - 1) = 1;
  const HandBackward hand = ComputeHandBackward(example, board.head.weights,
                                                Scale(), output_gradient);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const HeadGradients reference,
      HeadBackward(example.query, example.key, example.value, Options(),
                   output_gradient));
  Json backward;
  backward["loss"] = {
      {"token", loss.token},
      {"component", loss.component},
      {"value", board.head.output(loss.token - 1, loss.component - 1)}};
  backward["output_gradients"] = NestedLists(output_gradient);
  backward["weight_gradients"] = NestedLists(hand.weights);
  backward["mean_weight_gradients"] = hand.mean;
  backward["score_gradients"] = NestedLists(reference.scores);
  backward["query_gradients"] = NestedLists(reference.query);
  backward["key_gradients"] = NestedLists(reference.key);
  backward["value_gradients"] = NestedLists(reference.value);
  backward["query_pulls"] = QueryPulls(example, loss, reference.scores);
  backward["row"] = MeasureRow(loss, hand, reference);
  SOFTLOOKUP_ASSIGN_OR_RETURN(backward["nudges"],
                              MeasureNudges(example, loss, board));
  SOFTLOOKUP_ASSIGN_OR_RETURN(backward["masked_entries"],
                              MeasureMaskedEntries(example, loss));
  Json deviations = Confirm(example, loss, board, hand);
  deviations["reference"] = {
      {"scores", LargestDifference(hand.scores, reference.scores)},
      {"query", LargestDifference(hand.query, reference.query)},
      {"key", LargestDifference(hand.key, reference.key)},
      {"value", LargestDifference(hand.value, reference.value)}};
  SOFTLOOKUP_ASSIGN_OR_RETURN(deviations["pytorch"],
                              CompareWithPyTorch(example, loss, hand));
  backward["deviations"] = std::move(deviations);
  return backward;
}

}  // namespace softlookup
