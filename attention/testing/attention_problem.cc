#include "attention/testing/attention_problem.h"

#include <algorithm>

#include "absl/types/span.h"
#include "base/random/random.h"

namespace softlookup {
namespace {

Tensor<double> DrawGaussian(uint64_t seed, const char* name,
                            const Shape& shape) {
  Tensor<double> tensor(shape);
  RandomStream(seed, name).FillGaussian(absl::MakeSpan(tensor.elements()));
  return tensor;
}

Tensor<float> Rounded(const Tensor<double>& tensor) {
  Tensor<float> rounded(tensor.shape());
  std::transform(tensor.elements().begin(), tensor.elements().end(),
                 rounded.elements().begin(),
                 [](double x) { return static_cast<float>(x); });
  return rounded;
}

}  // namespace

AttentionProblem<double> DrawProblem(uint64_t seed, const Shape& shape) {
  return {DrawGaussian(seed, "queries", shape),
          DrawGaussian(seed, "keys", shape),
          DrawGaussian(seed, "values", shape)};
}

AttentionProblem<float> ToFloat(const AttentionProblem<double>& problem) {
  return {Rounded(problem.query), Rounded(problem.key), Rounded(problem.value)};
}

}  // namespace softlookup
