// The kernels on sixteen float lanes by AVX-512 (F, DQ, VL), compiled with
// -mavx512f -mavx512dq -mavx512vl -mfma.
//
// The three kernels_*.cc offer the same operations under the same names,
// as static members of a struct, so that a kernel is a template over it. Every
// operation is one IEEE operation per lane: the same bits whatever the width.
#include <immintrin.h>

#include <cstdint>

#include "attention/kernels/always_inline.h"
#include "attention/kernels/kernel_table.h"
#include "sleef.h"

namespace softlookup::kernels {

struct SimdAvx512 {
  static constexpr int kLanes = 16;
  // Rows of the micro-kernels beside 3, 2 and 1 vectors: up to 24 of the 32
  // registers hold sums.
  static constexpr int kRowsBeside3 = 8;
  static constexpr int kRowsBeside2 = 8;
  static constexpr int kRowsBeside1 = 8;
  using Float = __m512;
  using Mask = __mmask16;

  SOFTLOOKUP_INLINE static Float Zero() { return _mm512_setzero_ps(); }
  SOFTLOOKUP_INLINE static Float Set(float x) { return _mm512_set1_ps(x); }
  SOFTLOOKUP_INLINE static Float Load(const float* p) {
    return _mm512_loadu_ps(p);
  }
  SOFTLOOKUP_INLINE static void Store(float* p, Float v) {
    _mm512_storeu_ps(p, v);
  }
  // The first n lanes, 0 <= n <= kLanes; the others are zero and unread.
  SOFTLOOKUP_INLINE static Float LoadFirst(const float* p, int n) {
    // Masked moves take longer than plain ones on some processors.
    return n == kLanes ? Load(p) : _mm512_maskz_loadu_ps(FirstLanes(n), p);
  }
  SOFTLOOKUP_INLINE static void StoreFirst(float* p, Float v, int n) {
    if (n == kLanes) {
      Store(p, v);
    } else {
      _mm512_mask_storeu_ps(p, FirstLanes(n), v);
    }
  }
  SOFTLOOKUP_INLINE static Float Broadcast(const float* p) {
    return _mm512_set1_ps(*p);
  }

  SOFTLOOKUP_INLINE static Float Add(Float a, Float b) {
    return _mm512_add_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Sub(Float a, Float b) {
    return _mm512_sub_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Mul(Float a, Float b) {
    return _mm512_mul_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Div(Float a, Float b) {
    return _mm512_div_ps(a, b);
  }
  // a b + c, rounded once.
  SOFTLOOKUP_INLINE static Float Fma(Float a, Float b, Float c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  // a < b ? a : b and a > b ? a : b, so b where either is NaN.
  SOFTLOOKUP_INLINE static Float Min(Float a, Float b) {
    return _mm512_min_ps(a, b);
  }
  SOFTLOOKUP_INLINE static Float Max(Float a, Float b) {
    return _mm512_max_ps(a, b);
  }

  SOFTLOOKUP_INLINE static Mask IsNan(Float v) {
    return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  }
  SOFTLOOKUP_INLINE static bool AnyNotOne(Float v) {
    return _mm512_cmp_ps_mask(v, Set(1.0f), _CMP_NEQ_UQ) != 0;
  }
  SOFTLOOKUP_INLINE static bool Any(Mask m) { return m != 0; }
  SOFTLOOKUP_INLINE static Float Select(Mask m, Float yes, Float no) {
    return _mm512_mask_blend_ps(m, no, yes);
  }

  // The first n lanes, 0 <= n <= kLanes, of `first`, the others of `rest`.
  SOFTLOOKUP_INLINE static Float SelectFirst(int n, Float first, Float rest) {
    return _mm512_mask_blend_ps(FirstLanes(n), rest, first);
  }

  // The bits of each lane, shifted left by 23: what stood lowest becomes sign
  // and exponent, and the fraction 0.
  SOFTLOOKUP_INLINE static Float ShiftToExponent(Float v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(v), 23));
  }

  // rows[r] lane c becomes rows[c] lane r.
  SOFTLOOKUP_INLINE static void Transpose(Float* rows) {
    Float a[16];
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) TransposeQuarters(rows + i, rows + i);
      // rows[4 b + c], quarter q, now holds column 4 q + c of rows 4 b to
      // 4 b + 3. Two rounds exchange b and q.
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const Float even01 = _mm512_shuffle_f32x4(rows[c], rows[4 + c], 0x88);
      const Float odd01 = _mm512_shuffle_f32x4(rows[c], rows[4 + c], 0xDD);
      const Float even23 =
          _mm512_shuffle_f32x4(rows[8 + c], rows[12 + c], 0x88);
      const Float odd23 = _mm512_shuffle_f32x4(rows[8 + c], rows[12 + c], 0xDD);
      a[c] = _mm512_shuffle_f32x4(even01, even23, 0x88);
      a[4 + c] = _mm512_shuffle_f32x4(odd01, odd23, 0x88);
      a[8 + c] = _mm512_shuffle_f32x4(even01, even23, 0xDD);
      a[12 + c] = _mm512_shuffle_f32x4(odd01, odd23, 0xDD);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) rows[i] = a[i];
  }

  // columns[c] lane r = element c of row r, of kLanes rows in memory. Half the
  // shuffles of Transpose: quarters of rows are put where they belong on their
  // way from memory.
  SOFTLOOKUP_INLINE static void LoadTransposed(const float* rows,
                                               int64_t stride, Float* columns) {
#pragma GCC unroll 4
    for (int quarter = 0; quarter < 4; ++quarter) {
      Float a[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const float* p = rows + i * stride + 4 * quarter;
        a[i] = _mm512_castps128_ps512(_mm_loadu_ps(p));
        a[i] = _mm512_insertf32x4(a[i], _mm_loadu_ps(p + 4 * stride), 1);
        a[i] = _mm512_insertf32x4(a[i], _mm_loadu_ps(p + 8 * stride), 2);
        a[i] = _mm512_insertf32x4(a[i], _mm_loadu_ps(p + 12 * stride), 3);
      }
      TransposeQuarters(a, columns + 4 * quarter);
    }
  }

  // SLEEF's deterministic functions: the bits of base/elementary.h.
  SOFTLOOKUP_INLINE static Float Exp(Float x) {
    return Sleef_finz_expf16_u10avx512f(x);
  }
  SOFTLOOKUP_INLINE static Float Log(Float x) {
    return Sleef_finz_logf16_u10avx512f(x);
  }
  SOFTLOOKUP_INLINE static Float Tanh(Float x) {
    return Sleef_finz_tanhf16_u10avx512f(x);
  }
  SOFTLOOKUP_INLINE static Float Sin(Float x) {
    return Sleef_finz_sinf16_u10avx512f(x);
  }
  SOFTLOOKUP_INLINE static Float Cos(Float x) {
    return Sleef_finz_cosf16_u10avx512f(x);
  }
  SOFTLOOKUP_INLINE static Float Erf(Float x) {
    return Sleef_finz_erff16_u10avx512f(x);
  }

 private:
  // columns[c] lane r = rows[r] lane c, in each 128-bit quarter by itself.
  SOFTLOOKUP_INLINE static void TransposeQuarters(const Float* rows,
                                                  Float* columns) {
    const Float low01 = _mm512_unpacklo_ps(rows[0], rows[1]);
    const Float high01 = _mm512_unpackhi_ps(rows[0], rows[1]);
    const Float low23 = _mm512_unpacklo_ps(rows[2], rows[3]);
    const Float high23 = _mm512_unpackhi_ps(rows[2], rows[3]);
    columns[0] = Unpack<0>(low01, low23);
    columns[1] = Unpack<1>(low01, low23);
    columns[2] = Unpack<0>(high01, high23);
    columns[3] = Unpack<1>(high01, high23);
  }
  template <int kHigh>
  SOFTLOOKUP_INLINE static Float Unpack(Float a, Float b) {
    const __m512d x = _mm512_castps_pd(a);
    const __m512d y = _mm512_castps_pd(b);
    return _mm512_castpd_ps(kHigh ? _mm512_unpackhi_pd(x, y)
                                  : _mm512_unpacklo_pd(x, y));
  }
  SOFTLOOKUP_INLINE static __mmask16 FirstLanes(int n) {
    return static_cast<__mmask16>((1u << n) - 1);
  }
};

constexpr KernelTable kAvx512Kernels = KernelTableOf<SimdAvx512>();

}  // namespace softlookup::kernels
