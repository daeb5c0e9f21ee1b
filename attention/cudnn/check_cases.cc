#include "attention/cudnn/check_cases.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "attention/cudnn/half_tensor.h"
#include "base/check.h"
#include "base/random/random.h"
#include "base/tensor/shape.h"

namespace softlookup::cudnn {
namespace {

constexpr uint64_t kSeed = 20250301;

Tensor<float> DrawTensor(RandomStream& stream, const Shape& shape,
                         Dtype element) {
  Tensor<float> tensor(shape);
  for (float& value : tensor.elements()) {
    value = HalfToFloat(
        FloatToHalf(static_cast<float>(stream.Gaussian()), element), element);
  }
  return tensor;
}

// Tensors of these sizes, D = Dv; masks and name are the caller's.
CheckCase DrawTensors(RandomStream& stream, const AttentionSizes& sizes,
                      Dtype element) {
  const Shape query = {sizes.batch, sizes.query_heads, sizes.queries,
                       sizes.width};
  const Shape key = {sizes.batch, sizes.key_heads, sizes.keys, sizes.width};
  CheckCase drawn;
  drawn.element = element;
  drawn.query = DrawTensor(stream, query, element);
  drawn.key = DrawTensor(stream, key, element);
  drawn.value = DrawTensor(stream, key, element);
  drawn.gradient = DrawTensor(stream, query, element);
  return drawn;
}

}  // namespace

AttentionInputs<float> CheckCase::inputs() const {
  AttentionInputs<float> inputs{
      query.view(), key.view(), value.view(), std::nullopt, {}};
  if (bias.has_value()) inputs.bias = bias->view();
  inputs.mask.causal = causal;
  inputs.mask.key_lengths = lengths;
  return inputs;
}

CheckCase DrawParityCase(Dtype element, int number) {
  constexpr std::array<int64_t, 6> kWidths = {8, 16, 64, 72, 128, 256};
  constexpr std::array<int64_t, 8> kLengths = {2,  17,  63,  64,
                                               65, 128, 150, 192};
  RandomStream stream(kSeed,
                      absl::StrCat("parity ", DtypeName(element), " ", number));
  const int mask = number % kParityMasks;
  AttentionSizes sizes;
  sizes.batch = 1 + stream.UniformInt(2);
  sizes.key_heads = 1 + stream.UniformInt(2);
  sizes.query_heads = sizes.key_heads * (1 + stream.UniformInt(3));
  sizes.keys = kLengths[stream.UniformInt(kLengths.size())];
  sizes.width = kWidths[stream.UniformInt(kWidths.size())];
  sizes.value_width = sizes.width;
  // Bottom-right takes no more queries than keys.
  sizes.queries = mask == 2
                      ? 1 + stream.UniformInt(static_cast<uint32_t>(sizes.keys))
                      : kLengths[stream.UniformInt(kLengths.size())];
  CheckCase drawn = DrawTensors(stream, sizes, element);
  if (mask == 1 || mask == 4 || mask == 6) {
    drawn.causal = CausalAlignment::kTopLeft;
  }
  if (mask == 2) drawn.causal = CausalAlignment::kBottomRight;
  if (mask == 3 || mask == 4) {
    for (int64_t b = 0; b < sizes.batch; ++b) {
      drawn.lengths.push_back(
          stream.UniformInt(static_cast<uint32_t>(sizes.keys) + 1));
    }
    // An entry without a key is rare, and the contract has a word on it.
    if (number % 2 == 1) drawn.lengths[0] = 0;
  }
  if (mask >= 5) {
    drawn.bias = DrawTensor(
        stream, {1, sizes.query_heads, sizes.queries, sizes.keys}, element);
  }
  drawn.name = absl::StrCat(
      DtypeName(element), " B", sizes.batch, " H", sizes.query_heads, "/",
      sizes.key_heads, " Tq", sizes.queries, " Tk", sizes.keys, " D",
      sizes.width, " ", CausalAlignmentName(drawn.causal),
      drawn.lengths.empty()
          ? ""
          : absl::StrCat(" lengths ", ShapeString(drawn.lengths)),
      drawn.bias.has_value() ? " bias" : "");
  return drawn;
}

CheckCase DrawFaultCase(Dtype element, int number) {
  struct Fault {
    int64_t queries;
    int64_t keys;
    bool low;  // log-sum-exps below kFaultLogSumExp
  };
  constexpr std::array<Fault, kFaultCases> kFaults = {{{64, 64, true},
                                                       {64, 64, false},
                                                       {192, 192, true},
                                                       {128, 320, true},
                                                       {1, 64, true},
                                                       {1, 64, false},
                                                       {1, 17, false}}};
  SOFTLOOKUP_CHECK(number >= 0 && number < kFaultCases, "a fault case");
  const Fault& fault = kFaults[number];
  RandomStream stream(kSeed,
                      absl::StrCat("faults ", DtypeName(element), " ", number));
  CheckCase drawn = DrawTensors(stream,
                                {.batch = 2,
                                 .query_heads = 4,
                                 .key_heads = 4,
                                 .queries = fault.queries,
                                 .keys = fault.keys,
                                 .width = 64,
                                 .value_width = 64},
                                element);
  if (fault.low) {
    // q.k / sqrt(64) = 64 * 3.5 * -3.5625 / 8 = -99.75 and a little noise.
    for (float& value : drawn.query.elements()) value = 3.5f;
    for (float& value : drawn.key.elements()) {
      value = HalfToFloat(FloatToHalf(-3.5625f + value / 16, element), element);
    }
  }
  drawn.name = absl::StrCat(DtypeName(element), " Tq", fault.queries, " Tk",
                            fault.keys, fault.low ? " scores near -100" : "");
  return drawn;
}

CheckCase DrawRepeatCase() {
  RandomStream stream(kSeed, "repeats");
  CheckCase drawn = DrawTensors(stream,
                                {.batch = 2,
                                 .query_heads = 4,
                                 .key_heads = 2,
                                 .queries = 1000,
                                 .keys = 1000,
                                 .width = 128,
                                 .value_width = 128},
                                Dtype::kBF16);
  drawn.causal = CausalAlignment::kTopLeft;
  drawn.name = "BF16 B2 H4/2 T1000 D128 top_left";
  return drawn;
}

}  // namespace softlookup::cudnn
