#include "base/elementary.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random/philox.h"
#include "gtest/gtest.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kDraws = 20000;
constexpr uint32_t kSeed = 1;

// Uniform words from Philox itself, so that a fault in base/random/random.h is
// not reported here.
class Draws {
 public:
  explicit Draws(uint32_t purpose) : purpose_(purpose) {}
  uint32_t Word() {
    const uint32_t n = next_++;
    return Philox4x32({n / 4, purpose_, 0, 0}, {kSeed, 0})[n % 4];
  }
  // In [low, high).
  double Uniform(double low, double high) {
    const double fraction = (Word() + Word() * 0x1p-32) * 0x1p-32;
    return low + (high - low) * fraction;
  }
  // Of either sign, its magnitude's logarithm uniform from 2^low to 2^high.
  double Scaled(int low, int high) {
    const int exponent = low + static_cast<int>(Word() % (high - low));
    return std::ldexp(Uniform(1, 2), exponent) * (Word() % 2 == 0 ? 1 : -1);
  }

 private:
  uint32_t purpose_;
  uint32_t next_ = 0;
};

// The distance from `exact` in units in the last place of a T of its size.
template <typename T>
double UlpError(T value, long double exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isinf(static_cast<T>(exact)) && std::isinf(value)) return 0;
  const int exponent =
      exact == 0 ? Limits::min_exponent
                 : std::max(std::ilogb(exact), Limits::min_exponent - 1);
  const long double ulp = std::ldexp(1.0L, exponent - Limits::digits + 1);
  return static_cast<double>(
      std::abs((static_cast<long double>(value) - exact) / ulp));
}

// A function of one argument under test, and its arguments.
struct Function {
  std::string name;
  double (*wide)(double);
  float (*narrow)(float);
  long double (*exact)(long double);
  std::function<double(Draws&)> draw;
};

std::vector<Function> Functions() {
  const auto mixed = [](double low, double high) {
    return [low, high](Draws& draws) {
      return draws.Word() % 2 == 0 ? draws.Uniform(low, high)
                                   : draws.Scaled(-40, 2);
    };
  };
  const auto angles = [](Draws& draws) { return draws.Scaled(-40, 24); };
  const auto positive = [](Draws& draws) {
    // All magnitudes, and the neighbourhood of 1, where the result is small.
    return draws.Word() % 2 == 0 ? std::abs(draws.Scaled(-126, 127))
                                 : 1 + draws.Scaled(-23, -1);
  };
  return {
      {"exp", Exp, Exp, std::exp, mixed(-100, 88)},
      {"log", Log, Log, std::log, positive},
      {"tanh", Tanh, Tanh, std::tanh, mixed(-20, 20)},
      {"sin", Sin, Sin, std::sin, angles},
      {"cos", Cos, Cos, std::cos, angles},
      {"erf", Erf, Erf, std::erf, mixed(-5, 5)},
  };
}

// The promise of elementary.h: 1 ulp. The C library's long double result is
// itself off by up to 2^-10 of a double's ulp.
constexpr double kUlps = 1.001;

TEST(Elementary, DoubleIsWithinOneUlp) {
  uint32_t purpose = 0;
  for (const Function& function : Functions()) {
    Draws draws(++purpose);
    for (int i = 0; i < kDraws; ++i) {
      const double x = function.draw(draws);
      const double error = UlpError(function.wide(x), function.exact(x));
      ASSERT_LE(error, kUlps)
          << function.name << "(" << std::hexfloat << x << "), seed " << kSeed;
    }
  }
}

TEST(Elementary, FloatIsWithinOneUlp) {
  uint32_t purpose = 100;
  for (const Function& function : Functions()) {
    Draws draws(++purpose);
    for (int i = 0; i < kDraws; ++i) {
      const float x = static_cast<float>(function.draw(draws));
      const double error = UlpError(function.narrow(x), function.exact(x));
      ASSERT_LE(error, kUlps)
          << function.name << "(" << std::hexfloat << x << "f), seed " << kSeed;
    }
  }
}

TEST(Elementary, WholeRangeOfDouble) {
  Draws draws(200);
  for (int i = 0; i < kDraws; ++i) {
    // Down to the denormal results and up to the largest.
    const double x = draws.Uniform(-745, 709.78);
    ASSERT_LE(UlpError(Exp(x), std::exp(static_cast<long double>(x))), kUlps)
        << std::hexfloat << x;
    const double y = std::abs(draws.Scaled(-1074, 1024));
    ASSERT_LE(UlpError(Log(y), std::log(static_cast<long double>(y))), kUlps)
        << std::hexfloat << y;
  }
}

TEST(Elementary, PowIsWithinOneUlp) {
  Draws draws(300);
  int finite = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double base = std::abs(draws.Scaled(-10, 10));
    const double exponent = draws.Scaled(-10, 8);
    const long double exact = std::pow(static_cast<long double>(base),
                                       static_cast<long double>(exponent));
    ASSERT_LE(UlpError(Pow(base, exponent), exact), kUlps)
        << std::hexfloat << base << " to the " << exponent;
    const float narrow_base = static_cast<float>(base);
    const float narrow_exponent = static_cast<float>(exponent);
    const long double narrow_exact =
        std::pow(static_cast<long double>(narrow_base),
                 static_cast<long double>(narrow_exponent));
    if (narrow_exact < 1e-37L || narrow_exact > 3e38L) continue;
    ++finite;
    ASSERT_LE(UlpError(Pow(narrow_base, narrow_exponent), narrow_exact), kUlps)
        << std::hexfloat << base << "f to the " << exponent;
  }
  EXPECT_GT(finite, kDraws / 2);
}

TEST(Elementary, HighPrecisionValues) {
  // 25 digits from mpmath 1.3 at 200 bits.
  struct Case {
    double value;
    long double exact;
  };
  const std::vector<Case> cases = {
      {Exp(1.0), 2.718281828459045235360287L},
      {Exp(-0.5), 0.6065306597126334236037995L},
      {Exp(700.0), 1.01423205473500450945533e+304L},
      {Exp(-740.5), 2.540599162810160116217843e-322L},
      {Log(2.0), 0.6931471805599453094172321L},
      {Log(10.0), 2.302585092994045684017991L},
      {Log(1 + 0x1p-52), 2.22044604925031283432823e-16L},
      {Log(5e-324), -744.4400719213812621073141L},
      {Tanh(0.5), 0.4621171572600097585023185L},
      {Tanh(0x1p-30), 9.313225746154785153557355e-10L},
      {Sin(1.0), 0.8414709848078965066525023L},
      {Sin(1e22), -0.8522008497671888017727059L},
      {Cos(1.0), 0.5403023058681397174009366L},
      {Cos(1e22), 0.5232147853951389454975945L},
      {Erf(1.0), 0.8427007929497148693412206L},
      {Erf(0.25), 0.2763263901682369329850683L},
      {Erf(-3.0), -0.9999779095030014145586272L},
      {Pow(2.0, 0.5), 1.414213562373095048801689L},
      {Pow(10.0, -5.0), 1e-5L},
      {Pow(1.5, 2.5), 2.755675960631075360471945L},
      {Pow(0.75, 300.25), 3.070042116168023944668653e-38L},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_LE(UlpError(cases[i].value, cases[i].exact), kUlps)
        << "case " << i << ": " << cases[i].value;
  }
}

template <typename T>
void ExpectSpecialValues() {
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T zero = 0;
  EXPECT_EQ(Exp(zero), 1);
  EXPECT_EQ(Exp(-zero), 1);
  EXPECT_EQ(Exp(inf), inf);
  EXPECT_EQ(Exp(-inf), 0);
  EXPECT_EQ(Exp(T{1000}), inf);
  EXPECT_EQ(Exp(T{-1000}), 0);
  EXPECT_EQ(Log(T{1}), 0);
  EXPECT_EQ(Log(zero), -inf);
  EXPECT_EQ(Log(-zero), -inf);
  EXPECT_TRUE(std::isnan(Log(T{-1})));
  EXPECT_EQ(Log(inf), inf);
  EXPECT_EQ(Tanh(inf), 1);
  EXPECT_EQ(Tanh(-inf), -1);
  EXPECT_EQ(Tanh(T{100}), 1);
  EXPECT_EQ(Erf(inf), 1);
  EXPECT_EQ(Erf(-inf), -1);
  EXPECT_EQ(Erf(zero), 0);
  EXPECT_EQ(Sin(zero), 0);
  EXPECT_EQ(Cos(zero), 1);
  for (const auto function :
       {static_cast<T (*)(T)>(Sin), static_cast<T (*)(T)>(Tanh)}) {
    EXPECT_TRUE(std::signbit(function(-zero)));
    EXPECT_FALSE(std::signbit(function(zero)));
  }
  EXPECT_TRUE(std::isnan(Sin(inf)));
  EXPECT_TRUE(std::isnan(Cos(-inf)));
  EXPECT_EQ(Pow(zero, zero), 1);
  EXPECT_EQ(Pow(nan, zero), 1);
  EXPECT_EQ(Pow(T{2}, T{10}), 1024);
  EXPECT_EQ(Pow(T{-2}, T{3}), -8);
  EXPECT_EQ(Pow(T{10}, T{2}), 100);
  EXPECT_EQ(Pow(zero, T{-1}), inf);
  EXPECT_EQ(Pow(T{0.5}, inf), 0);
  EXPECT_TRUE(std::isnan(Pow(T{-2}, T{0.5})));
  for (const T value : {Exp(nan), Log(nan), Tanh(nan), Sin(nan), Cos(nan),
                        Erf(nan), Pow(nan, T{2}), Pow(T{2}, nan)}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Elementary, SpecialValues) {
  ExpectSpecialValues<double>();
  ExpectSpecialValues<float>();
}

TEST(Elementary, RealPart) {
  EXPECT_EQ(RealPart(1.5f), 1.5f);
  EXPECT_EQ(RealPart(-2.5), -2.5);
  EXPECT_EQ(RealPart(Complex(3.5, 7)), 3.5);
}

// --- complex overloads ---

// Both parts to `error` times the size of the value, which counts as at least
// `least_size`.
void ExpectComplexNear(Complex value, std::complex<long double> exact,
                       double error, double least_size = 0) {
  const double bound =
      error * std::max(static_cast<double>(std::abs(exact)), least_size);
  EXPECT_NEAR(value.real(), static_cast<double>(exact.real()), bound);
  EXPECT_NEAR(value.imag(), static_cast<double>(exact.imag()), bound);
}

// A few roundings of 2^-53 each, and functions within 2^-52.
constexpr double kComplexError = 12 * 0x1p-53;

TEST(ComplexElementary, HighPrecisionValues) {
  // From mpmath 1.3 at 200 bits.
  ExpectComplexNear(Exp(Complex(0.5, 2)),
                    {-0.6861101411498431246501414L, 1.49917800900039471582679L},
                    kComplexError);
  ExpectComplexNear(Log(Complex(-1, 2)),
                    {0.8047189562170501873003797L, 2.034443935795702735445578L},
                    kComplexError);
  ExpectComplexNear(
      Log(Complex(3, -4)),
      {1.609437912434100374600759L, -0.9272952180016122324285125L},
      kComplexError);
  ExpectComplexNear(
      Tanh(Complex(0.5, 0.25)),
      {0.4854872810241353475248477L, 0.1980554499513495341891182L},
      kComplexError);
  ExpectComplexNear(
      Tanh(Complex(-1.5, 1)),
      {-1.037958782857932436923979L, 0.09421292012954439646590789L},
      kComplexError);
}

TEST(ComplexElementary, AgreesWithTheClosedForms) {
  Draws draws(400);
  for (int i = 0; i < kDraws / 10; ++i) {
    const double a = draws.Uniform(-3, 3);
    const double b = draws.Uniform(-1.2, 1.2);
    const long double c = a;
    const long double d = b;
    ExpectComplexNear(
        Exp(Complex(a, b)),
        std::exp(c) * std::complex<long double>(std::cos(d), std::sin(d)),
        kComplexError);
    ExpectComplexNear(
        Log(Complex(a, b)), {std::log(c * c + d * d) / 2, std::atan2(d, c)},
        kComplexError,
        // The logarithm of a modulus near 1 inherits the modulus's rounding.
        /*least_size=*/1);
    // tanh z = (sinh 2a + i sin 2b) / (cosh 2a + cos 2b).
    const long double denominator = std::cosh(2 * c) + std::cos(2 * d);
    ExpectComplexNear(
        Tanh(Complex(a, b)),
        {std::sinh(2 * c) / denominator, std::sin(2 * d) / denominator},
        kComplexError);
  }
}

// f(x + ih) with h = 1e-50 carries f(x) in its real part, and in its imaginary
// part f'(x) h to rounding: a relative error, however small f' is.
void ExpectComplexStep(Complex (*function)(Complex),
                       long double (*value)(long double),
                       long double (*derivative)(long double), double x) {
  constexpr double kStep = 1e-50;
  const Complex stepped = function({x, kStep});
  EXPECT_LE(UlpError(stepped.real(), value(x)), 2) << x;
  const auto exact = static_cast<double>(derivative(x));
  EXPECT_NEAR(stepped.imag() / kStep, exact, kComplexError * std::abs(exact))
      << x;
}

TEST(ComplexElementary, ComplexStepGivesTheDerivative) {
  Draws draws(500);
  for (int i = 0; i < kDraws / 10; ++i) {
    const double x = draws.Uniform(-20, 20);
    ExpectComplexStep(Exp, std::exp, std::exp, x);
    ExpectComplexStep(
        Tanh, std::tanh,
        [](long double y) { return 1 / (std::cosh(y) * std::cosh(y)); }, x);
    ExpectComplexStep(
        Log, std::log, [](long double y) { return 1 / y; },
        std::abs(draws.Scaled(-20, 20)));
  }
  ExpectComplexStep(
      Tanh, std::tanh, [](long double) { return 1.0L; }, 0.0);
}

TEST(ComplexElementary, TheRealAxisStaysReal) {
  for (const double x : {-2.0, 0.5, 3.0}) {
    EXPECT_EQ(Exp(Complex(x, 0)), Complex(Exp(x), 0));
    EXPECT_EQ(Tanh(Complex(x, 0)), Complex(Tanh(x), 0));
  }
  EXPECT_EQ(Log(Complex(0.5, 0)), Complex(Log(0.5), 0));
  EXPECT_EQ(Log(Complex(-1, 0)), Complex(0, 3.141592653589793));
}

TEST(ComplexElementary, NothingIsLostFarOut) {
  // Where tanh is 1 to rounding: no NaN, and the derivative still 4 e^-2a.
  EXPECT_EQ(Tanh(Complex(400, 1e-50)), Complex(1, 0));
  EXPECT_NEAR(Tanh(Complex(40, 1e-50)).imag() / 1e-50 * std::exp(80.0), 4,
              1e-12);
  EXPECT_EQ(Exp(Complex(-kInf, 1e-50)), Complex(0, 0));
}

// --- the same bits everywhere ---

// The hash of a function's bits over 4,096 arguments, which are made
// from words by exact steps only.
template <typename T>
uint64_t HashOf(const std::function<T(T, T)>& function, uint32_t purpose) {
  Draws draws(purpose);
  BitHash hash;
  for (int i = 0; i < 4096; ++i) {
    const auto next = [&draws] {
      const auto word = static_cast<int32_t>(draws.Word());
      return static_cast<T>(static_cast<double>(word >> 8) * 0x1p-18);
    };
    const T x = next();  // in [-32, 32)
    const T result = function(x, next());
    EXPECT_FALSE(std::isnan(result));
    hash.Add<double>({static_cast<double>(result)});
  }
  return hash.value();
}

struct Golden {
  std::string name;
  uint64_t hash;
  uint64_t expected;
};

// Regression goldens, not known answers: they say that the bits have not
// changed, on this compiler or processor or with a newer SLEEF. If SLEEF
// changed on purpose, put in the printed values.
TEST(Elementary, RegressionGoldensOfTheBits) {
  using D = double;
  using F = float;
  const std::vector<Golden> goldens = {
      {"exp double", HashOf<D>([](D x, D) { return Exp(x); }, 600),
       0x21244277577067c8},
      {"exp float", HashOf<F>([](F x, F) { return Exp(x); }, 601),
       0x6e44e02c61055e65},
      {"log double",
       HashOf<D>([](D x, D) { return Log(std::abs(x) + 0x1p-20); }, 602),
       0x1476d0638084852c},
      {"log float",
       HashOf<F>([](F x, F) { return Log(std::abs(x) + 0x1p-20f); }, 603),
       0x4ccae8e81209282c},
      {"tanh double", HashOf<D>([](D x, D) { return Tanh(x / 8); }, 604),
       0x5ec1bb0fdc104266},
      {"tanh float", HashOf<F>([](F x, F) { return Tanh(x / 8); }, 605),
       0x7e244c38acd37b8c},
      {"sin double", HashOf<D>([](D x, D) { return Sin(x); }, 606),
       0x5b14763c27b747c1},
      {"sin float", HashOf<F>([](F x, F) { return Sin(x); }, 607),
       0x49ad303de7d63117},
      {"cos double", HashOf<D>([](D x, D) { return Cos(x); }, 608),
       0x52871d50433f4e40},
      {"cos float", HashOf<F>([](F x, F) { return Cos(x); }, 609),
       0x8236912100b0bf40},
      {"erf double", HashOf<D>([](D x, D) { return Erf(x / 8); }, 610),
       0xe8318d1b83adc2e5},
      {"erf float", HashOf<F>([](F x, F) { return Erf(x / 8); }, 611),
       0xd6b625e65642b0a7},
      {"pow double",
       HashOf<D>([](D x, D y) { return Pow(std::abs(x), y); }, 612),
       0x4f24ed2667c39fe1},
      {"pow float",
       HashOf<F>([](F x, F y) { return Pow(std::abs(x), y); }, 613),
       0x83fc636172475ef7},
  };
  for (const Golden& golden : goldens) {
    EXPECT_EQ(golden.hash, golden.expected)
        << golden.name << std::hex << ": 0x" << golden.hash;
  }
}

}  // namespace
}  // namespace softlookup
