#include "experiments/multi_head/problem.h"

#include <cmath>
#include <utility>

#include "absl/types/span.h"
#include "base/check.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"

namespace softlookup {
namespace {

Tensor<double> DrawNormal(uint64_t seed, const std::string& stream, Shape shape,
                          double standard_deviation) {
  Tensor<double> tensor(std::move(shape));
  RandomStream(seed, stream).FillGaussian(absl::MakeSpan(tensor.elements()));
  for (double& element : tensor.elements()) element *= standard_deviation;
  return tensor;
}

}  // namespace

MultiHeadProblem DrawMultiHead(uint64_t seed, const MultiHeadSizes& sizes,
                               const std::string& layer) {
  SOFTLOOKUP_CHECK(sizes.width % sizes.heads == 0, "heads of equal width");
  const int64_t d = sizes.width;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  MultiHeadProblem problem;
  problem.x =
      DrawNormal(seed, layer + "inputs", {sizes.batch, sizes.positions, d}, 1);
  problem.weights.heads = problem.weights.key_heads = sizes.heads;
  problem.weights.query =
      DrawNormal(seed, layer + "query projection", {d, d}, scale);
  problem.weights.key =
      DrawNormal(seed, layer + "key projection", {d, d}, scale);
  problem.weights.value =
      DrawNormal(seed, layer + "value projection", {d, d}, scale);
  problem.weights.output =
      DrawNormal(seed, layer + "output projection", {d, d}, scale);
  return problem;
}

}  // namespace softlookup
