#include "attention/cudnn/testing/cudnn_cases.h"

#include <array>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "attention/cudnn/half_tensor.h"
#include "base/check.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"

namespace softlookup::cudnn {
namespace {

constexpr uint64_t kSeed = 20250301;

float Rounded(float value, Dtype element) {
  return HalfToFloat(FloatToHalf(value, element), element);
}

// Tensors for a problem; key lengths are the caller's.
CudnnCase DrawTensors(RandomStream& stream, const CudnnProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  const auto draw = [&](const Shape& shape) {
    Tensor<float> tensor(shape);
    for (float& value : tensor.elements()) {
      value = Rounded(static_cast<float>(stream.Gaussian()), problem.element);
    }
    return tensor;
  };
  CudnnCase drawn;
  drawn.problem = problem;
  drawn.query = draw(QueryShape(sizes));
  drawn.key = draw(KeyShape(sizes));
  drawn.value = draw(ValueShape(sizes));
  drawn.gradient = draw(OutputShape(sizes));
  if (problem.bias.has_value()) drawn.bias = draw(*problem.bias);
  drawn.name = absl::StrCat(DtypeName(problem.element), " B", sizes.batch, " H",
                            sizes.query_heads, "/", sizes.key_heads, " Tq",
                            sizes.queries, " Tk", sizes.keys, " D", sizes.width,
                            " ", CausalAlignmentName(problem.causal),
                            problem.bias.has_value() ? " bias" : "");
  return drawn;
}

}  // namespace

AttentionInputs<float> CudnnCase::inputs() const {
  AttentionInputs<float> inputs{
      query.view(), key.view(), value.view(), std::nullopt, {}};
  if (bias.has_value()) inputs.bias = bias->view();
  inputs.mask.causal = problem.causal;
  inputs.mask.key_lengths = lengths;
  return inputs;
}

CudnnCase DrawParityCase(Dtype element, int number) {
  constexpr std::array<int64_t, 6> kWidths = {8, 16, 64, 72, 128, 256};
  constexpr std::array<int64_t, 8> kLengths = {2,  17,  63,  64,
                                               65, 128, 150, 192};
  RandomStream stream(kSeed,
                      absl::StrCat("parity ", DtypeName(element), " ", number));
  const auto below = [&](int64_t end) -> int64_t {
    return stream.UniformInt(static_cast<uint32_t>(end));
  };
  const int mask = number % kParityMasks;
  AttentionSizes sizes;
  sizes.batch = 1 + below(2);
  sizes.key_heads = 1 + below(2);
  sizes.query_heads = sizes.key_heads * (1 + below(3));
  sizes.keys = kLengths[below(kLengths.size())];
  sizes.width = kWidths[below(kWidths.size())];
  sizes.value_width = sizes.width;
  // Bottom-right takes no more queries than keys.
  sizes.queries =
      mask == 2 ? 1 + below(sizes.keys) : kLengths[below(kLengths.size())];
  CudnnProblem problem = ContiguousProblem(sizes, element, true);
  if (mask == 1 || mask == 4 || mask == 6) {
    problem.causal = CausalAlignment::kTopLeft;
  }
  if (mask == 2) problem.causal = CausalAlignment::kBottomRight;
  problem.key_lengths = mask == 3 || mask == 4;
  if (mask >= 5) {
    problem.bias = {1, sizes.query_heads, sizes.queries, sizes.keys};
  }
  CudnnCase drawn = DrawTensors(stream, problem);
  if (problem.key_lengths) {
    for (int64_t b = 0; b < sizes.batch; ++b) {
      drawn.lengths.push_back(below(sizes.keys + 1));
    }
    // An entry without a key is rare, and the contract has a word on it.
    if (number % 2 == 1) drawn.lengths[0] = 0;
    drawn.name += " lengths " + ShapeString(drawn.lengths);
  }
  return drawn;
}

CudnnCase DrawFaultCase(Dtype element, int number) {
  // Tq, Tk, and whether log-sum-exps are below kFaultLogSumExp.
  constexpr std::tuple<int64_t, int64_t, bool> kFaults[kFaultCases] = {
      {64, 64, true}, {64, 64, false}, {192, 192, true}, {128, 320, true},
      {1, 64, true},  {1, 64, false},  {1, 17, false}};
  SOFTLOOKUP_CHECK(number >= 0 && number < kFaultCases, "a fault case");
  const auto [queries, keys, low] = kFaults[number];
  RandomStream stream(kSeed,
                      absl::StrCat("faults ", DtypeName(element), " ", number));
  CudnnCase drawn = DrawTensors(
      stream,
      ContiguousProblem({2, 4, 4, queries, keys, 64, 64}, element, true));
  if (low) {
    // q.k / sqrt(64) = 64 * 3.5 * -3.5625 / 8 = -99.75 and a little noise.
    for (float& value : drawn.query.elements()) value = 3.5f;
    for (float& value : drawn.key.elements()) {
      value = Rounded(-3.5625f + value / 16, element);
    }
    drawn.name += " scores near -100";
  }
  return drawn;
}

CudnnCase DrawRepeatCase() {
  CudnnProblem problem =
      ContiguousProblem({2, 4, 2, 1000, 1000, 128, 128}, Dtype::kBF16, true);
  problem.causal = CausalAlignment::kTopLeft;
  problem.deterministic = true;
  RandomStream stream(kSeed, "repeats");
  return DrawTensors(stream, problem);
}

}  // namespace softlookup::cudnn
