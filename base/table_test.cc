#include "base/table.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(Table, AlignsNumbersRightAndTextLeft) {
  Table table({"layer", "cost"});
  table.AddRow({"recurrent", "5"});
  table.AddRow({"attention", "12.5"});
  EXPECT_EQ(table.ToString(),
            "layer      cost\n"
            "---------  ----\n"
            "recurrent     5\n"
            "attention  12.5\n");
}

TEST(Table, WidthIsTheWidestCellOrTheHeader) {
  Table table({"key", "a long header"});
  table.AddRow({"a long cell", "1"});
  EXPECT_EQ(table.ToString(),
            "key          a long header\n"
            "-----------  -------------\n"
            "a long cell              1\n");
}

TEST(Table, OneTextMakesTheColumnText) {
  Table table({"x", "y"});
  table.AddRow({"1", "1"});
  table.AddRow({"n/a", "100"});
  table.AddRow({"100", "10"});
  EXPECT_EQ(table.ToString(),
            "x      y\n"
            "---  ---\n"
            "1      1\n"
            "n/a  100\n"
            "100   10\n");
}

TEST(Table, NumbersIncludeSignsExponentsAndNonFiniteOnes) {
  Table table({"value", "end"});
  for (const char* cell : {"-1.5", "1.00e-04", "NaN", "-inf", ""}) {
    table.AddRow({cell, "|"});
  }
  EXPECT_EQ(table.ToString(),
            "   value  end\n"
            "--------  ---\n"
            "    -1.5  |\n"
            "1.00e-04  |\n"
            "     NaN  |\n"
            "    -inf  |\n"
            "          |\n");
}

TEST(Table, ChineseCharactersTakeTwoColumns) {
  Table table({"声明", "x"});
  table.AddRow({"注意力", "a"});
  table.AddRow({"abcdef", "b"});
  table.AddRow({"é", "c"});
  EXPECT_EQ(table.ToString(),
            "声明    x\n"
            "------  -\n"
            "注意力  a\n"
            "abcdef  b\n"
            "é       c\n");
}

TEST(Table, WideBlocksEndWhereTheyShould) {
  // First and last of each wide block, and their narrow neighbours:
  // U+2E7F 2E80, 9FFF A000, F8FF F900, FAFF FB00, FEFF FF00, FF60 FF61.
  for (const char* wide : {"⺀", "\u9FFF", "\uF900", "\uFAFF", "\uFF00",
                           "\uFF60", "。", "，", "Ａ"}) {
    Table table({std::string(wide) + "|"});
    EXPECT_EQ(table.ToString(), std::string(wide) + "|\n---\n") << wide;
  }
  for (const char* narrow : {"\u2E7F", "\uA000", "\uF8FF", "\uFB00", "\uFEFF",
                             "\uFF61", "±", "≤", "√", "😀"}) {
    Table table({std::string(narrow) + "|"});
    EXPECT_EQ(table.ToString(), std::string(narrow) + "|\n--\n") << narrow;
  }
}

TEST(Table, TextCutWithinACharacterIsNoCrash) {
  Table table({std::string("注").substr(0, 2)});
  EXPECT_NE(table.ToString(), "");
}

TEST(Table, NoRows) {
  EXPECT_EQ(Table({"a", "bc"}).ToString(), "a  bc\n-  --\n");
}

TEST(Table, NoTrailingSpaces) {
  Table table({"a", "note"});
  table.AddRow({"text", "long note"});
  table.AddRow({"text", ""});
  EXPECT_EQ(table.ToString(),
            "a     note\n"
            "----  ---------\n"
            "text  long note\n"
            "text\n");
}

TEST(TableDeathTest, OneCellPerColumn) {
  Table table({"a", "b"});
  EXPECT_DEATH(table.AddRow({"1"}), "one cell per column");
  EXPECT_DEATH(table.AddRow({"1", "2", "3"}), "one cell per column");
}

TEST(Fixed, Decimals) {
  EXPECT_EQ(Fixed(11.3137, 3), "11.314");
  EXPECT_EQ(Fixed(-0.4984, 3), "-0.498");
  EXPECT_EQ(Fixed(2, 0), "2");
  EXPECT_EQ(Fixed(0, 3), "0.000");
}

TEST(Fixed, ZeroHasNoSign) { EXPECT_EQ(Fixed(-0.0, 2), "0.00"); }

TEST(Fixed, ScientificWhereFixedWouldShowOnlyZeros) {
  EXPECT_EQ(Fixed(0.0005, 3), "0.001");
  EXPECT_EQ(Fixed(0.00049, 3), "4.90e-04");
  EXPECT_EQ(Fixed(-0.00049, 3), "-4.90e-04");
  EXPECT_EQ(Fixed(1e-50, 1), "1.0e-50");
  EXPECT_EQ(Fixed(0.25, 0), "2.5e-01");
}

TEST(Fixed, ScientificOverTwelveCharacters) {
  EXPECT_EQ(Fixed(12345678.123, 3), "12345678.123");
  EXPECT_EQ(Fixed(123456789.123, 3), "1.23e+08");
  EXPECT_EQ(Fixed(123456789012, 0), "123456789012");
  EXPECT_EQ(Fixed(1234567890123, 0), "1.2e+12");
}

TEST(Fixed, NonFinite) {
  EXPECT_EQ(Fixed(std::nan(""), 3), "NaN");
  EXPECT_EQ(Fixed(HUGE_VAL, 3), "inf");
  EXPECT_EQ(Fixed(-HUGE_VAL, 3), "-inf");
}

TEST(Tuple, IsFixedNumbersInParentheses) {
  EXPECT_EQ(Tuple({1.7591, 2.0066}), "(1.759, 2.007)");
  EXPECT_EQ(Tuple({-0.0, std::nan("")}, 1), "(0.0, NaN)");
  EXPECT_EQ(Tuple({}), "()");
}

}  // namespace
}  // namespace softlookup
