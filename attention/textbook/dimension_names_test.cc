#include "attention/textbook/dimension_names.h"

#include "base/json.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(DimensionNames, FindsLettersBySize) {
  const DimensionNames names({{"B", 2}, {"h", 8}, {"T", 5}, {"dk", 32}});
  EXPECT_EQ(names.Describe({2, 8, 5, 32}), "(B, h, T, dk)");
  EXPECT_EQ(names.Describe({2, 1, 1, 5}), "(B, 1, 1, T)");
  EXPECT_EQ(names.Describe({7}), "(7)");
  EXPECT_EQ(names.Describe({}), "()");
  EXPECT_EQ(names.ToJson({5, 7})["shape"], "(T, 7)");
  EXPECT_EQ(names.ToJson({5, 7})["sizes"], Json({5, 7}));
}

// A letter that may be the wrong one says less than the number.
TEST(DimensionNames, SizesThatLettersShareAndOneStayNumbers) {
  const DimensionNames names({{"B", 1}, {"T", 4}, {"d", 4}, {"m", 5}});
  EXPECT_EQ(names.Describe({1, 4, 5}), "(1, 4, m)");
}

}  // namespace
}  // namespace softlookup
