#include "attention/kernels/array_functions.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/kernels/kernel_test_util.h"
#include "base/hash.h"
#include "base/random/random.h"
#include "base/tensor/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using kernels::ArrayFunction;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr long double kEps = 0x1p-24L;

long double Normal(long double x) {
  return std::erfc(-x / std::sqrt(2.0L)) / 2;
}

long double Density(long double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
}

struct Function {
  std::string name;
  ArrayFunction function;
  std::function<long double(long double)> exact;
  // The bound that array_functions.h states, from x and |y|.
  std::function<long double(long double x, long double y)> bound;
  bool positive = false;  // the domain
  uint64_t golden = 0;    // of the bits
};

const std::vector<Function>& Functions() {
  const auto relative = [](long double, long double y) {
    return 2 * kEps * y + 0x1p-149L;
  };
  static const auto& functions = *new std::vector<Function>{
      {"exp", ArrayFunction::kExp, [](long double x) { return std::exp(x); },
       relative, false, 8388484158103115641u},
      {"log", ArrayFunction::kLog, [](long double x) { return std::log(x); },
       relative, true, 16088937454544788293u},
      {"tanh", ArrayFunction::kTanh, [](long double x) { return std::tanh(x); },
       relative, false, 9831043047194655113u},
      {"sin", ArrayFunction::kSin, [](long double x) { return std::sin(x); },
       relative, false, 12808675620949452435u},
      {"cos", ArrayFunction::kCos, [](long double x) { return std::cos(x); },
       relative, false, 6124234028568075626u},
      {"erf", ArrayFunction::kErf, [](long double x) { return std::erf(x); },
       relative, false, 3422926943471531580u},
      {"sigmoid", ArrayFunction::kSigmoid,
       [](long double x) { return 1 / (1 + std::exp(-x)); },
       [](long double, long double y) { return 4 * kEps * y + 0x1p-126L; },
       false, 4815618716724234354u},
      {"relu", ArrayFunction::kRelu,
       [](long double x) { return x > 0 ? x : 0; },
       [](long double, long double) { return 0.0L; }, false,
       13631285860668083854u},
      {"gelu", ArrayFunction::kGelu,
       [](long double x) { return x * Normal(x); },
       [](long double x, long double) {
         return 4 * kEps * std::abs(x) + 0x1p-149L;
       },
       false, 6009864702646573771u},
      {"gelu slope", ArrayFunction::kGeluSlope,
       [](long double x) { return Normal(x) + x * Density(x); },
       [](long double, long double) { return 5 * kEps; }, false,
       7356987589095659551u},
  };
  return functions;
}

// Half of them of every magnitude, half where the functions bend.
std::vector<float> Arguments(const Function& function, int64_t count) {
  RandomStream stream(1, "array_functions_test " + function.name);
  std::vector<float> arguments;
  while (static_cast<int64_t>(arguments.size()) < count) {
    float x = stream.UniformInt(2) == 0
                  ? std::bit_cast<float>(stream.Word())
                  : static_cast<float>(stream.Gaussian() * 6);
    if (!std::isfinite(x)) continue;
    if (function.positive) x = std::abs(x);
    arguments.push_back(x);
  }
  return arguments;
}

std::vector<float> Map(ArrayFunction function, const std::vector<float>& x,
                       const kernels::KernelOptions& execution) {
  std::vector<float> y(x.size());
  const absl::Status status =
      kernels::MapArray(function, x, absl::MakeSpan(y), execution);
  EXPECT_TRUE(status.ok()) << status;
  return y;
}

TEST(MapArray, IsWithinItsBound) {
  for (const Function& function : Functions()) {
    SCOPED_TRACE(function.name);
    const std::vector<float> x = Arguments(function, 100000);
    const std::vector<float> y = Map(function.function, x, {});
    long double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double exact = function.exact(x[i]);
      if (std::abs(exact) > std::numeric_limits<float>::max()) {
        ASSERT_EQ(y[i], exact > 0 ? kInf : -kInf) << "at " << x[i];
        continue;
      }
      const long double error = std::abs(y[i] - exact);
      const long double bound = function.bound(x[i], std::abs(exact));
      ASSERT_LE(error, bound)
          << "at " << x[i] << ": " << y[i] << ", exactly " << exact;
      if (bound > 0) worst = std::max(worst, error / bound);
    }
    // A bound that no error comes near says little.
    if (function.function != ArrayFunction::kRelu) {
      EXPECT_GT(worst, 0.25);
    }
    RecordProperty(function.name, absl::StrCat(static_cast<double>(worst)));
  }
}

TEST(MapArray, SpecialArguments) {
  const std::vector<float> x = {kInf, -kInf, std::nanf(""), 0.0f, -0.0f, -1.0f};
  const auto results = [&x](ArrayFunction function) {
    return Map(function, x, {});
  };
  const std::vector<float> exp = results(ArrayFunction::kExp);
  EXPECT_EQ(exp[0], kInf);
  EXPECT_EQ(exp[1], 0);
  EXPECT_EQ(exp[3], 1);
  const std::vector<float> log = results(ArrayFunction::kLog);
  EXPECT_EQ(log[0], kInf);
  EXPECT_EQ(log[3], -kInf);
  EXPECT_TRUE(std::isnan(log[5]));
  const std::vector<float> sigmoid = results(ArrayFunction::kSigmoid);
  EXPECT_EQ(sigmoid[0], 1);
  EXPECT_EQ(sigmoid[1], 0);
  EXPECT_EQ(sigmoid[3], 0.5f);
  EXPECT_TRUE(std::isnan(results(ArrayFunction::kSin)[0]));
  EXPECT_TRUE(std::isnan(results(ArrayFunction::kGelu)[1]));
  EXPECT_EQ(results(ArrayFunction::kTanh)[1], -1);
  EXPECT_EQ(results(ArrayFunction::kErf)[0], 1);
  EXPECT_EQ(results(ArrayFunction::kRelu)[0], kInf);
  for (const Function& function : Functions()) {
    EXPECT_TRUE(std::isnan(results(function.function)[2])) << function.name;
  }
}

// Lengths that end inside a vector, a group of lanes and a chunk.
TEST(MapArray, SameBitsOnEveryRun) {
  for (const Function& function : Functions()) {
    for (const int64_t n : {0, 1, 7, 17, 65535, 65536, 131090}) {
      const std::vector<float> x = Arguments(function, n);
      const Tensor<float> first({n}, Map(function.function, x, {}));
      for (const auto& [name, execution] : kernels::EveryRun()) {
        const Tensor<float> other({n}, Map(function.function, x, execution));
        ASSERT_EQ(kernels::BitDifference(first, other), "")
            << function.name << ", n = " << n << ", " << name;
      }
    }
  }
}

TEST(MapArray, InPlace) {
  std::vector<float> x = {-1, 2, 3};
  ASSERT_TRUE(
      kernels::MapArray(ArrayFunction::kRelu, x, absl::MakeSpan(x), {}).ok());
  EXPECT_EQ(x, std::vector<float>({0, 2, 3}));
}

TEST(MapArray, RefusesOtherSizesAndOverlap) {
  std::vector<float> x(10);
  const absl::Span<float> all = absl::MakeSpan(x);
  EXPECT_THAT(std::string(kernels::MapArray(ArrayFunction::kExp, x,
                                            all.subspan(0, 9), {})
                              .message()),
              HasSubstr("y has 9 elements; allowed: 10"));
  EXPECT_THAT(
      std::string(kernels::MapArray(ArrayFunction::kExp,
                                    absl::MakeConstSpan(x).subspan(0, 9),
                                    all.subspan(1, 9), {})
                      .message()),
      HasSubstr("y overlaps x in memory"));
}

// Regression goldens: the bits on any machine.
TEST(MapArray, GoldenBits) {
  for (const Function& function : Functions()) {
    BitHash hash;
    hash.Add<float>(Map(function.function, Arguments(function, 20000), {}));
    EXPECT_EQ(hash.value(), function.golden) << function.name;
  }
}

// The definition of a reduction, by lanes and chunks.
float Reduced(const std::vector<float>& x, float start,
              const std::function<float(float, float)>& accumulate,
              const std::function<float(float, float)>& combine,
              const std::function<float(float, float)>& over_chunks) {
  const auto fold = [&](absl::Span<const float> part, const auto& add) {
    std::vector<float> lanes(16, start);
    for (size_t i = 0; i < part.size(); ++i) {
      lanes[i % 16] = add(lanes[i % 16], part[i]);
    }
    for (size_t half = 8; half > 0; half /= 2) {
      for (size_t lane = 0; lane < half; ++lane) {
        lanes[lane] = combine(lanes[lane], lanes[lane + half]);
      }
    }
    return lanes[0];
  };
  std::vector<float> chunks;
  for (size_t begin = 0; begin < x.size(); begin += 65536) {
    chunks.push_back(
        fold(absl::MakeConstSpan(x).subspan(begin, 65536), accumulate));
  }
  return chunks.size() == 1 ? chunks[0] : fold(chunks, over_chunks);
}

TEST(Reductions, AreTheirDefinitionBitForBit) {
  RandomStream stream(1, "array_functions_test reductions");
  const auto add = [](float a, float b) { return a + b; };
  const auto larger = [](float a, float b) { return std::max(a, b); };
  for (const int64_t n : {0, 1, 15, 16, 17, 1000, 65536, 65537, 300000}) {
    std::vector<float> x(n);
    for (float& element : x) element = static_cast<float>(stream.Gaussian());
    const float sum = Reduced(x, 0, add, add, add);
    const float maximum = Reduced(x, -kInf, larger, larger, larger);
    const float norm = std::sqrt(Reduced(
        x, 0, [](float total, float v) { return std::fma(v, v, total); }, add,
        add));
    for (const auto& [name, execution] : kernels::EveryRun()) {
      EXPECT_EQ(kernels::ArraySum(x, execution), sum) << name << ", n = " << n;
      EXPECT_EQ(kernels::ArrayMaximum(x, execution), maximum)
          << name << ", " << n;
      EXPECT_EQ(kernels::ArrayNorm(x, execution), norm)
          << name << ", n = " << n;
    }
  }
}

TEST(Reductions, NotANumber) {
  for (const int64_t n : {20, 65540}) {
    for (const int64_t at : {int64_t{0}, int64_t{5}, n - 1}) {
      std::vector<float> x(n, 1.0f);
      x[at] = std::nanf("");
      for (const auto& [name, execution] : kernels::EveryRun()) {
        EXPECT_TRUE(std::isnan(kernels::ArrayMaximum(x, execution))) << name;
        EXPECT_TRUE(std::isnan(kernels::ArraySum(x, execution))) << name;
        EXPECT_TRUE(std::isnan(kernels::ArrayNorm(x, execution))) << name;
      }
    }
  }
}

}  // namespace
}  // namespace softlookup
