#include "experiments/frame/json_text.h"

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(JsonText, Numbers) {
  EXPECT_EQ(NumberText(0.50349), "0.503");
  EXPECT_EQ(NumberText(0.50349, 1), "0.5");
  EXPECT_EQ(NumberText(-2.0), "-2.000");
  EXPECT_EQ(NumberText(7), "7");
  EXPECT_EQ(NumberText(-0.0), "0.000");
  EXPECT_EQ(NumberText("-Infinity"), "-inf");
  EXPECT_EQ(NumberText("NaN"), "NaN");
  EXPECT_EQ(NumberText(nullptr), "?");
  EXPECT_EQ(NumberText("word"), "?");
  // What would show only zeros is shown in scientific form.
  EXPECT_EQ(NumberText(0.00012), "1.20e-04");
}

TEST(JsonText, Tuples) {
  EXPECT_EQ(TupleText({1.7587, 2.0}), "(1.759, 2.000)");
  EXPECT_EQ(TupleText({1.7587, 2.0}, 1), "(1.8, 2.0)");
  EXPECT_EQ(TupleText(Json::array()), "()");
}

}  // namespace
}  // namespace softlookup
