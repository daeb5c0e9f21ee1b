#include "experiments/layer_cost/decode_memory.h"

#include <utility>

#include "experiments/layer_cost/sequence_layers.h"

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

CachedAttention::CachedAttention(AttentionProjections projections)
    : projections_(std::move(projections)) {}

std::vector<double> CachedAttention::Step(const std::vector<double>& x) {
  Append(ProjectOne(x, projections_.key), keys_);
  Append(ProjectOne(x, projections_.value), values_);
  const int64_t d = projections_.key.dim(1);
  const int64_t t = static_cast<int64_t>(keys_.size()) / d;
  return AttentionRow(ProjectOne(x, projections_.query),
                      Tensor<double>({t, d}, keys_),
                      Tensor<double>({t, d}, values_));
}

}  // namespace softlookup
