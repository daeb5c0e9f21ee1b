#include "base/hash.h"

#include <cmath>

#include "gtest/gtest.h"

namespace softlookup {
namespace {

uint64_t HashBytes(absl::string_view bytes) {
  BitHash hash;
  hash.AddBytes(bytes);
  return hash.value();
}

// From the test vectors in the authors' reference code (isthe.com, fnv/).
TEST(BitHash, KnownAnswers) {
  EXPECT_EQ(HashBytes(""), 0xcbf29ce484222325u);
  EXPECT_EQ(HashBytes("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(HashBytes("foobar"), 0x85944171f73967e8u);
}

TEST(BitHash, BytesAddUp) {
  BitHash hash;
  hash.AddBytes("foo");
  hash.AddBytes("bar");
  EXPECT_EQ(hash.value(), HashBytes("foobar"));
}

TEST(BitHash, NumbersAreTheirBytes) {
  BitHash hash;
  hash.Add<float>({1.0f, -0.0f});
  EXPECT_EQ(hash.value(),
            HashBytes(absl::string_view("\0\0\x80\x3f\0\0\0\x80", 8)));
}

TEST(BitHash, EveryNanIsTheSame) {
  BitHash a;
  a.Add<double>({std::nan("1")});
  BitHash b;
  b.Add<double>({-std::nan("2")});
  EXPECT_EQ(a.value(), b.value());
}

TEST(BitHash, EveryBitCounts) {
  BitHash a;
  a.Add<double>({1.0});
  BitHash b;
  b.Add<double>({std::nextafter(1.0, 2.0)});
  EXPECT_NE(a.value(), b.value());
}

}  // namespace
}  // namespace softlookup
