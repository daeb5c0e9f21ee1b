#include "base/printable.h"

#include <string>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

TEST(PrintableTest, TextStays) {
  for (const char* text :
       {"", "plain text ~!", "\u00a0\u00e9 \u07ff", "\u0800\u6ce8\ud7ff\ue000",
        "\uffff", "\U00010000 \U0001f600 \U0010ffff"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, WhiteSpaceBecomesSpaces) {
  EXPECT_EQ(Printable("a\nb\rc\td\ve\ff g"), "a b c d e f g");
}

TEST(PrintableTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(Printable(std::string("\0\1\b\x0e\x1b[31m\x1f\x7f", 11)),
            "\\x00\\x01\\x08\\x0e\\x1b[31m\\x1f\\x7f");
  // U+0080 and U+009F are controls too; U+00A0 is not.
  EXPECT_EQ(Printable("\xc2\x80\xc2\x9f\xc2\xa0"),
            "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
}

TEST(PrintableTest, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(Printable("a\xff"
                      "b\xfe"),
            "a\\xffb\\xfe");
  EXPECT_EQ(Printable("\x80\xbf"), "\\x80\\xbf");           // no lead
  EXPECT_EQ(Printable("\xe6\xb3"), "\\xe6\\xb3");           // cut short
  EXPECT_EQ(Printable("\xe6\xb3x"), "\\xe6\\xb3x");         // interrupted
  EXPECT_EQ(Printable("\xe6\xc0\x80"), "\\xe6\\xc0\\x80");  // two leads
  EXPECT_EQ(Printable("\xf0\x9f\x98"), "\\xf0\\x9f\\x98");
  EXPECT_EQ(Printable("\xc1\xbf"), "\\xc1\\xbf");  // too long a form
  EXPECT_EQ(Printable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(Printable("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogates
  EXPECT_EQ(Printable("\xed\xbf\xbf"), "\\xed\\xbf\\xbf");
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(Printable("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
  // The character after a bad byte is read from its own beginning.
  EXPECT_EQ(Printable("\xe6\xe6\xb3\xa8"), "\\xe6\u6ce8");
}

}  // namespace
}  // namespace softlookup
