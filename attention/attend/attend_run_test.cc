#include "attention/attend/attend_run.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "base/tensor/stored_tensor.h"
#include "base/tensor/tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Keys of zeros: every weight is 1/2 and the output is the values' mean.
SafetensorsFile UniformAttention() {
  SafetensorsFile file;
  file.tensors = {StoreTensor("query", Tensor<double>({1, 1, 2, 1}, {1, 2})),
                  StoreTensor("key", Tensor<double>({1, 1, 2, 1}, {0, 0})),
                  StoreTensor("value", Tensor<double>({1, 1, 2, 1}, {3, 5}))};
  return file;
}

std::vector<std::string> Names(const SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : file.tensors) names.push_back(tensor.name);
  return names;
}

std::vector<double> Elements(const AttendResult& result,
                             const std::string& name) {
  return LoadTensor<double>(*result.file.Find(name))->elements();
}

TEST(RunAttendTest, UniformWeights) {
  AttendRequest request;
  request.options.weights = true;
  const absl::StatusOr<AttendResult> result =
      RunAttend(request, UniformAttention());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Names(result->file),
            (std::vector<std::string>{"output", "log_sum_exp", "weights"}));
  EXPECT_EQ(result->file.tensors[0].dtype, Dtype::kF64);
  EXPECT_EQ(Elements(*result, "output"), (std::vector<double>{4, 4}));
  EXPECT_EQ(Elements(*result, "weights"),
            (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
  // log 2, within one unit in the last place of the logarithm's own promise.
  EXPECT_NEAR(Elements(*result, "log_sum_exp")[0], 0.6931471805599453, 2.3e-16);
  EXPECT_EQ(result->file.metadata.at("precision"), "float64");
}

TEST(RunAttendTest, MasksScaleAndPrecisionReachTheBackend) {
  AttendRequest request;
  request.causal = CausalAlignment::kTopLeft;
  request.precision = Precision::kFloat32;
  absl::StatusOr<AttendResult> result = RunAttend(request, UniformAttention());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->file.tensors[0].dtype, Dtype::kF32);
  EXPECT_EQ(Elements(*result, "output"), (std::vector<double>{3, 4}));
  EXPECT_EQ(result->file.metadata.at("precision"), "float32");
  EXPECT_TRUE(absl::StrContains(result->summary, "causal top_left"));
  request.options.scale = 0.125;
  result = RunAttend(request, UniformAttention());
  EXPECT_TRUE(absl::StrContains(result->summary, "scale: 0.125\n"));
}

TEST(RunAttendTest, GradientsComeWithAnOutputGradient) {
  AttendRequest request;
  SafetensorsFile file = UniformAttention();
  file.tensors.push_back(
      StoreTensor("output_gradient", Tensor<double>({1, 1, 2, 1}, {1, 0})));
  absl::StatusOr<AttendResult> result = RunAttend(request, file);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Names(result->file),
            (std::vector<std::string>{"output", "log_sum_exp", "query_gradient",
                                      "key_gradient", "value_gradient"}));
  // dV = P^T dO; dS = P (dP - P . dP) = 1/2 (3 - 4), 1/2 (5 - 4); dK = dS^T Q.
  EXPECT_EQ(Elements(*result, "value_gradient"),
            (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(Elements(*result, "key_gradient"),
            (std::vector<double>{-0.5, 0.5}));
  EXPECT_EQ(Elements(*result, "query_gradient"), (std::vector<double>{0, 0}));
  file.tensors.push_back(StoreTensor("bias", Tensor<double>({1, 1, 1, 2})));
  result = RunAttend(request, file);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Elements(*result, "bias_gradient"),
            (std::vector<double>{-0.5, 0.5}));
}

// One key: its weight is 1, the output is its value, and the gradient of the
// value is that of the output.
TEST(RunAttendTest, ReferenceRunsForwardAndBackwardInBothPrecisions) {
  SafetensorsFile file;
  file.tensors = {
      StoreTensor("query", Tensor<double>({1, 1, 1, 1}, {2})),
      StoreTensor("key", Tensor<double>({1, 1, 1, 1}, {3})),
      StoreTensor("value", Tensor<double>({1, 1, 1, 2}, {5, -7})),
      StoreTensor("output_gradient", Tensor<double>({1, 1, 1, 2}, {11, 13}))};
  for (const Precision precision : {Precision::kFloat64, Precision::kFloat32}) {
    AttendRequest request;
    request.precision = precision;
    const absl::StatusOr<AttendResult> result = RunAttend(request, file);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->file.metadata.at("backend"), "reference");
    EXPECT_EQ(result->file.metadata.at("precision"), PrecisionName(precision));
    EXPECT_EQ(Elements(*result, "output"), (std::vector<double>{5, -7}));
    EXPECT_EQ(Elements(*result, "log_sum_exp"), (std::vector<double>{6}));
    EXPECT_EQ(Elements(*result, "value_gradient"),
              (std::vector<double>{11, 13}));
    EXPECT_EQ(Elements(*result, "query_gradient"), (std::vector<double>{0}));
  }
}

TEST(RunAttendTest, ErrorsComeThrough) {
  AttendRequest request;
  EXPECT_EQ(RunAttend(request, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace softlookup
