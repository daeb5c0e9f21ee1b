#include "experiments/layer_cost/decode_memory.h"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "attention/attention.h"
#include "attention/cost.h"
#include "attention/mask.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"

namespace softlookup {
namespace {

// x W, [m], from [n] and [n, m].
std::vector<double> ProjectOne(const std::vector<double>& x,
                               const Tensor<double>& w) {
  return Project(Tensor<double>({1, w.dim(0)}, x), w).elements();
}

void Append(const std::vector<double>& row, std::vector<double>& rows) {
  rows.insert(rows.end(), row.begin(), row.end());
}

}  // namespace

RecurrentGenerator::RecurrentGenerator(Tensor<double> recurrent_weights,
                                       Tensor<double> input_weights)
    : recurrent_weights_(std::move(recurrent_weights)),
      input_weights_(std::move(input_weights)),
      state_(recurrent_weights_.dim(0), 0.0) {}

const std::vector<double>& RecurrentGenerator::Step(
    const std::vector<double>& x) {
  const Tensor<double> input =
      Project(Tensor<double>({1, input_weights_.dim(0)}, x), input_weights_);
  state_ = RowCopy(
      RecurrentStates(recurrent_weights_, input, state_, Nonlinearity::kTanh),
      0);
  return state_;
}

CachedAttention::CachedAttention(HeadWeights weights)
    : weights_(std::move(weights)) {}

std::vector<double> CachedAttention::Step(const std::vector<double>& x) {
  Append(ProjectOne(x, weights_.key), keys_);
  Append(ProjectOne(x, weights_.value), values_);
  const int64_t d = weights_.key.dim(1);
  const int64_t t = static_cast<int64_t>(keys_.size()) / d;
  return AttentionRow(ProjectOne(x, weights_.query),
                      Tensor<double>({t, d}, keys_),
                      Tensor<double>({t, d}, values_));
}

DecodeInputs DrawDecodeInputs(const DecodeOptions& options) {
  const int64_t d = options.width;
  RandomStream stream(options.seed, "generation");
  DecodeInputs inputs;
  inputs.tokens = GaussianMatrix(stream, options.tokens, d, 1);
  for (Tensor<double>* weights :
       {&inputs.recurrent_weights, &inputs.input_weights, &inputs.head.query,
        &inputs.head.key, &inputs.head.value}) {
    *weights =
        GaussianMatrix(stream, d, d, 1 / std::sqrt(static_cast<double>(d)));
  }
  return inputs;
}

absl::StatusOr<DecodeMemory> MeasureDecodeMemory(const DecodeInputs& inputs) {
  const Tensor<double>& tokens = inputs.tokens;
  const int64_t d = tokens.dim(1);
  RecurrentGenerator recurrent(inputs.recurrent_weights, inputs.input_weights);
  CachedAttention attention(inputs.head);
  const Tensor<double> values = Project(tokens, inputs.head.value);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionOutputs<double> whole,
      ReferenceAttention(Project(tokens, inputs.head.query),
                         Project(tokens, inputs.head.key), values,
                         CausalAlignment::kTopLeft));
  DecodeMemory found = {.tokens = tokens.dim(0), .width = d};
  Largest deviation;
  for (int64_t token = 0; token < tokens.dim(0); ++token) {
    recurrent.Step(RowCopy(tokens, token));
    const std::vector<double> row = attention.Step(RowCopy(tokens, token));
    for (int64_t c = 0; c < d; ++c) {
      deviation.See(std::abs(row[c] - whole.output(0, 0, token, c)));
    }
    found.recurrent_memory.push_back(recurrent.memory());
    found.attention_memory.push_back(attention.memory());
    const LayerShape shape = {.positions = token + 1, .width = d};
    SOFTLOOKUP_ASSIGN_OR_RETURN(const TokenCost recurrent_cost,
                                CountToken(LayerKind::kRecurrent, shape));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const TokenCost attention_cost,
                                CountToken(LayerKind::kSelfAttention, shape));
    found.formula_deviation +=
        std::abs(recurrent.memory() - recurrent_cost.memory) +
        std::abs(attention.memory() - attention_cost.memory);
  }
  found.recurrent_growth =
      found.recurrent_memory.back() - found.recurrent_memory.front();
  found.attention_growth =
      found.attention_memory.back() - found.attention_memory.front();
  found.output_deviation = deviation.value() / LargestMagnitude(values);
  return found;
}

}  // namespace softlookup
