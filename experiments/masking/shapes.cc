#include "experiments/masking/shapes.h"

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.h"
#include "attention/reference/attention_reference.h"
#include "attention/testing/attention_problem.h"
#include "attention/textbook/boolean_mask.h"
#include "attention/textbook/dimension_names.h"
#include "attention/textbook/hand_attention.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/tensor.h"

namespace softlookup {
namespace {

// The shape without its first two dimensions, which are 1.
Shape OfOneHead(const Shape& shape) {
  return Shape(shape.begin() + 2, shape.end());
}

}  // namespace

absl::StatusOr<Json> MeasureFigureShapes(uint64_t seed, int64_t positions,
                                         int64_t width, int64_t head_width) {
  const int64_t value_width = head_width * 3 / 4;
  const DimensionNames names({{"T", positions},
                              {"d", width},
                              {"dk", head_width},
                              {"dv", value_width}});
  RandomStream stream(seed, "projections");
  const auto draw = [&stream](int64_t rows, int64_t columns) {
    Tensor<double> matrix({1, 1, rows, columns});
    stream.FillGaussian(absl::MakeSpan(matrix.elements()));
    return matrix;
  };
  const Tensor<double> x = draw(positions, width);
  const Tensor<double> wq = draw(width, head_width);
  const Tensor<double> wk = draw(width, head_width);
  const Tensor<double> wv = draw(width, value_width);
  const Tensor<double> q = BatchedProduct<double>(x.view(), wq.view());
  const Tensor<double> k = BatchedProduct<double>(x.view(), wk.view());
  const Tensor<double> v = BatchedProduct<double>(x.view(), wv.view());
  const Tensor<double> scores = HandScores<double>(q.view(), k.view());
  AttentionInputs<double> inputs;
  inputs.query = q.view();
  inputs.key = k.view();
  inputs.value = v.view();
  AttentionOptions options;
  options.weights = true;
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> outputs,
                              reference::AttentionForward(inputs, options));
  Json shapes;
  const std::vector<std::pair<const char*, const Tensor<double>*>> tensors = {
      {"X", &x},
      {"W_Q", &wq},
      {"W_K", &wk},
      {"W_V", &wv},
      {"Q", &q},
      {"K", &k},
      {"V", &v},
      {"S", &scores},
      {"P", &*outputs.weights},
      {"O", &outputs.output}};
  for (const auto& [name, tensor] : tensors) {
    shapes[name] = names.ToJson(OfOneHead(tensor->shape()));
  }
  return shapes;
}

absl::StatusOr<Json> MeasureListingShapes(uint64_t seed, const Shape& shape,
                                          int64_t short_length) {
  const DimensionNames names(
      {{"B", shape[0]}, {"h", shape[1]}, {"T", shape[2]}, {"dk", shape[3]}});
  const AttentionProblem<double> problem = DrawProblem(seed, shape);
  const std::vector<int64_t> lengths = {shape[2], short_length};
  const BooleanMask real =
      RealPositions(lengths, shape[2], PaddingSide::kRight);
  const BooleanMask pad = OverHeadsAndQueries(real);
  const BooleanMask causal = CausalMask(shape[2]);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const BooleanMask mask, LogicalAnd(causal, pad));
  AttentionInputs<double> inputs = problem.inputs();
  inputs.mask.allowed = mask.view();
  SOFTLOOKUP_ASSIGN_OR_RETURN(const AttentionOutputs<double> outputs,
                              reference::AttentionForward(inputs, {}));
  Json shapes;
  shapes["q"] = names.ToJson(problem.query.shape());
  shapes["k"] = names.ToJson(problem.key.shape());
  shapes["v"] = names.ToJson(problem.value.shape());
  shapes["key_real"] = names.ToJson(real.shape());
  shapes["pad"] = names.ToJson(pad.shape());
  shapes["causal"] = names.ToJson(causal.shape());
  shapes["additive"] = names.ToJson(AdditiveMask<double>(causal, -1.0).shape());
  shapes["mask"] = names.ToJson(mask.shape());
  shapes["s"] =
      names.ToJson(HandScores<double>(inputs.query, inputs.key).shape());
  shapes["y"] = names.ToJson(outputs.output.shape());
  shapes["pads_of_the_second_sequence"] = real.size() - CountTrue(real);
  shapes["pairs_allowed"] = CountTrue(mask);
  return shapes;
}

}  // namespace softlookup
