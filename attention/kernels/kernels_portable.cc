// The kernels on eight float lanes in plain C++, for any processor: correct
// rather than fast. See kernels_avx512.cc for what the operations mean.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/kernel_table.h"
#include "base/elementary.h"

namespace softlookup::kernels {

struct SimdPortable {
  static constexpr int kLanes = 8;
  static constexpr int kRowsBeside3 = 2;
  static constexpr int kRowsBeside2 = 2;
  static constexpr int kRowsBeside1 = 2;
  struct Float {
    float lane[kLanes];
  };
  struct Mask {
    bool lane[kLanes];
  };

  SOFTLOOKUP_INLINE static Float Zero() { return Set(0.0f); }
  SOFTLOOKUP_INLINE static Float Set(float x) {
    Float v;
    for (float& lane : v.lane) lane = x;
    return v;
  }
  SOFTLOOKUP_INLINE static Float Load(const float* p) {
    Float v;
    std::memcpy(v.lane, p, sizeof(v.lane));
    return v;
  }
  SOFTLOOKUP_INLINE static void Store(float* p, Float v) {
    std::memcpy(p, v.lane, sizeof(v.lane));
  }
  SOFTLOOKUP_INLINE static Float LoadFirst(const float* p, int n) {
    Float v = Zero();
    for (int i = 0; i < n; ++i) v.lane[i] = p[i];
    return v;
  }
  SOFTLOOKUP_INLINE static void StoreFirst(float* p, Float v, int n) {
    for (int i = 0; i < n; ++i) p[i] = v.lane[i];
  }
  SOFTLOOKUP_INLINE static Float Broadcast(const float* p) { return Set(*p); }

  SOFTLOOKUP_INLINE static Float Add(Float a, Float b) {
    return Map(a, b, [](float x, float y) { return x + y; });
  }
  SOFTLOOKUP_INLINE static Float Sub(Float a, Float b) {
    return Map(a, b, [](float x, float y) { return x - y; });
  }
  SOFTLOOKUP_INLINE static Float Mul(Float a, Float b) {
    return Map(a, b, [](float x, float y) { return x * y; });
  }
  SOFTLOOKUP_INLINE static Float Div(Float a, Float b) {
    return Map(a, b, [](float x, float y) { return x / y; });
  }
  SOFTLOOKUP_INLINE static Float Fma(Float a, Float b, Float c) {
    for (int i = 0; i < kLanes; ++i) {
      c.lane[i] = std::fma(a.lane[i], b.lane[i], c.lane[i]);
    }
    return c;
  }
  SOFTLOOKUP_INLINE static Float Min(Float a, Float b) {
    return Map(a, b, [](float x, float y) { return x < y ? x : y; });
  }
  SOFTLOOKUP_INLINE static Float Max(Float a, Float b) {
    return Map(a, b, [](float x, float y) { return x > y ? x : y; });
  }

  SOFTLOOKUP_INLINE static Mask IsNan(Float v) {
    Mask m;
    for (int i = 0; i < kLanes; ++i) m.lane[i] = v.lane[i] != v.lane[i];
    return m;
  }
  SOFTLOOKUP_INLINE static bool AnyNotOne(Float v) {
    bool any = false;
    for (const float lane : v.lane) any = any || lane != 1.0f;
    return any;
  }
  SOFTLOOKUP_INLINE static bool Any(Mask m) {
    bool any = false;
    for (const bool lane : m.lane) any = any || lane;
    return any;
  }
  SOFTLOOKUP_INLINE static Float Select(Mask m, Float yes, Float no) {
    for (int i = 0; i < kLanes; ++i) {
      if (m.lane[i]) no.lane[i] = yes.lane[i];
    }
    return no;
  }

  SOFTLOOKUP_INLINE static Float SelectFirst(int n, Float first, Float rest) {
    for (int i = 0; i < n; ++i) rest.lane[i] = first.lane[i];
    return rest;
  }

  SOFTLOOKUP_INLINE static Float ShiftToExponent(Float v) {
    for (float& lane : v.lane) {
      uint32_t bits;
      std::memcpy(&bits, &lane, sizeof(bits));
      bits <<= 23;
      std::memcpy(&lane, &bits, sizeof(bits));
    }
    return v;
  }

  SOFTLOOKUP_INLINE static void Transpose(Float* rows) {
    for (int r = 0; r < kLanes; ++r) {
      for (int c = 0; c < r; ++c) {
        const float swapped = rows[r].lane[c];
        rows[r].lane[c] = rows[c].lane[r];
        rows[c].lane[r] = swapped;
      }
    }
  }

  SOFTLOOKUP_INLINE static void LoadTransposed(const float* rows,
                                               int64_t stride, Float* columns) {
    for (int c = 0; c < kLanes; ++c) {
      for (int r = 0; r < kLanes; ++r) {
        columns[c].lane[r] = rows[r * stride + c];
      }
    }
  }

  SOFTLOOKUP_INLINE static Float Exp(Float x) {
    for (float& lane : x.lane) lane = softlookup::Exp(lane);
    return x;
  }
  SOFTLOOKUP_INLINE static Float Log(Float x) {
    for (float& lane : x.lane) lane = softlookup::Log(lane);
    return x;
  }
  SOFTLOOKUP_INLINE static Float Tanh(Float x) {
    for (float& lane : x.lane) lane = softlookup::Tanh(lane);
    return x;
  }
  SOFTLOOKUP_INLINE static Float Sin(Float x) {
    for (float& lane : x.lane) lane = softlookup::Sin(lane);
    return x;
  }
  SOFTLOOKUP_INLINE static Float Cos(Float x) {
    for (float& lane : x.lane) lane = softlookup::Cos(lane);
    return x;
  }
  SOFTLOOKUP_INLINE static Float Erf(Float x) {
    for (float& lane : x.lane) lane = softlookup::Erf(lane);
    return x;
  }

 private:
  template <typename Operation>
  SOFTLOOKUP_INLINE static Float Map(Float a, Float b, Operation operation) {
    for (int i = 0; i < kLanes; ++i) {
      a.lane[i] = operation(a.lane[i], b.lane[i]);
    }
    return a;
  }
};

constexpr KernelTable kPortableKernels = KernelTableOf<SimdPortable>();

}  // namespace softlookup::kernels
