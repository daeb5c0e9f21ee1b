#include "attention/cudnn/filler.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/half_tensor.h"
#include "base/tensor/dtype.h"
#include "gtest/gtest.h"

namespace softlookup::cudnn {
namespace {

// Queries of 3 * 2^19 elements: one block of a million and half of another.
CudnnProblem Problem(bool backward) {
  return ContiguousProblem({.batch = 2,
                            .query_heads = 3,
                            .key_heads = 1,
                            .queries = 4096,
                            .keys = 1024,
                            .width = 64,
                            .value_width = 64},
                           Dtype::kBF16, backward);
}

template <typename T>
T Element(const HostBytes& host, int64_t n) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(host.input) + n * sizeof(T),
              sizeof(T));
  return value;
}

TEST(FillerTest, HasEveryTensorsBytes) {
  Filler filler;
  for (const bool backward : {false, true}) {
    const std::vector<CudnnTensor> tensors = CudnnTensors(Problem(backward));
    const std::map<CudnnTensorId, HostBytes> filled = filler.Fill(tensors);
    EXPECT_EQ(filled.size(), tensors.size());
    for (const CudnnTensor& tensor : tensors) {
      const HostBytes& host = filled.at(tensor.id);
      EXPECT_EQ(host.bytes, tensor.Bytes()) << tensor.name;
      EXPECT_EQ(host.output != nullptr, tensor.written) << tensor.name;
      EXPECT_EQ(host.input != nullptr, !tensor.written) << tensor.name;
      if (tensor.written) std::memset(host.output, 0, host.bytes);
    }
  }
}

TEST(FillerTest, ElementsAreNormalToTheLastOne) {
  Filler filler;
  const HostBytes query =
      filler.Fill(CudnnTensors(Problem(false))).at(CudnnTensorId::kQuery);
  const int64_t count = query.bytes / 2;
  ASSERT_EQ(count, 3 << 19);
  double sum = 0;
  double squares = 0;
  double tail = 0;  // of the last thousand
  for (int64_t n = 0; n < count; ++n) {
    const double value = HalfToFloat(Element<uint16_t>(query, n), Dtype::kBF16);
    ASSERT_LT(std::abs(value), 7);
    sum += value;
    squares += value * value;
    if (n >= count - 1000) tail += value * value;
  }
  // The mean of 2^20 such numbers is within 0.01 at ten standard deviations,
  // that of their squares within 0.014; of a thousand squares within 0.5.
  EXPECT_NEAR(sum / count, 0, 0.01);
  EXPECT_NEAR(squares / count, 1, 0.014);
  EXPECT_NEAR(tail / 1000, 1, 0.5);
}

TEST(FillerTest, LengthsAreFullAndTheLogSumExpIsThatOfTheKeys) {
  Filler filler;
  const auto filled = filler.Fill(CudnnTensors(Problem(true)));
  for (int64_t entry = 0; entry < 2; ++entry) {
    EXPECT_EQ(Element<int32_t>(filled.at(CudnnTensorId::kQueryLengths), entry),
              4096);
    EXPECT_EQ(Element<int32_t>(filled.at(CudnnTensorId::kKeyLengths), entry),
              1024);
  }
  const HostBytes& log_sum_exp = filled.at(CudnnTensorId::kLogSumExp);
  EXPECT_EQ(Element<float>(log_sum_exp, 0), std::log(1024.0f));
  EXPECT_EQ(Element<float>(log_sum_exp, log_sum_exp.bytes / 4 - 1),
            std::log(1024.0f));
}

}  // namespace
}  // namespace softlookup::cudnn
