#include "base/json.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/random/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ParseError(const std::string& text) {
  const absl::Status status = ParseJson(text, "source").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(status.message()), StartsWith("source: "));
  return std::string(status.message());
}

TEST(ShortestDoubleTest, KnownValues) {
  EXPECT_EQ(ShortestDouble(0.1), "0.1");
  EXPECT_EQ(ShortestDouble(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(ShortestDouble(3), "3.0");
  EXPECT_EQ(ShortestDouble(0), "0.0");
  EXPECT_EQ(ShortestDouble(-0.0), "-0.0");
  EXPECT_EQ(ShortestDouble(1e-50), "1e-50");
  EXPECT_EQ(ShortestDouble(1e22), "1e+22");
  EXPECT_EQ(ShortestDouble(5e-324), "5e-324");
  EXPECT_EQ(ShortestDouble(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(ShortestDouble(std::nan("")), "NaN");
  EXPECT_EQ(ShortestDouble(-std::nan("")), "NaN");
  EXPECT_EQ(ShortestDouble(HUGE_VAL), "Infinity");
  EXPECT_EQ(ShortestDouble(-HUGE_VAL), "-Infinity");
}

// Read back by the C library, and by our reader: the same bits.
TEST(ShortestDoubleTest, RoundTripsDrawnBits) {
  constexpr uint64_t kSeed = 11;
  RandomStream random(kSeed, "json");
  for (int draw = 0; draw < 20000; ++draw) {
    const uint64_t bits =
        static_cast<uint64_t>(random.Word()) << 32 | random.Word();
    const double value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) continue;
    const std::string text = ShortestDouble(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)), bits)
        << "seed " << kSeed << ", draw " << draw << ", " << text;
    const Json json = *ParseJson(text, "drawn");
    ASSERT_TRUE(json.is_number_float()) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(json.get<double>()), bits) << text;
  }
}

TEST(DumpJsonTest, Scalars) {
  EXPECT_EQ(DumpJson(Json(nullptr)), "null\n");
  EXPECT_EQ(DumpJson(Json(true)), "true\n");
  EXPECT_EQ(DumpJson(Json(3)), "3\n");
  EXPECT_EQ(DumpJson(Json(3.0)), "3.0\n");
  EXPECT_EQ(DumpJson(Json("a\"\n\u6ce8")), "\"a\\\"\\n\u6ce8\"\n");
  EXPECT_EQ(DumpJson(Json(std::numeric_limits<int64_t>::min())),
            "-9223372036854775808\n");
  EXPECT_EQ(DumpJson(Json(std::numeric_limits<uint64_t>::max())),
            "18446744073709551615\n");
}

TEST(DumpJsonTest, NonFiniteNumbersAreStrings) {
  const Json json = {std::nan(""), HUGE_VAL, -HUGE_VAL, 1.5};
  const std::string text = "[\"NaN\", \"Infinity\", \"-Infinity\", 1.5]\n";
  EXPECT_EQ(DumpJson(json), text);
  const Json back = *ParseJson(text, "text");
  EXPECT_TRUE(std::isnan(*JsonNumber(back[0])));
  EXPECT_EQ(*JsonNumber(back[1]), HUGE_VAL);
  EXPECT_EQ(*JsonNumber(back[2]), -HUGE_VAL);
  EXPECT_EQ(*JsonNumber(back[3]), 1.5);
}

TEST(DumpJsonTest, Layout) {
  Json json;
  json["b"] = {0.25, 0.5};
  json["a"]["nested"] = {{{"x", 1}}, {2, 3}};
  json["a"]["empty"] = Json::object();
  json["none"] = Json::array();
  json["matrix"] = {{1, 2}, {3, 4}};
  json["quo\"ted"] = "text";
  EXPECT_EQ(DumpJson(json),
            "{\n"
            "  \"b\": [0.25, 0.5],\n"
            "  \"a\": {\n"
            "    \"nested\": [\n"
            "      {\n"
            "        \"x\": 1\n"
            "      },\n"
            "      [2, 3]\n"
            "    ],\n"
            "    \"empty\": {}\n"
            "  },\n"
            "  \"none\": [],\n"
            "  \"matrix\": [\n"
            "    [1, 2],\n"
            "    [3, 4]\n"
            "  ],\n"
            "  \"quo\\\"ted\": \"text\"\n"
            "}\n");
}

TEST(DumpJsonTest, LongArraysAreBroken) {
  Json json;
  json["n"] = Json::array();
  // Each is "1234567890, ": twelve characters.
  for (int n = 0; n < 20; ++n) json["n"].push_back(1234567890);
  const std::string text = DumpJson(json);
  EXPECT_EQ(*ParseJson(text, "text"), json);
  size_t longest = 0;
  size_t lines = 0;
  for (size_t begin = 0; begin < text.size(); ++lines) {
    const size_t end = text.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  // Nine numbers pass a hundred characters, so the next begins a line.
  EXPECT_EQ(lines, 5u);
  EXPECT_LE(longest, 125u);
  EXPECT_THAT(text, HasSubstr(",\n    1234567890, 1234567890"));
}

TEST(DumpJsonTest, WhatWasReadIsWrittenAgain) {
  const std::string text =
      "{\n"
      "  \"z\": 1,\n"
      "  \"a\": [1.0, -0.0, 1e-300, 2],\n"
      "  \"m\": {\n"
      "    \"k\": null\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(DumpJson(*ParseJson(text, "text")), text);
}

TEST(ParseJsonTest, Values) {
  const Json json =
      *ParseJson(" {\"a\": [1, 2.5, \"x\", null, true], \"b\": {}} \n", "s");
  EXPECT_EQ(json["a"][1], 2.5);
  EXPECT_EQ(json["a"][2], "x");
  EXPECT_TRUE(json["b"].empty());
}

TEST(ParseJsonTest, RefusesWhatIsNotOneValue) {
  for (const char* text : {"", " ", "{", "{]", "[1,]", "{\"a\":1,}", "{a:1}",
                           "1 2", "{} {}", "nul", "NaN", "Infinity", "01", "+1",
                           ".5", "'a'", "\"a", "\"\t\"", "// comment\n1"}) {
    EXPECT_THAT(ParseError(text), HasSubstr("not valid JSON")) << text;
  }
}

TEST(ParseJsonTest, RefusesNul) {
  // The JSON library by itself takes a NUL for the end.
  EXPECT_EQ(ParseError(std::string("{}\0{", 4)),
            "source: not valid JSON: NUL at byte 2");
  EXPECT_EQ(ParseError(std::string("\0", 1)),
            "source: not valid JSON: NUL at byte 0");
  EXPECT_EQ(*ParseJson("\"\\u0000\"", "s"), std::string("\0", 1));
}

TEST(ParseJsonTest, RefusesWhatIsNotUtf8) {
  for (const char* bytes : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe6\x9f"}) {
    EXPECT_THAT(ParseError(absl::StrCat("\"", bytes, "\"")),
                HasSubstr("not valid JSON"));
  }
}

TEST(ParseJsonTest, RefusesDuplicateKeys) {
  EXPECT_EQ(ParseError("{\"a\": 1, \"b\": 2, \"a\": 3}"),
            "source: duplicate key \"a\"");
  EXPECT_EQ(ParseError("{\"x\": {\"b\": 1, \"\\u0062\": 1}}"),
            "source: duplicate key \"b\"");
  EXPECT_EQ(ParseError("[1, [{\"c\": {}, \"c\": {}}]]"),
            "source: duplicate key \"c\"");
  EXPECT_EQ(ParseError("{\"x\": {\"y\": {}}, \"x\": 1}"),
            "source: duplicate key \"x\"");
  EXPECT_EQ(ParseError("{\"x\": [{\"y\": 1}, 2], \"x\": 1}"),
            "source: duplicate key \"x\"");
  // The same key in different objects, at one depth and at several.
  EXPECT_TRUE(ParseJson("[{\"a\": 1}, {\"a\": 1}]", "s").ok());
  EXPECT_TRUE(ParseJson("{\"a\": {\"a\": {\"a\": 1}}}", "s").ok());
  EXPECT_TRUE(ParseJson("{\"a\": {\"b\": 1}, \"b\": {\"a\": 1}}", "s").ok());
  EXPECT_TRUE(
      ParseJson("{\"a\": [[{\"a\": 1}]], \"b\": {\"a\": 1}}", "s").ok());
}

TEST(ParseJsonTest, DepthIsNoDanger) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_TRUE(ParseJson(deep, "s").ok());
  EXPECT_THAT(ParseError(std::string(100000, '[')),
              HasSubstr("not valid JSON"));
}

TEST(ResolvePointerTest, Rfc6901) {
  const Json json = *ParseJson(
      "{\"rows\": [{\"mean\": 1.5}, 2], \"a/b\": 3, \"m~n\": 4, \"\": 5}", "s");
  EXPECT_EQ(**ResolvePointer(json, "/rows/0/mean"), 1.5);
  EXPECT_EQ(**ResolvePointer(json, "/rows/1"), 2);
  EXPECT_EQ(**ResolvePointer(json, "/a~1b"), 3);
  EXPECT_EQ(**ResolvePointer(json, "/m~0n"), 4);
  EXPECT_EQ(**ResolvePointer(json, "/"), 5);
  EXPECT_EQ(*ResolvePointer(json, ""), &json);
}

TEST(ResolvePointerTest, ResolvesToNothing) {
  const Json json = *ParseJson("{\"rows\": [1, 2], \"x\": 3}", "s");
  for (const char* pointer : {"/none", "/rows/2", "/rows/-", "/rows/01",
                              "/rows/x", "/x/y", "rows", "/rows/-1", "/a~2"}) {
    const absl::Status status = ResolvePointer(json, pointer).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << pointer;
    EXPECT_THAT(std::string(status.message()),
                StartsWith(absl::StrCat("pointer \"", pointer,
                                        "\" resolves to nothing")));
  }
}

TEST(JsonNumberTest, NumbersAndNothingElse) {
  EXPECT_EQ(*JsonNumber(Json(3)), 3.0);
  EXPECT_EQ(*JsonNumber(Json(-2.5)), -2.5);
  EXPECT_EQ(*JsonNumber(Json(uint64_t{7})), 7.0);
  for (const Json& json : {Json("nan"), Json("1"), Json(nullptr), Json(true),
                           Json::array({1}), Json::object()}) {
    const absl::Status status = JsonNumber(json).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(),
              absl::StrCat("expected a number, found ", json.dump()));
  }
  // A long value is cut; bytes that are no text do not stop the message.
  EXPECT_LT(JsonNumber(Json(std::string(1000, 'a'))).status().message().size(),
            120u);
  EXPECT_EQ(JsonNumber(Json("\xff")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace softlookup
