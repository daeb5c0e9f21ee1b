#include "base/safetensors/safetensors_header.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

SafetensorsHeader Parse(const std::string& json) {
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(json, "f");
  EXPECT_TRUE(header.ok()) << json << ": " << header.status();
  return header.ok() ? *header : SafetensorsHeader();
}

// The message of the refusal, without the "f: " that names the source.
std::string Error(const std::string& json) {
  const absl::Status status = ParseSafetensorsHeader(json, "f").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << json;
  EXPECT_THAT(std::string(status.message()), StartsWith("f: "));
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
  return std::string(status.message().substr(3));
}

// A header of one tensor "x" with these members.
std::string One(const std::string& members) {
  return absl::StrCat("{\"x\":{", members, "}}");
}

std::string OneShape(const std::string& shape, const std::string& offsets,
                     const std::string& dtype = "U8") {
  return One(absl::StrCat("\"dtype\":\"", dtype, "\",\"shape\":", shape,
                          ",\"data_offsets\":", offsets));
}

TEST(ParseSafetensorsHeaderTest, Empty) {
  const SafetensorsHeader header = Parse("{}");
  EXPECT_TRUE(header.entries.empty());
  EXPECT_TRUE(header.metadata.empty());
  EXPECT_EQ(header.DataBytes(), 0);
  EXPECT_EQ(Parse("{}   \n\t ").DataBytes(), 0);
  EXPECT_TRUE(Parse("{\"__metadata__\":{}}").metadata.empty());
}

TEST(ParseSafetensorsHeaderTest, TensorsInTheOrderOfTheirData) {
  const SafetensorsHeader header = Parse(
      "{\"late\": {\"dtype\": \"I64\", \"shape\": [], "
      "\"data_offsets\": [24, 32]}, "
      "\"__metadata__\": {\"b\": \"2\", \"a\": \"\\u00fc\"}, "
      "\"early\": {\"data_offsets\": [0, 24], \"shape\": [2, 3], "
      "\"dtype\": \"F32\"}}");
  EXPECT_THAT(header.entries,
              ElementsAre(SafetensorsEntry{"early", Dtype::kF32, {2, 3}, 0, 24},
                          SafetensorsEntry{"late", Dtype::kI64, {}, 24, 32}));
  EXPECT_THAT(header.metadata,
              ElementsAre(Pair("a", "\u00fc"), Pair("b", "2")));
  EXPECT_EQ(header.DataBytes(), 32);
}

TEST(ParseSafetensorsHeaderTest, EmptyTensorsTakeNoPlace) {
  const SafetensorsHeader header = Parse(
      "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
      "\"c\":{\"dtype\":\"F64\",\"shape\":[7,0],\"data_offsets\":[1,1]},"
      "\"a\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}}");
  ASSERT_EQ(header.entries.size(), 3u);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.entries[1].name, "b");
  EXPECT_EQ(header.entries[2].name, "c");
}

TEST(ParseSafetensorsHeaderTest, NamesMayBeAnything) {
  EXPECT_EQ(Parse("{\"\":{\"dtype\":\"U8\",\"shape\":[0],"
                  "\"data_offsets\":[0,0]}}")
                .entries[0]
                .name,
            "");
  EXPECT_EQ(Parse("{\"a\\u0000b\\ud83d\\ude00\":{\"dtype\":\"U8\","
                  "\"shape\":[0],\"data_offsets\":[0,0]}}")
                .entries[0]
                .name,
            std::string("a\0b\xf0\x9f\x98\x80", 7));
}

TEST(ParseSafetensorsHeaderTest, RefusesWhatIsNotOneObject) {
  EXPECT_EQ(Error(""), "the header must begin with {");
  EXPECT_EQ(Error(" {}"), "the header must begin with {");
  EXPECT_EQ(Error("[]"), "the header must begin with {");
  EXPECT_THAT(Error("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(Error("{}{}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(Error("{} x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(Error("{\"x\":}"), HasSubstr("not valid JSON"));
  EXPECT_EQ(Error(std::string("{}\0\0", 4)), "the header has a NUL at byte 2");
  EXPECT_EQ(Error(std::string("{}  \0", 5)), "the header has a NUL at byte 4");
  // A token that is quoted in the message does not make it long.
  EXPECT_LT(Error("{\"" + std::string(100000, 'a')).size(), 400u);
}

TEST(ParseSafetensorsHeaderTest, RefusesWhatIsNotUtf8) {
  for (const char* bytes : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe6\x9f"}) {
    EXPECT_THAT(Error(absl::StrCat("{\"", bytes,
                                   "\":{\"dtype\":\"U8\",\"shape\":[0],"
                                   "\"data_offsets\":[0,0]}}")),
                HasSubstr("not valid JSON"));
    EXPECT_THAT(
        Error(absl::StrCat("{\"__metadata__\":{\"a\":\"", bytes, "\"}}")),
        HasSubstr("not valid JSON"));
  }
  // Half a surrogate pair.
  EXPECT_THAT(Error("{\"\\ud83d\":{}}"), HasSubstr("not valid JSON"));
}

TEST(ParseSafetensorsHeaderTest, RefusesDuplicates) {
  const std::string x =
      "\"x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  EXPECT_EQ(Error(absl::StrCat("{", x, ",", x, "}")),
            "tensor \"x\" appears twice");
  // The same name, spelt in another way.
  EXPECT_EQ(Error(absl::StrCat("{", x, ",\"\\u0078\":{}}")),
            "tensor \"x\" appears twice");
  EXPECT_EQ(Error("{\"__metadata__\":{},\"__metadata__\":{}}"),
            "__metadata__ appears twice");
  EXPECT_EQ(Error("{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}"),
            "__metadata__ has \"a\" twice");
  EXPECT_EQ(Error(One("\"dtype\":\"U8\",\"dtype\":\"U8\"")),
            "tensor \"x\" has \"dtype\" twice");
}

TEST(ParseSafetensorsHeaderTest, RefusesIncompleteEntries) {
  EXPECT_EQ(Error(One("\"shape\":[0],\"data_offsets\":[0,0]")),
            "tensor \"x\" has no dtype");
  EXPECT_EQ(Error(One("\"dtype\":\"U8\",\"data_offsets\":[0,0]")),
            "tensor \"x\" has no shape");
  EXPECT_EQ(Error(One("\"dtype\":\"U8\",\"shape\":[0]")),
            "tensor \"x\" has no data_offsets");
  EXPECT_EQ(Error(One("\"size\":0")),
            "tensor \"x\" has the unknown member \"size\"; allowed: dtype, "
            "shape, data_offsets");
  EXPECT_EQ(Error(OneShape("[0]", "[0]")),
            "tensor \"x\" needs two data_offsets, begin and end");
  EXPECT_EQ(Error(OneShape("[0]", "[]")),
            "tensor \"x\" needs two data_offsets, begin and end");
  EXPECT_EQ(Error(OneShape("[0]", "[0,0,0]")),
            "tensor \"x\" has more than two data_offsets");
}

TEST(ParseSafetensorsHeaderTest, RefusesUnknownDtypes) {
  EXPECT_THAT(Error(OneShape("[0]", "[0,0]", "F128")),
              StartsWith("tensor \"x\" has unknown dtype \"F128\"; allowed: "
                         "F64, F32, F16, BF16, "));
}

TEST(ParseSafetensorsHeaderTest, RefusesValuesOfTheWrongKind) {
  const std::string integers = "; allowed: integers from 0 to 2^63 - 1";
  EXPECT_EQ(Error(OneShape("[-1]", "[0,0]")),
            "tensor \"x\" has a negative number in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[-0]", "[0,0]")),
            "tensor \"x\" has a negative number in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[1.0]", "[0,1]")),
            "tensor \"x\" has the number 1.0 in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[1e0]", "[0,1]")),
            "tensor \"x\" has the number 1e0 in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[9223372036854775808]", "[0,1]")),
            "tensor \"x\" has the number 9223372036854775808 in its shape" +
                integers);
  EXPECT_EQ(Error(OneShape("[99999999999999999999]", "[0,1]")),
            "tensor \"x\" has the number 99999999999999999999 in its shape" +
                integers);
  EXPECT_EQ(Error(OneShape("[null]", "[0,1]")),
            "tensor \"x\" has null in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[true]", "[0,1]")),
            "tensor \"x\" has a boolean in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[\"1\"]", "[0,1]")),
            "tensor \"x\" has a string in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[[1]]", "[0,1]")),
            "tensor \"x\" has an array in its shape" + integers);
  EXPECT_EQ(Error(OneShape("[{}]", "[0,1]")),
            "tensor \"x\" has an object in its shape" + integers);
  EXPECT_EQ(
      Error(OneShape("[1]", "[0,-1]")),
      "tensor \"x\" has a negative number in its data_offsets" + integers);
  EXPECT_EQ(Error(OneShape("[1]", "[0,0.5]")),
            "tensor \"x\" has the number 0.5 in its data_offsets" + integers);
  EXPECT_EQ(Error(OneShape("1", "[0,1]")),
            "tensor \"x\" needs an array as shape, found a number");
  EXPECT_EQ(Error(OneShape("[1]", "{}")),
            "tensor \"x\" needs an array as data_offsets, found an object");
  EXPECT_EQ(Error(OneShape("[1]", "\"0\"")),
            "tensor \"x\" needs an array as data_offsets, found a string");
  EXPECT_EQ(Error(One("\"dtype\":8")),
            "tensor \"x\" needs a string as dtype, found a number");
  EXPECT_EQ(Error(One("\"dtype\":[]")),
            "tensor \"x\" needs a string as dtype, found an array");
  EXPECT_EQ(Error("{\"x\":[]}"),
            "tensor \"x\" must be an object, found an array");
  EXPECT_EQ(Error("{\"x\":\"y\"}"),
            "tensor \"x\" must be an object, found a string");
  EXPECT_EQ(Error("{\"__metadata__\":\"y\"}"),
            "__metadata__ must be an object, found a string");
  EXPECT_EQ(Error("{\"__metadata__\":{\"a\":1}}"),
            "__metadata__ must hold strings, found a number at \"a\"");
  EXPECT_EQ(Error("{\"__metadata__\":{\"a\":{}}}"),
            "__metadata__ must hold strings, found an object at \"a\"");
  EXPECT_EQ(Error("{\"__metadata__\":{\"a\":[]}}"),
            "__metadata__ must hold strings, found an array at \"a\"");
  // An overflow in a number is the JSON library's to find.
  EXPECT_THAT(Error(OneShape("[1e999]", "[0,1]")), HasSubstr("not valid JSON"));
}

TEST(ParseSafetensorsHeaderTest, RefusesSizesThatDoNotFit) {
  EXPECT_EQ(Error(OneShape("[3]", "[0,2]")),
            "tensor \"x\" has data_offsets [0, 2]; shape [3] of U8 needs 3 "
            "bytes");
  EXPECT_EQ(Error(OneShape("[3]", "[0,4]")),
            "tensor \"x\" has data_offsets [0, 4]; shape [3] of U8 needs 3 "
            "bytes");
  EXPECT_EQ(Error(OneShape("[2]", "[0,2]", "F16")),
            "tensor \"x\" has data_offsets [0, 2]; shape [2] of F16 needs 4 "
            "bytes");
  EXPECT_EQ(Error(OneShape("[1]", "[1,0]")),
            "tensor \"x\" has data_offsets [1, 0]; shape [1] of U8 needs 1 "
            "bytes");
  // A product that wraps to the right number of bytes in 64 bits.
  EXPECT_THAT(Error(OneShape("[4294967296,4294967296]", "[0,0]")),
              HasSubstr("no whole number of bytes"));
  EXPECT_THAT(Error(OneShape("[2305843009213693952]", "[0,0]", "F64")),
              HasSubstr("no whole number of bytes"));
  EXPECT_THAT(Error(OneShape("[3]", "[0,1]", "F4")),
              HasSubstr("no whole number of bytes"));
}

TEST(ParseSafetensorsHeaderTest, RefusesGapsAndOverlaps) {
  EXPECT_EQ(Error(OneShape("[1]", "[1,2]")),
            "tensor \"x\" begins at byte 1, after a gap: expected 0");
  const auto two = [](const std::string& offsets) {
    return absl::StrCat(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":",
        offsets, "}}");
  };
  EXPECT_EQ(Parse(two("[2,4]")).DataBytes(), 4);
  EXPECT_EQ(Error(two("[3,5]")),
            "tensor \"b\" begins at byte 3, after a gap: expected 2");
  EXPECT_EQ(Error(two("[1,3]")),
            "tensor \"b\" begins at byte 1, inside the tensor before it: "
            "expected 2");
  EXPECT_EQ(Error(two("[0,2]")),
            "tensor \"b\" begins at byte 0, inside the tensor before it: "
            "expected 2");
}

TEST(ParseSafetensorsHeaderTest, RefusesTooManyDimensions) {
  std::string shape = "1";
  for (int n = 1; n < kMaxSafetensorsRank; ++n) shape += ",1";
  EXPECT_EQ(Parse(OneShape("[" + shape + "]", "[0,1]")).entries[0].shape.size(),
            64u);
  EXPECT_EQ(Error(OneShape("[" + shape + ",1]", "[0,1]")),
            "tensor \"x\" has more than 64 dimensions");
}

TEST(ParseSafetensorsHeaderTest, DepthCostsNothing) {
  const std::string deep(1000000, '[');
  EXPECT_THAT(Error("{\"x\":" + deep), HasSubstr("must be an object"));
}

TEST(FormatSafetensorsHeaderTest, IsWhatTheFormatSays) {
  SafetensorsHeader header;
  EXPECT_EQ(*FormatSafetensorsHeader(header), "{}      ");
  header.entries = {{"query", Dtype::kF32, {2, 3}, 0, 24},
                    {"\"\n", Dtype::kBool, {}, 24, 25}};
  header.metadata = {{"b", "2"}, {"a", "1"}};
  std::string expected =
      "{\"__metadata__\":{\"a\":\"1\",\"b\":\"2\"},"
      "\"query\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
      "\"\\\"\\n\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[24,25]}}";
  const std::string text = *FormatSafetensorsHeader(header);
  EXPECT_EQ(text.size() % 8, 0u);
  EXPECT_LT(text.size() - expected.size(), 8u);
  expected.resize(text.size(), ' ');
  EXPECT_EQ(text, expected);
  EXPECT_EQ(Parse(text).entries, header.entries);
  EXPECT_EQ(Parse(text).metadata, header.metadata);
}

TEST(FormatSafetensorsHeaderTest, RefusesWhatTheFormatCannotHold) {
  SafetensorsHeader header;
  header.entries = {{"\xff", Dtype::kU8, {0}, 0, 0}};
  EXPECT_THAT(std::string(FormatSafetensorsHeader(header).status().message()),
              HasSubstr("not UTF-8"));
  header.entries.clear();
  header.metadata = {{"a", "\xff"}};
  EXPECT_THAT(std::string(FormatSafetensorsHeader(header).status().message()),
              HasSubstr("not UTF-8"));
  // 100,000,000 bytes are allowed: all but {"__metadata__":{"a":""}}.
  const size_t room =
      100'000'000 - std::string("{\"__metadata__\":{\"a\":\"\"}}").size();
  header.metadata = {{"a", std::string(room, 'a')}};
  EXPECT_EQ(FormatSafetensorsHeader(header)->size(), 100'000'000u);
  header.metadata["a"] += "a";
  EXPECT_EQ(FormatSafetensorsHeader(header).status().message(),
            "the header would have 100000008 bytes; the format allows "
            "100000000");
}

}  // namespace
}  // namespace softlookup
