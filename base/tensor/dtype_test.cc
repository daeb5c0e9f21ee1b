#include "base/tensor/dtype.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

// The format's types and their bits, from the format's documentation.
const std::vector<std::pair<std::string, int>> kFormat = {
    {"F64", 64},        {"F32", 32},        {"F16", 16},    {"BF16", 16},
    {"I64", 64},        {"I32", 32},        {"I16", 16},    {"I8", 8},
    {"U64", 64},        {"U32", 32},        {"U16", 16},    {"U8", 8},
    {"BOOL", 8},        {"C64", 64},        {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F8_E8M0", 8}, {"F6_E2M3", 6},
    {"F6_E3M2", 6},     {"F4", 4},
};

TEST(DtypeTest, NamesAndSizes) {
  std::string all;
  for (const auto& [name, bits] : kFormat) {
    const std::optional<Dtype> dtype = DtypeFromName(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_EQ(DtypeName(*dtype), name);
    EXPECT_EQ(DtypeBits(*dtype), bits) << name;
    all += (all.empty() ? "" : ", ") + name;
  }
  EXPECT_EQ(AllDtypeNames(), all);
  EXPECT_EQ(*DtypeFromName("F16"), Dtype::kF16);
  EXPECT_EQ(*DtypeFromName("BOOL"), Dtype::kBool);
}

TEST(DtypeTest, UnknownNames) {
  for (const char* name : {"", "F", "f32", "F32 ", "F128", "BOOLEAN"}) {
    EXPECT_FALSE(DtypeFromName(name).has_value()) << name;
  }
}

TEST(TensorBytesTest, Counts) {
  EXPECT_EQ(TensorBytes(Dtype::kF32, {2, 3}), 24);
  EXPECT_EQ(TensorBytes(Dtype::kF64, {}), 8);
  EXPECT_EQ(TensorBytes(Dtype::kBF16, {5, 0}), 0);
  EXPECT_EQ(TensorBytes(Dtype::kBool, {7}), 7);
  EXPECT_EQ(TensorBytes(Dtype::kF4, {2, 3}), 3);
  EXPECT_EQ(TensorBytes(Dtype::kF6E2M3, {4}), 3);
}

TEST(TensorBytesTest, RefusesWhatHasNoByteCount) {
  EXPECT_EQ(TensorBytes(Dtype::kF32, {-1}), std::nullopt);
  EXPECT_EQ(TensorBytes(Dtype::kF4, {3}), std::nullopt);
  EXPECT_EQ(TensorBytes(Dtype::kF6E3M2, {5}), std::nullopt);
  // 2^60 elements of 8 bits are 2^63 bits, one too many for int64_t.
  EXPECT_EQ(TensorBytes(Dtype::kU8, {int64_t{1} << 60}), std::nullopt);
  EXPECT_EQ(TensorBytes(Dtype::kU8, {int64_t{1} << 59}), int64_t{1} << 59);
  EXPECT_EQ(TensorBytes(Dtype::kU8, {int64_t{1} << 32, int64_t{1} << 32}),
            std::nullopt);
}

}  // namespace
}  // namespace softlookup
