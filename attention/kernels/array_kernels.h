// Elementary functions and reductions over contiguous arrays.
//
// Fixed order (see determinism.md): a function of one element has no order. A
// reduction runs over kReductionLanes lanes, element i in lane i mod
// kReductionLanes, whatever the vectors' width; then the upper half of the
// lanes is folded into the lower until one is left.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_KERNELS_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_KERNELS_H_

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/array_function.h"

namespace softlookup::kernels {

inline constexpr int kReductionLanes = 16;

template <typename Simd>
class ArrayKernels {
 public:
  // y[i] = function(x[i]); y may be x.
  static void Map(ArrayFunction function, const float* x, float* y, int64_t n) {
    switch (function) {
      case ArrayFunction::kExp:
        return Each(x, y, n, [](Float v) { return Simd::Exp(v); });
      case ArrayFunction::kLog:
        return Each(x, y, n, [](Float v) { return Simd::Log(v); });
      case ArrayFunction::kTanh:
        return Each(x, y, n, [](Float v) { return Simd::Tanh(v); });
      case ArrayFunction::kSin:
        return Each(x, y, n, [](Float v) { return Simd::Sin(v); });
      case ArrayFunction::kCos:
        return Each(x, y, n, [](Float v) { return Simd::Cos(v); });
      case ArrayFunction::kErf:
        return Each(x, y, n, [](Float v) { return Simd::Erf(v); });
      case ArrayFunction::kSigmoid:
        return Each(x, y, n, [](Float v) { return Sigmoid(v); });
      case ArrayFunction::kRelu:
        return Each(x, y, n, [](Float v) { return Relu(v); });
      case ArrayFunction::kGelu:
        return Each(x, y, n,
                    [](Float v) { return Simd::Mul(v, NormalBelow(v)); });
      case ArrayFunction::kGeluSlope:
        return Each(x, y, n, [](Float v) { return GeluSlope(v); });
    }
  }

  // y[i] += x[i].
  static void Add(const float* x, float* y, int64_t n) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      Simd::Store(y + i, Simd::Add(Simd::Load(y + i), Simd::Load(x + i)));
    }
    if (i < n) {
      const int count = static_cast<int>(n - i);
      Simd::StoreFirst(y + i,
                       Simd::Add(Simd::LoadFirst(y + i, count),
                                 Simd::LoadFirst(x + i, count)),
                       count);
    }
  }

  // y[i] *= factor.
  static void Scale(float factor, float* y, int64_t n) {
    const Float by = Simd::Set(factor);
    Each(y, y, n, [by](Float v) { return Simd::Mul(v, by); });
  }

  static float Sum(const float* x, int64_t n) {
    return Reduce(
        x, n, 0.0f, [](Float sum, Float v) { return Simd::Add(sum, v); },
        [](float a, float b) { return a + b; });
  }

  static float SumOfSquares(const float* x, int64_t n) {
    return Reduce(
        x, n, 0.0f, [](Float sum, Float v) { return Simd::Fma(v, v, sum); },
        [](float a, float b) { return a + b; });
  }

  // NaN if any element is.
  static float Maximum(const float* x, int64_t n) {
    return Reduce(
        x, n, -__builtin_inff(),
        [](Float largest, Float v) {
          return Simd::Select(Simd::IsNan(v), v, Simd::Max(v, largest));
        },
        [](float a, float b) { return a != a || a > b ? a : b; });
  }

 private:
  using Float = typename Simd::Float;
  static constexpr int kLanes = Simd::kLanes;

  template <typename Function>
  SOFTLOOKUP_INLINE static void Each(const float* x, float* y, int64_t n,
                                     Function function) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      Simd::Store(y + i, function(Simd::Load(x + i)));
    }
    if (i < n) {
      const int count = static_cast<int>(n - i);
      Simd::StoreFirst(y + i, function(Simd::LoadFirst(x + i, count)), count);
    }
  }

  // `start` must leave any other number as it is when combined with it: it
  // stands for the lanes beyond the end.
  template <typename Accumulate, typename Combine>
  SOFTLOOKUP_INLINE static float Reduce(const float* x, int64_t n, float start,
                                        Accumulate accumulate,
                                        Combine combine) {
    constexpr int kVectors = kReductionLanes / kLanes;
    Float lanes[kVectors];
    for (Float& lane : lanes) lane = Simd::Set(start);
    int64_t i = 0;
    for (; i + kReductionLanes <= n; i += kReductionLanes) {
      for (int v = 0; v < kVectors; ++v) {
        lanes[v] = accumulate(lanes[v], Simd::Load(x + i + v * kLanes));
      }
    }
    if (i < n) {
      float rest[kReductionLanes];
      for (int lane = 0; lane < kReductionLanes; ++lane) {
        rest[lane] = i + lane < n ? x[i + lane] : start;
      }
      for (int v = 0; v < kVectors; ++v) {
        lanes[v] = accumulate(lanes[v], Simd::Load(rest + v * kLanes));
      }
    }
    float folded[kReductionLanes];
    for (int v = 0; v < kVectors; ++v) {
      Simd::Store(folded + v * kLanes, lanes[v]);
    }
    for (int half = kReductionLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        folded[lane] = combine(folded[lane], folded[lane + half]);
      }
    }
    return folded[0];
  }

  SOFTLOOKUP_INLINE static Float Relu(Float x) {
    // In this order a NaN passes through.
    return Simd::Max(Simd::Zero(), x);
  }

  SOFTLOOKUP_INLINE static Float Sigmoid(Float x) {
    const Float one = Simd::Set(1.0f);
    return Simd::Div(one,
                     Simd::Add(one, Simd::Exp(Simd::Sub(Simd::Zero(), x))));
  }

  // Phi(x) = (1 + erf(x / sqrt 2)) / 2.
  SOFTLOOKUP_INLINE static Float NormalBelow(Float x) {
    const Float half = Simd::Set(0.5f);
    return Simd::Fma(Simd::Erf(Simd::Mul(x, Simd::Set(0.707106781f))), half,
                     half);
  }

  // Phi(x) + x phi(x), phi(x) = exp(-x^2 / 2) / sqrt(2 pi).
  SOFTLOOKUP_INLINE static Float GeluSlope(Float x) {
    const Float exponent = Simd::Mul(Simd::Mul(x, x), Simd::Set(-0.5f));
    const Float density =
        Simd::Mul(Simd::Exp(exponent), Simd::Set(0.398942280f));
    return Simd::Fma(x, density, NormalBelow(x));
  }
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_KERNELS_H_
