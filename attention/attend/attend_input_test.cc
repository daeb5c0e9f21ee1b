#include "attention/attend/attend_input.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/memory.h"
#include "base/tensor/stored_tensor.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

int64_t Scratch(const AttentionSizes& sizes) {
  return 40 * sizes.queries * sizes.keys;
}

// B 2, H 2, Hkv 1, Tq 1, Tk 3, D 1, Dv 2.
SafetensorsFile Valid() {
  SafetensorsFile file;
  file.tensors = {
      StoreTensor("query", Tensor<double>({2, 2, 1, 1}, {1, 2, 3, 4})),
      StoreTensor("key", Tensor<float>({2, 1, 3, 1}, {1, 2, 3, 4, 5, 6})),
      StoreTensor("value", Tensor<double>({2, 1, 3, 2}))};
  return file;
}

SafetensorsFile With(StoredTensor tensor) {
  SafetensorsFile file = Valid();
  file.tensors.push_back(std::move(tensor));
  return file;
}

std::string Error(const SafetensorsFile& file,
                  const AttendRequest& request = {}) {
  const absl::Status status =
      AttendInput<double>::Load(file, request, Scratch).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(AttendInputTest, HoldsWhatTheFileHolds) {
  SafetensorsFile file = Valid();
  file.tensors.push_back(
      StoreTensor("bias", Tensor<double>({1, 1, 1, 3}, {7, 8, 9})));
  file.tensors.push_back(
      StoreMask("mask", Tensor<uint8_t>({2, 1, 1, 1}, {1, 0})));
  file.tensors.push_back(
      StoreTensor("key_lengths", Tensor<int64_t>({2}, {3, 1})));
  file.tensors.push_back(
      StoreTensor("key_starts", Tensor<int32_t>({2}, {0, 2})));
  file.tensors.push_back(
      StoreTensor("output_gradient", Tensor<double>({2, 2, 1, 2})));
  AttendRequest request;
  request.causal = CausalAlignment::kTopLeft;
  absl::StatusOr<AttendInput<double>> loaded =
      AttendInput<double>::Load(file, request, Scratch);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  // It owns what it holds.
  file.tensors.clear();
  const AttendInput<double> input = *std::move(loaded);
  EXPECT_EQ(input.sizes().ScoreShape(), (Shape{2, 2, 1, 3}));
  EXPECT_EQ(input.sizes().key_heads, 1);
  EXPECT_EQ(input.sizes().value_width, 2);
  const AttentionInputs<double> inputs = input.inputs();
  EXPECT_EQ(inputs.query(1, 0, 0, 0), 3);
  EXPECT_EQ(inputs.key(1, 0, 2, 0), 6);
  EXPECT_EQ(inputs.value.shape(), (Shape{2, 1, 3, 2}));
  EXPECT_EQ((*inputs.bias)(0, 0, 0, 1), 8);
  EXPECT_EQ((*inputs.mask.allowed)(1, 0, 0, 0), 0);
  EXPECT_EQ(inputs.mask.causal, CausalAlignment::kTopLeft);
  EXPECT_EQ(inputs.mask.key_lengths[1], 1);
  EXPECT_EQ(inputs.mask.key_starts[1], 2);
  EXPECT_EQ(input.output_gradient()->shape(), (Shape{2, 2, 1, 2}));
}

TEST(AttendInputTest, OptionalTensorsMayBeAbsent) {
  const absl::StatusOr<AttendInput<float>> input =
      AttendInput<float>::Load(Valid(), {}, Scratch);
  ASSERT_TRUE(input.ok()) << input.status();
  const AttentionInputs<float> inputs = input->inputs();
  EXPECT_FALSE(inputs.bias.has_value());
  EXPECT_FALSE(inputs.mask.allowed.has_value());
  EXPECT_TRUE(inputs.mask.key_lengths.empty());
  EXPECT_TRUE(inputs.mask.key_starts.empty());
  EXPECT_FALSE(input->output_gradient().has_value());
}

TEST(AttendInputTest, RefusesNamesTypesAndShapes) {
  EXPECT_EQ(Error({}), "no tensor \"query\"; needed: query, key, value");
  EXPECT_EQ(Error(With(StoreTensor("masks", Tensor<uint8_t>({1}, {1})))),
            "unknown tensor \"masks\"; allowed: query, key, value, bias, mask, "
            "key_lengths, key_starts, output_gradient");
  EXPECT_EQ(Error(With(StoreTensor("mask", Tensor<uint8_t>({1, 1, 1, 3})))),
            "mask has dtype U8; allowed: BOOL");
  EXPECT_EQ(Error(With(StoreTensor("bias", Tensor<int64_t>({1, 1, 1, 3})))),
            "bias has dtype I64; allowed: F64, F32, F16, BF16");
  EXPECT_EQ(Error(With(StoreTensor("key_starts", Tensor<double>({2})))),
            "key_starts has dtype F64; allowed: I64, I32");
  EXPECT_EQ(Error(With(StoreTensor("key_lengths", Tensor<int64_t>({0})))),
            "key_lengths has shape [0]; allowed: [B] = [2]");
  EXPECT_EQ(Error(With(StoreTensor("key_starts", Tensor<int64_t>({2, 1})))),
            "key_starts has shape [2, 1]; allowed: [B] = [2]");
  EXPECT_EQ(
      Error(With(StoreTensor("key_lengths", Tensor<int64_t>({2}, {0, 4})))),
      "key_lengths[1] is 4; allowed: 0 to Tk = 3");
  EXPECT_TRUE(absl::StrContains(
      Error(With(StoreTensor("bias", Tensor<double>({1, 3, 1, 1})))),
      "bias has shape [1, 3, 1, 1]"));
  EXPECT_TRUE(absl::StrContains(
      Error(With(StoreTensor("output_gradient", Tensor<double>({2, 2, 1, 3})))),
      "output_gradient has shape [2, 2, 1, 3]"));
}

TEST(AttendInputTest, RefusesOptionsThatTheTensorsDoNotAllow) {
  AttendRequest request;
  request.options.fully_masked = FullyMasked::kNaN;
  const SafetensorsFile file =
      With(StoreTensor("output_gradient", Tensor<double>({2, 2, 1, 2})));
  EXPECT_TRUE(absl::StrContains(Error(file, request), "has no gradient"));
  EXPECT_TRUE(AttendInput<double>::Load(Valid(), request, Scratch).ok());
}

// Each part of what is counted, by the number in the refusal.
TEST(AttendInputTest, CountsTheMemory) {
  // Scratch that is too much by itself.
  const int64_t most = UsableMemory();
  const auto scratch = [most](const AttentionSizes& sizes) {
    return most * sizes.queries * sizes.keys;
  };
  const auto needed = [scratch, most](const SafetensorsFile& file,
                                      const AttendRequest& request = {}) {
    const std::string message(
        AttendInput<double>::Load(file, request, scratch).status().message());
    const std::string prefix =
        "attention with scores [B, H, Tq, Tk] = [2, 2, 1, 3] needs ";
    EXPECT_EQ(message.substr(0, prefix.size()), prefix);
    return std::stoll(message.substr(prefix.size())) - 3 * most;
  };
  // The file: 4 doubles, 6 floats, 12 doubles. The tensors as doubles: query 4,
  // key 6, value 12, output 8, log-sum-exp 4.
  const int64_t plain = 32 + 24 + 96 + 8 * (4 + 6 + 12 + 8 + 4);
  EXPECT_EQ(needed(Valid()), plain);
  EXPECT_EQ(needed(With(StoreTensor("bias", Tensor<double>({1, 1, 1, 3})))),
            plain + 24 + 8 * 3);
  EXPECT_EQ(needed(With(StoreMask("mask", Tensor<uint8_t>({2, 1, 1, 3})))),
            plain + 6 + 6);
  AttendRequest request;
  request.options.weights = true;
  EXPECT_EQ(needed(Valid(), request), plain + 8 * 12);
  EXPECT_EQ(needed(With(
                StoreTensor("output_gradient", Tensor<double>({2, 2, 1, 2})))),
            plain + 64 + 8 * (8 + 4 + 6 + 12));
  // As floats each element takes half.
  const std::string message(
      AttendInput<float>::Load(Valid(), {}, scratch).status().message());
  EXPECT_TRUE(absl::StrContains(
      message, absl::StrCat("needs ", 152 + 4 * 34 + 3 * most, " bytes")))
      << message;
}

}  // namespace
}  // namespace softlookup
