#include "base/safetensors/safetensors.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::HasSubstr;

std::string Length(uint64_t length) {
  std::string bytes(8, '\0');
  for (int n = 0; n < 8; ++n) {
    bytes[n] = static_cast<char>(length >> (8 * n) & 0xff);
  }
  return bytes;
}

// A file made by hand.
std::string File(const std::string& header, const std::string& data) {
  return Length(header.size()) + header + data;
}

constexpr char kTwoTensors[] =
    "{\"__metadata__\":{\"k\":\"v\"},"
    "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]},"
    "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}";
const std::string kTwoTensorsData("\0\0\xc0\x3fxyz", 7);

std::string Error(std::string bytes) {
  const absl::Status status =
      ParseSafetensors(std::move(bytes), "in.safetensors").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

void ExpectEqual(const SafetensorsFile& a, const SafetensorsFile& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  EXPECT_EQ(a.tensors.size(), b.tensors.size());
  for (const StoredTensor& tensor : a.tensors) {
    const StoredTensor* other = b.Find(tensor.name);
    ASSERT_NE(other, nullptr) << tensor.name;
    EXPECT_EQ(tensor.dtype, other->dtype) << tensor.name;
    EXPECT_EQ(tensor.shape, other->shape) << tensor.name;
    EXPECT_EQ(tensor.bytes, other->bytes) << tensor.name;
  }
}

TEST(ParseSafetensorsTest, TensorsAndMetadata) {
  absl::StatusOr<SafetensorsFile> parsed =
      ParseSafetensors(File(kTwoTensors, kTwoTensorsData), "in");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  // Moving the file moves no bytes.
  const SafetensorsFile file = *std::move(parsed);
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[1].name, "b");
  EXPECT_EQ(file.metadata.at("k"), "v");
  EXPECT_EQ((*LoadTensor<double>(*file.Find("a")))[0], 1.5);
  EXPECT_EQ(file.Find("b")->bytes, "xyz");
  EXPECT_EQ(file.Find("c"), nullptr);
}

TEST(ParseSafetensorsTest, TensorsOutliveTheFile) {
  StoredTensor kept;
  {
    const SafetensorsFile file =
        *ParseSafetensors(File(kTwoTensors, kTwoTensorsData), "in");
    kept = *file.Find("b");
  }
  EXPECT_EQ(kept.bytes, "xyz");
}

TEST(ParseSafetensorsTest, EveryTruncationIsAnError) {
  const std::string bytes = File(kTwoTensors, kTwoTensorsData);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(Error(bytes.substr(0, size)), HasSubstr("truncated")) << size;
  }
  EXPECT_EQ(Error(""),
            "in.safetensors: truncated: 0 bytes are no safetensors "
            "file");
  EXPECT_EQ(Error(Length(2) + "{"),
            "in.safetensors: truncated: a header of 2 bytes in a file of 9");
  EXPECT_EQ(Error(File(kTwoTensors, "1234")),
            "in.safetensors: truncated: 4 bytes of data, where the header "
            "describes 7");
}

TEST(ParseSafetensorsTest, TrailingBytes) {
  EXPECT_EQ(Error(File(kTwoTensors, kTwoTensorsData + "12")),
            "in.safetensors: 2 trailing bytes after the data that the header "
            "describes");
  EXPECT_TRUE(ParseSafetensors(File("{}", ""), "in").ok());
  EXPECT_THAT(Error(File("{}", "1")), HasSubstr("1 trailing bytes"));
}

TEST(ParseSafetensorsTest, HeaderLimits) {
  EXPECT_THAT(Error(Length(0)), HasSubstr("must begin with {"));
  EXPECT_EQ(Error(Length(100'000'001)),
            "in.safetensors: not a safetensors file: a header of 100000001 "
            "bytes; the format allows 100000000");
  EXPECT_THAT(Error(Length(UINT64_MAX)),
              HasSubstr("a header of 18446744073709551615 bytes"));
  // At the limit it is the missing bytes that matter.
  EXPECT_THAT(Error(Length(100'000'000)), HasSubstr("truncated"));
  std::string header = "{}";
  header.resize(100'000'000, ' ');
  EXPECT_TRUE(ParseSafetensors(File(header, ""), "in").ok());
}

TEST(ParseSafetensorsTest, NamesTheSource) {
  EXPECT_EQ(Error(File("[]", "")),
            "in.safetensors: the header must begin with {");
}

TEST(SerializeSafetensorsTest, LaysDataOutByElementSize) {
  SafetensorsFile file;
  file.tensors.push_back(StoreMask("mask", Tensor<uint8_t>({1}, {1})));
  file.tensors.push_back(StoreTensor("second", Tensor<double>({1}, {2})));
  file.tensors.push_back(
      StoreBytes("half", Dtype::kF16, {1}, std::string("\0\x3c", 2)));
  file.tensors.push_back(StoreTensor("first", Tensor<double>({1}, {1.5})));
  const std::string bytes = *SerializeSafetensors(file);
  const std::string data("\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\xf8\x3f\0\x3c\1", 19);
  const std::string header = bytes.substr(8, bytes.size() - 8 - data.size());
  EXPECT_EQ(bytes, File(header, data));
  EXPECT_EQ(header.size() % 8, 0u);
  EXPECT_EQ(
      header.substr(0, header.find_last_of('}') + 1),
      "{\"second\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
      "\"first\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]},"
      "\"half\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[16,18]},"
      "\"mask\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[18,19]"
      "}}");
}

TEST(SerializeSafetensorsTest, RefusesWhatTheFormatCannotHold) {
  const auto error = [](StoredTensor a, StoredTensor b) {
    SafetensorsFile file;
    file.tensors = {std::move(a), std::move(b)};
    const absl::Status status = SerializeSafetensors(file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const StoredTensor fine = StoreTensor("x", Tensor<float>({2}));
  EXPECT_EQ(error(fine, fine), "tensor \"x\" appears twice");
  EXPECT_EQ(error(fine, StoreTensor("__metadata__", Tensor<float>({2}))),
            "tensor name \"__metadata__\" is reserved by the format");
  EXPECT_THAT(error(fine, StoreTensor("\xff", Tensor<float>({2}))),
              HasSubstr("not UTF-8"));
  StoredTensor wrong = StoreTensor("y", Tensor<float>({2}));
  wrong.shape = {3};
  EXPECT_EQ(error(fine, wrong),
            "tensor \"y\" has 8 bytes, which do not fit shape [3] of F32");
}

// A file with drawn names, types, shapes and bytes.
SafetensorsFile Draw(RandomStream& random) {
  SafetensorsFile file;
  const int tensors = static_cast<int>(random.UniformInt(5));
  for (int n = 0; n < tensors; ++n) {
    const Dtype dtype = static_cast<Dtype>(random.UniformInt(22));
    Shape shape;
    const int rank = static_cast<int>(random.UniformInt(4));
    for (int axis = 0; axis < rank; ++axis) {
      shape.push_back(random.UniformInt(5));
    }
    // Types narrower than a byte need a whole number of bytes.
    if (DtypeBits(dtype) < 8) shape.push_back(4);
    std::string bytes(*TensorBytes(dtype, shape), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.UniformInt(256));
    std::string name = absl::StrCat(n, "\u67e5\n");
    if (random.UniformInt(2) == 0) name += "\"\\";
    file.tensors.push_back(StoreBytes(name, dtype, shape, bytes));
  }
  if (random.UniformInt(2) == 0) file.metadata["\u00fc"] = "a\tb";
  return file;
}

TEST(SerializeSafetensorsTest, DrawnFilesSurviveTheRoundTrip) {
  constexpr uint64_t kSeed = 7;
  for (uint64_t draw = 0; draw < 1000; ++draw) {
    SCOPED_TRACE(absl::StrCat("seed ", kSeed, ", draw ", draw));
    RandomStream random(kSeed, absl::StrCat("safetensors ", draw));
    const SafetensorsFile file = Draw(random);
    const std::string bytes = *SerializeSafetensors(file);
    const absl::StatusOr<SafetensorsFile> parsed = ParseSafetensors(bytes, "f");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ExpectEqual(*parsed, file);
    EXPECT_EQ(*SerializeSafetensors(*parsed), bytes);
  }
}

TEST(WriteSafetensorsTest, WritesTheSerializedBytes) {
  const std::string path =
      absl::StrCat(testing::TempDir(), "/written.safetensors");
  RandomStream random(3, "write");
  SafetensorsFile file = Draw(random);
  file.tensors.push_back(StoreTensor("x", Tensor<float>({1000})));
  ASSERT_TRUE(WriteSafetensors(path, file).ok());
  EXPECT_EQ(*ReadFile(path), *SerializeSafetensors(file));
  const absl::StatusOr<SafetensorsFile> read = ReadSafetensors(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectEqual(*read, file);

  // A file that cannot be written leaves the one that is there.
  file.tensors.push_back(file.tensors.back());
  EXPECT_FALSE(WriteSafetensors(path, file).ok());
  ExpectEqual(*ReadSafetensors(path), *read);
}

TEST(ReadSafetensorsTest, NamesThePath) {
  EXPECT_EQ(ReadSafetensors("/nonexistent/x").status().code(),
            absl::StatusCode::kNotFound);
  const std::string path = absl::StrCat(testing::TempDir(), "/short");
  ASSERT_TRUE(WriteFileAtomically(path, "1234").ok());
  EXPECT_EQ(ReadSafetensors(path).status().message(),
            absl::StrCat(path, ": truncated: 4 bytes are no safetensors file"));
}

}  // namespace
}  // namespace softlookup
