// The kernels on eight float lanes by AVX2 and FMA, compiled with -mavx2 -mfma.
// See kernels_avx512.cc for what the operations mean.
#include <immintrin.h>

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/kernel_table.h"
#include "sleef.h"

namespace softlookup::kernels {

struct SimdAvx2 {
  static constexpr int kLanes = 8;
  // Up to 12 of the 16 registers hold sums.
  static constexpr int kRowsBeside3 = 4;
  static constexpr int kRowsBeside2 = 6;
  static constexpr int kRowsBeside1 = 8;
  using Float = __m256;
  using Mask = __m256;

  SOFTLOOKUP_INLINE static Float Zero() { return _mm256_setzero_ps(); }
  SOFTLOOKUP_INLINE static Float Set(float x) { return _mm256_set1_ps(x); }
  SOFTLOOKUP_INLINE static Float Load(const float* p) {
    return _mm256_loadu_ps(p);
  }
  SOFTLOOKUP_INLINE static void Store(float* p, Float v) {
    _mm256_storeu_ps(p, v);
  }
  SOFTLOOKUP_INLINE static Float LoadFirst(const float* p, int n) {
    // Masked moves take many times as long as plain ones on some processors.
    return n == kLanes ? Load(p) : _mm256_maskload_ps(p, FirstLanes(n));
  }
  SOFTLOOKUP_INLINE static void StoreFirst(float* p, Float v, int n) {
    if (n == kLanes) {
      Store(p, v);
    } else {
      _mm256_maskstore_ps(p, FirstLanes(n), v);
    }
  }
  SOFTLOOKUP_INLINE static Float Broadcast(const float* p) {
    return _mm256_broadcast_ss(p);
  }

  SOFTLOOKUP_INLINE static Float Add(Float a, Float b) {
    return _mm256_add_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Sub(Float a, Float b) {
    return _mm256_sub_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Mul(Float a, Float b) {
    return _mm256_mul_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Div(Float a, Float b) {
    return _mm256_div_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Fma(Float a, Float b, Float c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  SOFTLOOKUP_INLINE static Float Min(Float a, Float b) {
    return _mm256_min_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Max(Float a, Float b) {
    return _mm256_max_ps(a, b);
  }

  SOFTLOOKUP_INLINE static Mask IsNan(Float v) {
    return _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  }
  SOFTLOOKUP_INLINE static bool AnyNotOne(Float v) {
    return _mm256_movemask_ps(_mm256_cmp_ps(v, Set(1.0f), _CMP_NEQ_UQ)) != 0;
  }
  SOFTLOOKUP_INLINE static bool Any(Mask m) {
    return _mm256_movemask_ps(m) != 0;
  }
  SOFTLOOKUP_INLINE static Float Select(Mask m, Float yes, Float no) {
    return _mm256_blendv_ps(no, yes, m);
  }

  SOFTLOOKUP_INLINE static Float SelectFirst(int n, Float first, Float rest) {
    return _mm256_blendv_ps(rest, first, _mm256_castsi256_ps(FirstLanes(n)));
  }

  SOFTLOOKUP_INLINE static Float ShiftToExponent(Float v) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(v), 23));
  }

  SOFTLOOKUP_INLINE static void Transpose(Float* rows) {
    Float a[8];
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) TransposeHalves(rows + i, rows + i);
      // rows[4 b + c], half q, now holds column 4 q + c of rows 4 b to 4 b + 3.
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      a[c] = _mm256_permute2f128_ps(rows[c], rows[4 + c], 0x20);
      a[4 + c] = _mm256_permute2f128_ps(rows[c], rows[4 + c], 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) rows[i] = a[i];
  }

  SOFTLOOKUP_INLINE static void LoadTransposed(const float* rows,
                                               int64_t stride, Float* columns) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      Float a[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const float* p = rows + i * stride + 4 * half;
        a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)),
                                    _mm_loadu_ps(p + 4 * stride), 1);
      }
      TransposeHalves(a, columns + 4 * half);
    }
  }

  SOFTLOOKUP_INLINE static Float Exp(Float x) {
    return Sleef_finz_expf8_u10avx2(x);
  }
  SOFTLOOKUP_INLINE static Float Log(Float x) {
    return Sleef_finz_logf8_u10avx2(x);
  }
  SOFTLOOKUP_INLINE static Float Tanh(Float x) {
    return Sleef_finz_tanhf8_u10avx2(x);
  }
  SOFTLOOKUP_INLINE static Float Sin(Float x) {
    return Sleef_finz_sinf8_u10avx2(x);
  }
  SOFTLOOKUP_INLINE static Float Cos(Float x) {
    return Sleef_finz_cosf8_u10avx2(x);
  }
  SOFTLOOKUP_INLINE static Float Erf(Float x) {
    return Sleef_finz_erff8_u10avx2(x);
  }

 private:
  // columns[c] lane r = rows[r] lane c, in each 128-bit half by itself.
  SOFTLOOKUP_INLINE static void TransposeHalves(const Float* rows,
                                                Float* columns) {
    const Float low01 = _mm256_unpacklo_ps(rows[0], rows[1]);
    const Float high01 = _mm256_unpackhi_ps(rows[0], rows[1]);
    const Float low23 = _mm256_unpacklo_ps(rows[2], rows[3]);
    const Float high23 = _mm256_unpackhi_ps(rows[2], rows[3]);
    columns[0] = Unpack<0>(low01, low23);
    columns[1] = Unpack<1>(low01, low23);
    columns[2] = Unpack<0>(high01, high23);
    columns[3] = Unpack<1>(high01, high23);
  }
  template <int kHigh>
  SOFTLOOKUP_INLINE static Float Unpack(Float a, Float b) {
    const __m256d x = _mm256_castps_pd(a);
    const __m256d y = _mm256_castps_pd(b);
    return _mm256_castpd_ps(kHigh ? _mm256_unpackhi_pd(x, y)
                                  : _mm256_unpacklo_pd(x, y));
  }
  SOFTLOOKUP_INLINE static __m256i FirstLanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
};

constexpr KernelTable kAvx2Kernels = KernelTableOf<SimdAvx2>();

}  // namespace softlookup::kernels
