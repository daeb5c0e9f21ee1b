#include "base/elementary.h"

#include <cmath>

// sleef.h declares the functions that use fused multiply-add only to
// translation units compiled for it. The library has them in any case, and
// base/program.h makes sure that the processor does.
#ifndef FP_FAST_FMA
#define FP_FAST_FMA
#endif
#ifndef FP_FAST_FMAF
#define FP_FAST_FMAF
#endif
#include "sleef.h"

namespace softlookup {

float Exp(float x) { return Sleef_finz_expf1_u10purecfma(x); }
double Exp(double x) { return Sleef_finz_expd1_u10purecfma(x); }

std::complex<double> Exp(std::complex<double> z) {
  const double modulus = Exp(z.real());
  return {modulus * Cos(z.imag()), modulus * Sin(z.imag())};
}

float Log(float x) { return Sleef_finz_logf1_u10purecfma(x); }
double Log(double x) { return Sleef_finz_logd1_u10purecfma(x); }

std::complex<double> Log(std::complex<double> z) {
  return {Log(Sleef_finz_hypotd1_u05purecfma(z.real(), z.imag())),
          Sleef_finz_atan2d1_u10purecfma(z.imag(), z.real())};
}

float Tanh(float x) { return Sleef_finz_tanhf1_u10purecfma(x); }
double Tanh(double x) { return Sleef_finz_tanhd1_u10purecfma(x); }

std::complex<double> Tanh(std::complex<double> z) {
  // tanh(a + ib) = (tanh a + i tan b) / (1 + i tanh a tan b), expanded: the
  // library's complex division differs between versions. The imaginary part
  // takes 1 - tanh^2 a = 4 e / (1 + e)^2, e = exp(-2 |a|), which does not
  // cancel where tanh a is near 1.
  const double tanh_a = Tanh(z.real());
  const double e = Exp(-2 * std::abs(z.real()));
  const double tan_b = Sin(z.imag()) / Cos(z.imag());
  const double tan_b_squared = tan_b * tan_b;
  const double denominator = 1 + tanh_a * tanh_a * tan_b_squared;
  return {tanh_a * (1 + tan_b_squared) / denominator,
          tan_b * (4 * e / ((1 + e) * (1 + e))) / denominator};
}

float Sin(float x) { return Sleef_finz_sinf1_u10purecfma(x); }
double Sin(double x) { return Sleef_finz_sind1_u10purecfma(x); }
float Cos(float x) { return Sleef_finz_cosf1_u10purecfma(x); }
double Cos(double x) { return Sleef_finz_cosd1_u10purecfma(x); }

float Erf(float x) { return Sleef_finz_erff1_u10purecfma(x); }
double Erf(double x) { return Sleef_finz_erfd1_u10purecfma(x); }

float Pow(float base, float exponent) {
  return Sleef_finz_powf1_u10purecfma(base, exponent);
}
double Pow(double base, double exponent) {
  return Sleef_finz_powd1_u10purecfma(base, exponent);
}

}  // namespace softlookup
