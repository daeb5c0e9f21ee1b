#include "experiments/permutation/measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attention/mask.h"
#include "attention/textbook/single_head.h"
#include "base/elementary.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

constexpr int64_t kWidth = 8;       // of the embeddings
constexpr int64_t kKeyWidth = 4;    // of queries and keys
constexpr int64_t kValueWidth = 2;  // of values, and so of outputs

using Order = std::vector<int64_t>;

enum class Variant { kNoPositions, kCausal, kPositions };

struct NamedVariant {
  Variant variant;
  std::string name;
};
const std::vector<NamedVariant>& Variants() {
  static const auto& variants =
      *new std::vector<NamedVariant>{{Variant::kNoPositions, "no_positions"},
                                     {Variant::kCausal, "causal"},
                                     {Variant::kPositions, "positions"}};
  return variants;
}

struct Layer {
  Tensor<double> query_matrix;
  Tensor<double> key_matrix;
  Tensor<double> value_matrix;
};

Layer DrawLayer(RandomStream& stream) {
  const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
  Layer layer;
  layer.query_matrix = GaussianMatrix(stream, kWidth, kKeyWidth, scale);
  layer.key_matrix = GaussianMatrix(stream, kWidth, kKeyWidth, scale);
  layer.value_matrix = GaussianMatrix(stream, kWidth, kValueWidth, scale);
  return layer;
}

// Row i of the result is row order[i] of the matrix.
Tensor<double> Reordered(const Tensor<double>& matrix, const Order& order) {
  Tensor<double> rows(matrix.shape());
  for (int64_t i = 0; i < matrix.dim(0); ++i) {
    for (int64_t c = 0; c < matrix.dim(1); ++c) {
      rows(i, c) = matrix(order[i], c);
    }
  }
  return rows;
}

absl::StatusOr<HeadOutputs<double>> Attend(const Layer& layer, Variant variant,
                                           Tensor<double> tokens) {
  if (variant == Variant::kPositions) {
    const Tensor<double> positions = PositionEmbeddings(tokens.dim(0), kWidth);
    for (int64_t n = 0; n < tokens.size(); ++n) tokens[n] += positions[n];
  }
  HeadOptions options;
  if (variant == Variant::kCausal) options.causal = CausalAlignment::kTopLeft;
  return HeadForward(MatrixProduct(tokens, layer.query_matrix),
                     MatrixProduct(tokens, layer.key_matrix),
                     MatrixProduct(tokens, layer.value_matrix), options);
}

// What effects are measured by: the largest component of the tokens' values.
double ValueSize(const Layer& layer, const Tensor<double>& tokens) {
  return LargestMagnitude(MatrixProduct(tokens, layer.value_matrix));
}

// How far the outputs of the reordered tokens are from the reordered outputs.
struct OrderEffect {
  double moved = 0;    // each output against its token's output before
  double weights = 0;  // each weight against that of the same two tokens
  double set = 0;      // the set of outputs
  Tensor<double> before;
  Tensor<double> after;
};

absl::StatusOr<OrderEffect> CompareOrders(const Layer& layer, Variant variant,
                                          const Tensor<double>& tokens,
                                          const Order& order) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> before,
                              Attend(layer, variant, tokens));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> after,
                              Attend(layer, variant, Reordered(tokens, order)));
  const double size = ValueSize(layer, tokens);
  OrderEffect effect;
  effect.moved =
      LargestDifference(after.output, Reordered(before.output, order)) / size;
  const Tensor<double> rows = Reordered(before.weights, order);
  effect.weights = LargestDifference(
      after.weights, Transposed(Reordered(Transposed(rows), order)));
  effect.set = SetDistance(before.output, after.output) / size;
  effect.before = before.output;
  effect.after = after.output;
  return effect;
}

// An effect over the draws.
struct Effects {
  std::vector<double> values;

  Json ToJson() const {
    double sum = 0;
    for (const double value : values) sum += value;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {{"mean", sum / static_cast<double>(values.size())},
            {"range", {*low, *high}}};
  }
};

// h_t = tanh(x_t W + h_{t-1} U), all states, [T, width].
Tensor<double> RecurrentStates(const Tensor<double>& tokens,
                               const Tensor<double>& in,
                               const Tensor<double>& recurrent) {
  Tensor<double> states({tokens.dim(0), in.dim(1)});
  const Tensor<double> inputs = MatrixProduct(tokens, in);
  for (int64_t t = 0; t < tokens.dim(0); ++t) {
    for (int64_t c = 0; c < in.dim(1); ++c) {
      double sum = inputs(t, c);
      for (int64_t e = 0; e < in.dim(1) && t > 0; ++e) {
        sum += states(t - 1, e) * recurrent(e, c);
      }
      states(t, c) = Tanh(sum);
    }
  }
  return states;
}

// The largest change in the rows from `begin` to before `end`.
double ChangeOfRows(const Tensor<double>& a, const Tensor<double>& b,
                    int64_t begin, int64_t end) {
  return LargestDifference(Copy(a.view().Slice(0, begin, end)),
                           Copy(b.view().Slice(0, begin, end)));
}

}  // namespace

Tensor<double> PositionEmbeddings(int64_t positions, int64_t width) {
  Tensor<double> embeddings({positions, width});
  for (int64_t t = 0; t < positions; ++t) {
    for (int64_t c = 0; c < width; ++c) {
      const double exponent =
          static_cast<double>(c - c % 2) / static_cast<double>(width);
      const double angle = static_cast<double>(t) / Pow(10000.0, exponent);
      embeddings(t, c) = c % 2 == 0 ? Sin(angle) : Cos(angle);
    }
  }
  return embeddings;
}

double SetDistance(const Tensor<double>& a, const Tensor<double>& b) {
  double farthest = 0;
  for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (int64_t i = 0; i < from->dim(0); ++i) {
      double nearest = HUGE_VAL;
      for (int64_t j = 0; j < to->dim(0); ++j) {
        double distance = 0;
        for (int64_t c = 0; c < from->dim(1); ++c) {
          distance = std::max(distance, std::abs((*from)(i, c) - (*to)(j, c)));
        }
        nearest = std::min(nearest, distance);
      }
      farthest = std::max(farthest, nearest);
    }
  }
  return farthest;
}

absl::StatusOr<Json> MeasureSentences(const PermutationDraws& draws) {
  const std::vector<std::string> words = {"压力", "超过", "限值"};
  const Order reversed = {2, 1, 0};
  RandomStream embedding_stream(draws.seed, "sentence embeddings");
  RandomStream layer_stream(draws.seed, "sentence projections");
  Json json;
  json["draws"] = draws.draws;
  json["first"] = words;
  for (const int64_t word : reversed) json["second"].push_back(words[word]);
  json["translations"] = {"pressure", "exceeds", "limit"};
  std::vector<Effects> moved(Variants().size());
  std::vector<Effects> weights(Variants().size());
  std::vector<Effects> set(Variants().size());
  for (int64_t n = 0; n < draws.draws; ++n) {
    const Tensor<double> tokens = GaussianMatrix(
        embedding_stream, static_cast<int64_t>(words.size()), kWidth, 1);
    const Layer layer = DrawLayer(layer_stream);
    for (size_t v = 0; v < Variants().size(); ++v) {
      const auto& [variant, name] = Variants()[v];
      SOFTLOOKUP_ASSIGN_OR_RETURN(
          const OrderEffect effect,
          CompareOrders(layer, variant, tokens, reversed));
      moved[v].values.push_back(effect.moved);
      weights[v].values.push_back(effect.weights);
      set[v].values.push_back(effect.set);
      if (n > 0) continue;
      json[name]["outputs_of_first"] = NestedLists(effect.before);
      json[name]["outputs_of_second"] = NestedLists(effect.after);
    }
  }
  for (size_t v = 0; v < Variants().size(); ++v) {
    Json& variant = json[Variants()[v].name];
    variant["own_output_difference"] = moved[v].ToJson();
    variant["weight_difference"] = weights[v].ToJson();
    variant["set_distance"] = set[v].ToJson();
  }
  return json;
}

absl::StatusOr<Json> MeasureAllOrders(const PermutationDraws& draws,
                                      int64_t length) {
  RandomStream embedding_stream(draws.seed, "order embeddings");
  RandomStream layer_stream(draws.seed, "order projections");
  std::vector<Effects> moved(Variants().size());
  int64_t orders = 0;
  for (int64_t n = 0; n < draws.draws; ++n) {
    const Tensor<double> tokens =
        GaussianMatrix(embedding_stream, length, kWidth, 1);
    const Layer layer = DrawLayer(layer_stream);
    Order order(length);
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end())) {
      ++orders;
      for (size_t v = 0; v < Variants().size(); ++v) {
        SOFTLOOKUP_ASSIGN_OR_RETURN(
            const OrderEffect effect,
            CompareOrders(layer, Variants()[v].variant, tokens, order));
        moved[v].values.push_back(effect.moved);
      }
    }
  }
  Json json;
  json["length"] = length;
  json["draws"] = draws.draws;
  json["orders_of_each_draw"] = orders / draws.draws;
  for (size_t v = 0; v < Variants().size(); ++v) {
    json[Variants()[v].name] = moved[v].ToJson();
  }
  return json;
}

absl::StatusOr<Json> MeasureInfluence(const PermutationDraws& draws,
                                      int64_t length) {
  RandomStream stream(draws.seed, "influence");
  const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
  Effects recurrent_past;
  Effects recurrent_last;
  Effects unmasked_past;
  Effects causal_past;
  Effects attention_others;
  Effects position_wise_others;
  for (int64_t n = 0; n < draws.draws; ++n) {
    const Tensor<double> tokens = GaussianMatrix(stream, length, kWidth, 1);
    const Layer layer = DrawLayer(stream);
    const Tensor<double> in = GaussianMatrix(stream, kWidth, kWidth, scale);
    const Tensor<double> recurrent =
        GaussianMatrix(stream, kWidth, kWidth, scale);
    const Tensor<double> other = GaussianMatrix(stream, 1, kWidth, 1);
    const auto replaced = [&](int64_t row) {
      Tensor<double> changed = tokens;
      for (int64_t c = 0; c < kWidth; ++c) changed(row, c) = other(0, c);
      return changed;
    };
    // The future: the last token is another one.
    const int64_t last = length - 1;
    const Tensor<double> states = RecurrentStates(tokens, in, recurrent);
    const Tensor<double> changed_states =
        RecurrentStates(replaced(last), in, recurrent);
    recurrent_past.values.push_back(
        ChangeOfRows(states, changed_states, 0, last));
    recurrent_last.values.push_back(
        ChangeOfRows(states, changed_states, last, length));
    const double size = ValueSize(layer, tokens);
    for (const Variant variant : {Variant::kNoPositions, Variant::kCausal}) {
      SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> before,
                                  Attend(layer, variant, tokens));
      SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> after,
                                  Attend(layer, variant, replaced(last)));
      Effects& past = variant == Variant::kCausal ? causal_past : unmasked_past;
      past.values.push_back(ChangeOfRows(before.output, after.output, 0, last) /
                            size);
    }
    // The routes: the first token is another one, and attention is left out.
    SOFTLOOKUP_ASSIGN_OR_RETURN(const HeadOutputs<double> before,
                                Attend(layer, Variant::kNoPositions, tokens));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const HeadOutputs<double> after,
        Attend(layer, Variant::kNoPositions, replaced(0)));
    attention_others.values.push_back(
        ChangeOfRows(before.output, after.output, 1, length) / size);
    position_wise_others.values.push_back(
        ChangeOfRows(MatrixProduct(tokens, layer.value_matrix),
                     MatrixProduct(replaced(0), layer.value_matrix), 1,
                     length) /
        size);
  }
  Json json;
  json["length"] = length;
  json["draws"] = draws.draws;
  json["future_on_past"] = {{"recurrent", recurrent_past.ToJson()},
                            {"recurrent_on_last", recurrent_last.ToJson()},
                            {"attention_unmasked", unmasked_past.ToJson()},
                            {"attention_causal", causal_past.ToJson()}};
  json["one_token_on_others"] = {
      {"attention", attention_others.ToJson()},
      {"position_wise", position_wise_others.ToJson()}};
  return json;
}

}  // namespace softlookup
