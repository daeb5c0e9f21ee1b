#include "base/random/random.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

// Statistical bounds are those of a fixed stream, so a test passes always or
// never; they are set where a correct generator would fail once in 10^6.
constexpr double kSigmas = 4.9;

// --- known values, printed by `bazel run //base/random:random_test_values` ---

TEST(RandomStream, WordsOfNamedStreams) {
  RandomStream init(1, "init");
  for (const uint32_t expected : {0x375632f9u, 0xa6c952a4u, 0xde70c370u,
                                  0x3c0a1b19u, 0xc7c38306u, 0xd1ae78b5u}) {
    EXPECT_EQ(init.Word(), expected);
  }
  RandomStream data(1, "data");
  EXPECT_EQ(data.Word(), 0x64a2490du);
  EXPECT_EQ(data.Word(), 0x4c767317u);
  // Both halves of the seed, and bytes above 127 in the name.
  RandomStream attention(0x123456789abcdef0, "注意力");
  EXPECT_EQ(attention.Word(), 0xcd9edd31u);
  EXPECT_EQ(attention.Word(), 0xd85e288eu);
}

TEST(RandomStream, WordsFarAlongTheStream) {
  // Past 2^32 blocks, and across the end of a block.
  RandomStream init(1, "init");
  init.Seek(4 * ((uint64_t{1} << 32) + 5) + 3);
  EXPECT_EQ(init.Word(), 0x53e47f48u);
  EXPECT_EQ(init.Word(), 0x5dfd5e50u);
}

TEST(RandomStream, UniformValues) {
  RandomStream init(1, "init");
  for (const int64_t units :
       {1946987581987114, 7826428691710275, 7028560985994703}) {
    EXPECT_EQ(init.Uniform(), static_cast<double>(units) * 0x1p-53);
  }
  EXPECT_EQ(init.position(), 6u);
}

// Off from the exact value by the roundings of a logarithm, a root, an angle
// (2 pi 2^-53), a cosine and two products: under 2e-15 for a radius under 2.
constexpr double kGaussianError = 2e-15;

TEST(RandomStream, GaussianValues) {
  RandomStream init(1, "init");
  for (const double expected :
       {0.47426049134919008521, 0.29993486806712997298, 1.03984748964391248593,
        -0.91898342556858257470}) {
    EXPECT_NEAR(init.Gaussian(), expected, kGaussianError);
  }
  EXPECT_EQ(init.position(), 16u);
}

TEST(RandomStream, FillGaussianValues) {
  const std::vector<double> expected = {
      0.47426049134919008521, -0.51203053601686360656, 0.29993486806712997298,
      -1.71501303037610953294, 1.03984748964391248593};
  for (size_t size = 0; size <= expected.size(); ++size) {
    RandomStream init(1, "init");
    std::vector<double> values(size);
    init.FillGaussian(absl::MakeSpan(values));
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(values[i], expected[i], kGaussianError);
    }
    // Whole pairs, of four words each.
    EXPECT_EQ(init.position(), (size + 1) / 2 * 4);
  }
}

TEST(RandomStream, UniformIntValues) {
  const auto draw = [](uint32_t bound, uint64_t words) {
    RandomStream init(1, "init");
    std::vector<uint32_t> values(12);
    for (uint32_t& value : values) value = init.UniformInt(bound);
    EXPECT_EQ(init.position(), words) << bound;
    return values;
  };
  EXPECT_EQ(draw(10, 12),
            (std::vector<uint32_t>{2, 6, 8, 2, 7, 8, 7, 0, 4, 2, 0, 5}));
  // A quarter of the words is rejected here: 7 of the first 19.
  EXPECT_EQ(
      draw(3u << 30, 19),
      (std::vector<uint32_t>{696297018, 755471442, 2513609284, 2638404231,
                             1391958769, 663080026, 109022450, 1765284359,
                             2391156763, 470502298, 3042111681, 359391547}));
  EXPECT_EQ(
      draw(4294967295, 12),
      (std::vector<uint32_t>{928396024, 2798211747, 3731932015, 1007295256,
                             3351479045, 3517872308, 3339575779, 144849715,
                             1855945025, 884106701, 145363266, 2186252947}));
  // One outcome still takes a word.
  EXPECT_EQ(draw(1, 12), std::vector<uint32_t>(12, 0));
}

TEST(RandomStream, SignValues) {
  RandomStream init(1, "init");
  for (const double sign : {1, -1, -1, 1, -1, -1, -1, 1, 1, 1, 1, -1}) {
    EXPECT_EQ(init.Sign(), sign);
  }
  EXPECT_EQ(init.position(), 12u);
}

TEST(RandomStream, ShuffleValues) {
  RandomStream init(1, "init");
  std::vector<int> values(10);
  std::iota(values.begin(), values.end(), 0);
  init.Shuffle(absl::MakeSpan(values));
  EXPECT_EQ(values, (std::vector<int>{7, 9, 0, 3, 8, 4, 1, 6, 5, 2}));
  EXPECT_EQ(init.position(), 9u);
}

// --- streams ---

TEST(RandomStream, EqualSeedAndNameGiveEqualStreams) {
  RandomStream a(7, "data");
  RandomStream b(7, "data");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Word(), b.Word());
}

TEST(RandomStream, SeedAndNameSelectTheStream) {
  std::set<uint64_t> starts;
  int streams = 0;
  const auto insert = [&](uint64_t seed, const std::string& name) {
    RandomStream stream(seed, name);
    const uint64_t high = stream.Word();
    starts.insert(high << 32 | stream.Word());
    ++streams;
  };
  for (const char* name : {"", "a", "b", "ab", "ba", "init", "data", "init "}) {
    for (int bit = 0; bit < 64; ++bit) insert(uint64_t{1} << bit, name);
    insert(0, name);
  }
  EXPECT_EQ(starts.size(), streams);
}

TEST(RandomStream, ADrawInOneStreamMovesNothingInAnother) {
  RandomStream data(1, "data");
  const double alone = data.Gaussian();
  RandomStream init(1, "init");
  RandomStream again(1, "data");
  for (int i = 0; i < 10; ++i) init.Gaussian();
  EXPECT_EQ(again.Gaussian(), alone);
}

// The correlation of n independent pairs has standard deviation 1 / sqrt(n).
TEST(RandomStream, StreamsAreUncorrelated) {
  constexpr int kPairs = 100000;
  RandomStream a(1, "a");
  RandomStream b(1, "b");
  RandomStream c(2, "a");
  double names = 0;
  double seeds = 0;
  double neighbours = 0;
  double previous = 0;
  for (int i = 0; i < kPairs; ++i) {
    const double x = a.Gaussian();
    names += x * b.Gaussian() / kPairs;
    seeds += x * c.Gaussian() / kPairs;
    neighbours += x * previous / kPairs;
    previous = x;
  }
  EXPECT_LT(std::abs(names), kSigmas / std::sqrt(kPairs));
  EXPECT_LT(std::abs(seeds), kSigmas / std::sqrt(kPairs));
  EXPECT_LT(std::abs(neighbours), kSigmas / std::sqrt(kPairs));
}

TEST(RandomStream, SeekResumesAnywhere) {
  RandomStream stream(3, "resume");
  std::vector<uint32_t> words(41);
  for (uint32_t& word : words) {
    EXPECT_EQ(stream.position(), static_cast<uint64_t>(&word - words.data()));
    word = stream.Word();
  }
  for (size_t start = words.size(); start-- > 0;) {
    stream.Seek(start);
    EXPECT_EQ(stream.position(), start);
    EXPECT_EQ(stream.Word(), words[start]);
    RandomStream other(3, "resume");
    other.Seek(start);
    for (size_t i = start; i < words.size(); ++i) {
      ASSERT_EQ(other.Word(), words[i]) << "from " << start;
    }
  }
}

TEST(RandomStream, ACopyGoesOnByItself) {
  RandomStream stream(3, "resume");
  stream.Word();
  RandomStream copy = stream;
  const uint32_t next = stream.Word();
  stream.Word();
  EXPECT_EQ(copy.Word(), next);
}

// --- distributions ---

// The largest distance between the draws' distribution and `cumulative`,
// times sqrt(n): Kolmogorov's statistic.
double Kolmogorov(std::vector<double> draws,
                  const std::function<double(double)>& cumulative) {
  std::sort(draws.begin(), draws.end());
  const auto n = static_cast<double>(draws.size());
  double distance = 0;
  for (size_t i = 0; i < draws.size(); ++i) {
    const double expected = cumulative(draws[i]);
    distance = std::max({distance, static_cast<double>(i + 1) / n - expected,
                         expected - static_cast<double>(i) / n});
  }
  return distance * std::sqrt(n);
}

// Its 1 - 10^-6 quantile: 2 exp(-2 x^2) = 10^-6.
constexpr double kKolmogorov = 2.694;

TEST(Uniform, IsUniform) {
  RandomStream stream(1, "uniform");
  std::vector<double> draws(100000);
  for (double& draw : draws) draw = stream.Uniform();
  EXPECT_GE(*std::min_element(draws.begin(), draws.end()), 0);
  EXPECT_LT(*std::max_element(draws.begin(), draws.end()), 1);
  EXPECT_LT(Kolmogorov(draws, [](double x) { return x; }), kKolmogorov);
  // All 53 bits are used: the last one is set half of the time.
  int odd = 0;
  for (const double draw : draws) {
    odd += static_cast<int>(std::fmod(draw * 0x1p53, 2));
  }
  EXPECT_NEAR(odd, draws.size() / 2.0,
              kSigmas * std::sqrt(static_cast<double>(draws.size())) / 2);
}

double NormalCumulative(double x) { return std::erfc(-x / std::sqrt(2)) / 2; }

void ExpectNormal(const std::vector<double>& draws) {
  const auto n = static_cast<double>(draws.size());
  double moments[4] = {};
  for (const double draw : draws) {
    double power = 1;
    for (double& moment : moments) {
      power *= draw;
      moment += power / n;
    }
  }
  // The k-th moment of a normal variate has variance m(2k) - m(k)^2 with
  // m = 0, 1, 0, 3, 0, 15, 0, 105.
  EXPECT_NEAR(moments[0], 0, kSigmas * std::sqrt(1 / n));
  EXPECT_NEAR(moments[1], 1, kSigmas * std::sqrt((3 - 1) / n));
  EXPECT_NEAR(moments[2], 0, kSigmas * std::sqrt(15 / n));
  EXPECT_NEAR(moments[3], 3, kSigmas * std::sqrt((105 - 9) / n));
  EXPECT_LT(Kolmogorov(draws, NormalCumulative), kKolmogorov);
}

TEST(Gaussian, IsNormal) {
  RandomStream stream(1, "gaussian");
  std::vector<double> draws(100000);
  for (double& draw : draws) draw = stream.Gaussian();
  ExpectNormal(draws);
}

TEST(FillGaussian, IsNormalAndItsPairsAreIndependent) {
  RandomStream stream(1, "fill");
  std::vector<double> draws(100000);
  stream.FillGaussian(absl::MakeSpan(draws));
  ExpectNormal(draws);
  const double pairs = static_cast<double>(draws.size()) / 2;
  double product = 0;
  double square_product = 0;
  for (size_t i = 0; i < draws.size(); i += 2) {
    product += draws[i] * draws[i + 1] / pairs;
    square_product +=
        (draws[i] * draws[i] - 1) * (draws[i + 1] * draws[i + 1] - 1) / pairs;
  }
  EXPECT_NEAR(product, 0, kSigmas / std::sqrt(pairs));
  // Each factor has variance 2.
  EXPECT_NEAR(square_product, 0, kSigmas * 2 / std::sqrt(pairs));
}

// Pearson's statistic for equally likely outcomes; its mean is k - 1 and its
// variance 2 (k - 1), for k outcomes.
double ChiSquare(const std::vector<int>& counts) {
  const double expected =
      std::accumulate(counts.begin(), counts.end(), 0.0) / counts.size();
  double sum = 0;
  for (const int count : counts) {
    sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

TEST(UniformInt, IsUnbiased) {
  RandomStream stream(1, "integers");
  for (const uint32_t bound : {2, 3, 7, 10}) {
    std::vector<int> counts(bound, 0);
    for (int i = 0; i < 50000; ++i) ++counts.at(stream.UniformInt(bound));
    // The 1 - 10^-6 quantiles are 23.9, 27.6, 38.3 and 44.8.
    EXPECT_LT(ChiSquare(counts), bound <= 3 ? 27.6 : 44.8) << bound;
  }
}

// At bound 3 * 2^30, taking every word as it comes would give half of the
// draws to the multiples of 3.
TEST(UniformInt, TheRejectionRemovesTheBias) {
  RandomStream stream(1, "rejection");
  std::vector<int> counts(3, 0);
  for (int i = 0; i < 50000; ++i) ++counts[stream.UniformInt(3u << 30) % 3];
  EXPECT_LT(ChiSquare(counts), 27.6);
}

TEST(UniformIntDeathTest, NeedsAnOutcome) {
  RandomStream stream(1, "none");
  EXPECT_DEATH(stream.UniformInt(0), "at least one outcome");
}

TEST(Sign, IsFair) {
  RandomStream stream(1, "sign");
  constexpr int kSigns = 100000;
  double sum = 0;
  for (int i = 0; i < kSigns; ++i) {
    const double sign = stream.Sign();
    ASSERT_EQ(std::abs(sign), 1);
    sum += sign;
  }
  EXPECT_LT(std::abs(sum), kSigmas * std::sqrt(kSigns));
}

TEST(Shuffle, EveryOrderIsEquallyLikely) {
  RandomStream stream(1, "shuffle");
  std::vector<int> counts(24, 0);
  for (int i = 0; i < 48000; ++i) {
    std::vector<int> values = {0, 1, 2, 3};
    stream.Shuffle(absl::MakeSpan(values));
    // The order's number, from the places of its elements.
    int number = 0;
    for (int k = 0; k < 4; ++k) {
      const int smaller =
          static_cast<int>(std::count_if(values.begin() + k, values.end(),
                                         [&](int v) { return v < values[k]; }));
      number = number * (4 - k) + smaller;
    }
    ++counts.at(number);
  }
  // The 1 - 10^-6 quantile for 23 degrees of freedom is 70.5.
  EXPECT_LT(ChiSquare(counts), 70.5);
}

TEST(Shuffle, NothingToDo) {
  RandomStream stream(1, "shuffle");
  std::vector<int> none;
  stream.Shuffle(absl::MakeSpan(none));
  std::vector<int> one = {5};
  stream.Shuffle(absl::MakeSpan(one));
  EXPECT_EQ(one, std::vector<int>{5});
  EXPECT_EQ(stream.position(), 0u);
}

}  // namespace
}  // namespace softlookup
