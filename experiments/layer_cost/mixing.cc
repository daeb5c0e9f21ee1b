#include "experiments/layer_cost/mixing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "attention/attention.h"
#include "attention/cost.h"
#include "attention/reference/attention_reference.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/deviation.h"
#include "base/tensor/matrix.h"
#include "base/tensor/matrix_product.h"
#include "base/tensor/tensor.h"
#include "experiments/layer_cost/blocked_attention.h"
#include "experiments/layer_cost/decode_memory.h"
#include "experiments/layer_cost/linear_scan.h"
#include "experiments/layer_cost/running_average.h"
#include "experiments/layer_cost/sequence_layers.h"
#include "experiments/layer_cost/traced.h"

namespace softlookup {
namespace {

using Matrix = Tensor<double>;

// One head of the reference on [T, d] matrices.
absl::StatusOr<AttentionOutputs<double>> Reference(const Matrix& q,
                                                   const Matrix& k,
                                                   const Matrix& v,
                                                   CausalAlignment causal) {
  const auto head = [](const Matrix& matrix) {
    return StridedView<const double>(matrix.data(),
                                     {1, 1, matrix.dim(0), matrix.dim(1)});
  };
  AttentionInputs<double> inputs;
  inputs.query = head(q);
  inputs.key = head(k);
  inputs.value = head(v);
  inputs.mask.causal = causal;
  AttentionOptions options;
  options.weights = true;
  return reference::AttentionForward(inputs, options);
}

int64_t ChainOf(const Tensor<Traced>& states) {
  return states[states.size() - 1].updates();
}

}  // namespace

absl::StatusOr<Json> MeasureMixing(const MixingOptions& options) {
  const int64_t t = options.positions;
  const int64_t d = options.width;
  RandomStream stream(options.seed, "mixing");
  // One query for every position: the score of key j is the same in each row.
  const Matrix query = GaussianMatrix(stream, 1, d, 1);
  Matrix queries({t, d});
  for (int64_t i = 0; i < queries.size(); ++i) queries[i] = query[i % d];
  const Matrix keys = GaussianMatrix(stream, t, d, 1);
  const Matrix values = GaussianMatrix(stream, t, d, 1);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionOutputs<double> whole,
      Reference(queries, keys, values, CausalAlignment::kTopLeft));
  const Matrix product =
      MatrixProduct<double>({whole.weights->data(), {t, t}}, values.view());

  const double scale = AttentionScale({}, d);
  std::vector<double> scores;
  std::vector<Traced> traced_scores;
  Trace trace;
  const Matrix raw =
      MatrixProduct<double>(keys.view(), query.view().Transpose(0, 1));
  for (int64_t j = 0; j < t; ++j) {
    scores.push_back(raw[j] * scale);
    traced_scores.emplace_back(scores[j], &trace, Traced::kSource);
  }
  const Matrix loop = RunningAverage(scores, values);
  const int64_t steps = ChainOf(RunningAverage(
      traced_scores, TracedTensor(values, &trace, Traced::kSource)));

  Largest rows_alone;
  for (int64_t i = t - 1; i >= 0; --i) {
    const Matrix seen_keys = Copy(keys.view().Slice(0, 0, i + 1));
    const Matrix seen_values = Copy(values.view().Slice(0, 0, i + 1));
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const AttentionOutputs<double> row,
        Reference(query, seen_keys, seen_values, CausalAlignment::kNone));
    for (int64_t c = 0; c < d; ++c) {
      rows_alone.See(std::abs(row.output[c] - whole.output(0, 0, i, c)));
    }
  }
  return Json{{"positions", t},
              {"width", d},
              {"steps_of_the_loop", steps},
              {"deviation",
               LargestDifference(loop, product) / LargestMagnitude(values)},
              {"rows_alone_deviation", rows_alone.value()}};
}

Json MeasureScan(const MixingOptions& options) {
  const int64_t t = options.positions;
  const int64_t d = options.width;
  RandomStream stream(options.seed, "linear recurrence");
  Matrix decay({t, d});
  for (double& element : decay.elements()) element = stream.Uniform();
  const Matrix input = GaussianMatrix(stream, t, d, 1);
  Matrix magnitude = input;
  for (double& element : magnitude.elements()) element = std::abs(element);
  const Matrix loop = LinearRecurrence(decay, input);
  const Matrix scan = LinearScan(decay, input);
  const Matrix size = LinearRecurrence(decay, magnitude);
  Largest deviation;
  for (int64_t i = 0; i < loop.size(); ++i) {
    deviation.See(std::abs(scan[i] - loop[i]) / size[i]);
  }
  Trace trace;
  const Tensor<Traced> traced_decay =
      TracedTensor(decay, &trace, Traced::kSource);
  const Tensor<Traced> traced_input =
      TracedTensor(input, &trace, Traced::kSource);
  const int64_t rounds = ChainOf(LinearScan(traced_decay, traced_input));
  int64_t expected = 0;
  while ((int64_t{1} << expected) < t) ++expected;
  return {{"positions", t},
          {"width", d},
          {"steps_of_the_loop",
           ChainOf(LinearRecurrence(traced_decay, traced_input))},
          {"rounds_of_the_scan", rounds},
          {"rounds_deviation", rounds - expected},
          {"deviation", deviation.value()}};
}

namespace {

struct BlockedRun {
  int64_t positions;
  int64_t peak;
  int64_t multiplications;
  int64_t score_multiplications;

  Json ToJson() const {
    return {{"positions", positions},
            {"peak_memory", peak},
            {"multiplications", multiplications},
            {"score_multiplications", score_multiplications}};
  }
};

double Quotient(int64_t a, int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

// The head's three inputs, [T, d].
struct Head {
  Head(int64_t positions, int64_t width, RandomStream& stream)
      : q(GaussianMatrix(stream, positions, width, 1)),
        k(GaussianMatrix(stream, positions, width, 1)),
        v(GaussianMatrix(stream, positions, width, 1)) {}

  Matrix q;
  Matrix k;
  Matrix v;
};

// block 0: the whole matrix at once.
BlockedRun RunCounted(const Head& head, int64_t block) {
  Trace trace;
  WorkingMemory memory;
  const Tensor<Traced> q = TracedTensor(head.q, &trace);
  const Tensor<Traced> k = TracedTensor(head.k, &trace);
  const Tensor<Traced> v = TracedTensor(head.v, &trace);
  if (block == 0) {
    WholeAttention(q, k, v, memory);
  } else {
    BlockedAttention(q, k, v, block, memory);
  }
  const int64_t t = head.q.dim(0);
  return {t, memory.peak(), trace.multiplications, t * t * head.q.dim(1)};
}

// Each block of queries against its own block of keys only: an operation that
// does save arithmetic, and changes the result.
int64_t WindowedMultiplications(const Head& head, int64_t block) {
  Trace trace;
  WorkingMemory memory;
  for (int64_t begin = 0; begin < head.q.dim(0); begin += block) {
    const int64_t end = std::min(begin + block, head.q.dim(0));
    const auto rows = [begin, end, &trace](const Matrix& matrix) {
      return TracedTensor(Copy(matrix.view().Slice(0, begin, end)), &trace);
    };
    WholeAttention(rows(head.q), rows(head.k), rows(head.v), memory);
  }
  return trace.multiplications;
}

}  // namespace

absl::StatusOr<Json> MeasureBlocks(const BlockOptions& options) {
  RandomStream stream(options.seed, "blocked attention");
  const Head once(options.positions, options.width, stream);
  const Head twice(2 * options.positions, options.width, stream);
  const BlockedRun whole[] = {RunCounted(once, 0), RunCounted(twice, 0)};
  const BlockedRun blocked[] = {RunCounted(once, options.block),
                                RunCounted(twice, options.block)};
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const AttentionOutputs<double> reference,
      Reference(once.q, once.k, once.v, CausalAlignment::kNone));
  WorkingMemory memory;
  const Matrix output =
      BlockedAttention(once.q, once.k, once.v, options.block, memory);
  const Matrix expected({once.q.dim(0), options.width},
                        reference.output.elements());
  return Json{
      {"width", options.width},
      {"block", options.block},
      {"whole", {whole[0].ToJson(), whole[1].ToJson()}},
      {"blocked", {blocked[0].ToJson(), blocked[1].ToJson()}},
      {"weights_deviation",
       reference.weights->size() - options.positions * options.positions},
      {"deviation",
       LargestDifference(output, expected) / LargestMagnitude(once.v)},
      {"memory_growth",
       {{"whole", Quotient(whole[1].peak, whole[0].peak)},
        {"blocked", Quotient(blocked[1].peak, blocked[0].peak)}}},
      {"arithmetic_growth",
       {{"whole", Quotient(whole[1].multiplications, whole[0].multiplications)},
        {"blocked",
         Quotient(blocked[1].multiplications, blocked[0].multiplications)}}},
      {"arithmetic_ratio",
       Quotient(blocked[0].multiplications, whole[0].multiplications)},
      {"windowed_arithmetic_ratio",
       Quotient(WindowedMultiplications(once, options.block),
                whole[0].multiplications)}};
}

absl::StatusOr<Json> MeasureGeneration(const MixingOptions& options) {
  const int64_t t = options.positions;
  const int64_t d = options.width;
  const double deviation = 1 / std::sqrt(static_cast<double>(d));
  RandomStream stream(options.seed, "generation");
  const Matrix tokens = GaussianMatrix(stream, t, d, 1);
  RecurrentGenerator recurrent(GaussianMatrix(stream, d, d, deviation),
                               GaussianMatrix(stream, d, d, deviation));
  const AttentionProjections projections = {
      GaussianMatrix(stream, d, d, deviation),
      GaussianMatrix(stream, d, d, deviation),
      GaussianMatrix(stream, d, d, deviation)};
  CachedAttention attention(projections);
  const Matrix v = Project(tokens, projections.value);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> whole,
                              Reference(Project(tokens, projections.query),
                                        Project(tokens, projections.key), v,
                                        CausalAlignment::kTopLeft));
  std::vector<int64_t> recurrent_memory;
  std::vector<int64_t> attention_memory;
  int64_t formula = 0;
  Largest output;
  for (int64_t token = 0; token < t; ++token) {
    recurrent.Step(RowCopy(tokens, token));
    const std::vector<double> row = attention.Step(RowCopy(tokens, token));
    for (int64_t c = 0; c < d; ++c) {
      output.See(std::abs(row[c] - whole.output(0, 0, token, c)));
    }
    recurrent_memory.push_back(recurrent.memory());
    attention_memory.push_back(attention.memory());
    const LayerShape shape = {.positions = token + 1, .width = d};
    SOFTLOOKUP_ASSIGN_OR_RETURN(const TokenCost recurrent_cost,
                                CountToken(LayerKind::kRecurrent, shape));
    SOFTLOOKUP_ASSIGN_OR_RETURN(const TokenCost attention_cost,
                                CountToken(LayerKind::kSelfAttention, shape));
    formula += std::abs(recurrent.memory() - recurrent_cost.memory) +
               std::abs(attention.memory() - attention_cost.memory);
  }
  return Json{
      {"tokens", t},
      {"width", d},
      {"recurrent_memory", recurrent_memory},
      {"attention_memory", attention_memory},
      {"recurrent_growth", recurrent_memory.back() - recurrent_memory.front()},
      {"attention_growth", attention_memory.back() - attention_memory.front()},
      {"formula_deviation", formula},
      {"output_deviation", output.value() / LargestMagnitude(v)}};
}

}  // namespace softlookup
