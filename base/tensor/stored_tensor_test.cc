#include "base/tensor/stored_tensor.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::string Bytes(const std::vector<T>& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()),
                     elements.size() * sizeof(T));
}

template <typename T>
StoredTensor Vector(Dtype dtype, const std::vector<T>& elements) {
  return StoreBytes("x", dtype, {static_cast<int64_t>(elements.size())},
                    Bytes(elements));
}

template <typename T>
std::vector<T> Load(const StoredTensor& stored) {
  const absl::StatusOr<Tensor<T>> tensor = LoadTensor<T>(stored);
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  if (!tensor.ok()) return {};
  EXPECT_EQ(tensor->shape(), stored.shape);
  return tensor->elements();
}

template <typename T>
std::string LoadError(const StoredTensor& stored) {
  const absl::Status status = LoadTensor<T>(stored).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(StoreTensorTest, TakesTheElementsWithoutACopy) {
  Tensor<float> tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const char* data = reinterpret_cast<const char*>(tensor.data());
  StoredTensor stored = StoreTensor("weights", std::move(tensor));
  EXPECT_EQ(stored.name, "weights");
  EXPECT_EQ(stored.dtype, Dtype::kF32);
  EXPECT_EQ(stored.shape, (Shape{2, 3}));
  EXPECT_EQ(stored.bytes.data(), data);
  EXPECT_EQ(stored.bytes.size(), 24u);
  // A copy keeps the bytes alive on its own.
  const StoredTensor copy = stored;
  stored = StoredTensor();
  EXPECT_THAT(Load<float>(copy), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(StoreTensorTest, EveryElementType) {
  EXPECT_EQ(StoreTensor("x", Tensor<double>({1}, {1.5})).bytes,
            std::string("\0\0\0\0\0\0\xf8\x3f", 8));
  EXPECT_EQ(StoreTensor("x", Tensor<float>({1}, {1.5f})).bytes,
            std::string("\0\0\xc0\x3f", 4));
  EXPECT_EQ(StoreTensor("x", Tensor<int64_t>({1}, {-2})).bytes,
            std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8));
  EXPECT_EQ(StoreTensor("x", Tensor<int32_t>({1}, {258})).bytes,
            std::string("\2\1\0\0", 4));
  EXPECT_EQ(StoreTensor("x", Tensor<double>({0})).dtype, Dtype::kF64);
  EXPECT_EQ(StoreTensor("x", Tensor<int64_t>({0})).dtype, Dtype::kI64);
  EXPECT_EQ(StoreTensor("x", Tensor<int32_t>({0})).dtype, Dtype::kI32);
  EXPECT_EQ(StoreTensor("x", Tensor<uint8_t>({1}, {9})).dtype, Dtype::kU8);
  const StoredTensor mask = StoreMask("m", Tensor<uint8_t>({3}, {0, 1, 1}));
  EXPECT_EQ(mask.dtype, Dtype::kBool);
  EXPECT_EQ(mask.name, "m");
  EXPECT_EQ(mask.bytes, std::string("\0\1\1", 3));
}

TEST(StoreTensorDeathTest, RefusesWhatIsNoMaskOrDoesNotFit) {
  EXPECT_DEATH(StoreMask("m", Tensor<uint8_t>({2}, {1, 2})), "a mask holds");
  EXPECT_DEATH(StoreBytes("x", Dtype::kF32, {2}, "1234567"), "as many bytes");
}

TEST(LoadTensorTest, FloatingTypesToDouble) {
  EXPECT_THAT(Load<double>(Vector<double>(Dtype::kF64, {0.1, -HUGE_VAL})),
              ElementsAre(0.1, -HUGE_VAL));
  EXPECT_THAT(Load<double>(Vector<float>(Dtype::kF32, {0.1f, -2})),
              ElementsAre(0.100000001490116119384765625, -2));
  // 1/3 in each format, by the format's definition: 1365/4096 and 171/512.
  EXPECT_THAT(Load<double>(Vector<uint16_t>(Dtype::kF16, {0x3555, 0xbc00})),
              ElementsAre(1365.0 / 4096, -1));
  EXPECT_THAT(Load<double>(Vector<uint16_t>(Dtype::kBF16, {0x3eab, 0xbf80})),
              ElementsAre(171.0 / 512, -1));
}

TEST(LoadTensorTest, FloatingTypesToFloat) {
  // 1 + 2^-24 is a tie between 1 and the next float: to even.
  EXPECT_THAT(Load<float>(Vector<double>(
                  Dtype::kF64, {1 + 0x1p-24, 1 + 0x1.8p-24, -HUGE_VAL})),
              ElementsAre(1, 1 + 0x1p-23f, -HUGE_VALF));
  EXPECT_THAT(Load<float>(Vector<float>(Dtype::kF32, {0.1f})),
              ElementsAre(0.1f));
  EXPECT_THAT(Load<float>(Vector<uint16_t>(Dtype::kF16, {0x3555})),
              ElementsAre(1365.0f / 4096));
  EXPECT_THAT(Load<float>(Vector<uint16_t>(Dtype::kBF16, {0x3eab})),
              ElementsAre(171.0f / 512));
}

TEST(LoadTensorTest, FiniteStaysFinite) {
  // The largest float is 2^128 - 2^104; from half a unit above it on, doubles
  // round to infinity.
  const double edge = 0x1.ffffffp127;
  EXPECT_THAT(Load<float>(Vector<double>(Dtype::kF64,
                                         {std::nextafter(edge, 0), HUGE_VAL})),
              ElementsAre(std::numeric_limits<float>::max(), HUGE_VALF));
  EXPECT_TRUE(
      std::isnan(Load<float>(Vector<double>(Dtype::kF64, {std::nan("")}))[0]));
  EXPECT_EQ(LoadError<float>(Vector<double>(Dtype::kF64, {0, -edge})),
            "tensor \"x\" has -3.40282e+38 at element 1; allowed in F64: what "
            "is finite as a float, up to 3.4028235e38");
}

TEST(LoadTensorTest, IntegerTypes) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Load<int64_t>(Vector<int64_t>(Dtype::kI64, {-kMax - 1, kMax})),
              ElementsAre(-kMax - 1, kMax));
  EXPECT_THAT(Load<int64_t>(Vector<int32_t>(Dtype::kI32, {-70000, 5})),
              ElementsAre(-70000, 5));
  EXPECT_THAT(Load<int64_t>(Vector<int16_t>(Dtype::kI16, {-300, 5})),
              ElementsAre(-300, 5));
  EXPECT_THAT(Load<int64_t>(Vector<int8_t>(Dtype::kI8, {-128, 5})),
              ElementsAre(-128, 5));
  EXPECT_THAT(Load<int64_t>(Vector<uint32_t>(Dtype::kU32, {4294967295u})),
              ElementsAre(4294967295));
  EXPECT_THAT(Load<int64_t>(Vector<uint16_t>(Dtype::kU16, {65535})),
              ElementsAre(65535));
  EXPECT_THAT(Load<int64_t>(Vector<uint8_t>(Dtype::kU8, {255})),
              ElementsAre(255));
  EXPECT_THAT(Load<int64_t>(Vector<uint64_t>(Dtype::kU64,
                                             {0, static_cast<uint64_t>(kMax)})),
              ElementsAre(0, kMax));
  EXPECT_EQ(
      LoadError<int64_t>(Vector<uint64_t>(Dtype::kU64, {7, uint64_t{1} << 63})),
      "tensor \"x\" has 9223372036854775808 at element 1; allowed in "
      "U64: 0 to 9223372036854775807");
}

TEST(LoadTensorTest, BytesAndMasks) {
  EXPECT_THAT(Load<uint8_t>(Vector<uint8_t>(Dtype::kU8, {0, 255})),
              ElementsAre(0, 255));
  EXPECT_THAT(Load<uint8_t>(Vector<uint8_t>(Dtype::kBool, {1, 0, 1})),
              ElementsAre(1, 0, 1));
  EXPECT_EQ(LoadError<uint8_t>(Vector<uint8_t>(Dtype::kBool, {1, 0, 2})),
            "tensor \"x\" has 2 at element 2; allowed in BOOL: 0, 1");
}

TEST(LoadTensorTest, RefusesOtherTypes) {
  EXPECT_EQ(LoadError<double>(Vector<int32_t>(Dtype::kI32, {1})),
            "tensor \"x\" has dtype I32; allowed: F64, F32, F16, BF16");
  EXPECT_EQ(LoadError<float>(Vector<uint8_t>(Dtype::kF8E4M3, {1})),
            "tensor \"x\" has dtype F8_E4M3; allowed: F64, F32, F16, BF16");
  EXPECT_EQ(LoadError<int64_t>(Vector<uint8_t>(Dtype::kBool, {1})),
            "tensor \"x\" has dtype BOOL; allowed: I64, I32, I16, I8, U64, "
            "U32, U16, U8");
  EXPECT_EQ(LoadError<uint8_t>(Vector<int8_t>(Dtype::kI8, {1})),
            "tensor \"x\" has dtype I8; allowed: BOOL, U8");
}

TEST(LoadTensorTest, EmptyAndScalar) {
  EXPECT_THAT(Load<double>(StoreBytes("x", Dtype::kF32, {0, 3}, "")),
              ElementsAre());
  EXPECT_THAT(Load<int64_t>(StoreBytes("x", Dtype::kI64, {0}, "")),
              ElementsAre());
  EXPECT_THAT(Load<double>(StoreTensor("x", Tensor<double>({}, {2.5}))),
              ElementsAre(2.5));
}

// Files need not align their elements.
TEST(LoadTensorTest, AnyAlignment) {
  const std::string bytes = Bytes<double>({1.25, -3});
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, '#') + bytes;
    StoredTensor stored;
    stored.dtype = Dtype::kF64;
    stored.shape = {2};
    stored.bytes = absl::string_view(shifted).substr(shift);
    EXPECT_THAT(Load<double>(stored), ElementsAre(1.25, -3)) << shift;
    EXPECT_THAT(Load<float>(stored), ElementsAre(1.25f, -3)) << shift;
  }
}

TEST(QuotedNameTest, StaysShortAndOnOneLine) {
  EXPECT_EQ(QuotedName("query"), "\"query\"");
  EXPECT_EQ(QuotedName("a\n\"b"), "\"a\\n\\\"b\"");
  EXPECT_EQ(QuotedName("\u67e5\u8be2"), "\"\u67e5\u8be2\"");
  EXPECT_EQ(QuotedName(std::string(80, 'a')),
            "\"" + std::string(80, 'a') + "\"");
  EXPECT_EQ(QuotedName(std::string(81, 'a')),
            "\"" + std::string(80, 'a') + "...\"");
  // Three bytes a character: 80 is inside the 27th, which is left out.
  std::string long_name;
  for (int n = 0; n < 30; ++n) long_name += "\u67e5";
  EXPECT_EQ(QuotedName(long_name), "\"" + long_name.substr(0, 78) + "...\"");
}

}  // namespace
}  // namespace softlookup
