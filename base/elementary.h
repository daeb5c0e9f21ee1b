// Elementary functions with the same bits on every machine.
//
// The C library picks the code of exp, log, sin, ... by CPU, and Eigen's
// vectorised versions follow the instruction set, so neither may touch a
// number that reaches an experiment's results. These functions are SLEEF's
// deterministic `finz_` family (scalar, fused multiply-add): error at most
// 1.0 ulp, the same bits on every CPU that has FMA and with every compiler.
// Square root, division and std::fma are exact by IEEE 754 and need no entry
// here.
//
//   double p = Exp(score - maximum);
//   std::complex<double> q = Exp(std::complex<double>(0.5, 1e-50));
//
// The complex overloads exist for complex-step derivatives: Im f(x + ih) / h
// with h = 1e-50 is f'(x) to rounding, with no subtraction
// (Squire and Trapp, SIAM Review 40, 1998). They are accurate for arguments
// near the real axis; they do not chase branch cuts or extreme imaginary
// parts.
#ifndef SOFTLOOKUP_BASE_ELEMENTARY_H_
#define SOFTLOOKUP_BASE_ELEMENTARY_H_

#include <complex>

namespace softlookup {

float Exp(float x);
double Exp(double x);
std::complex<double> Exp(std::complex<double> z);

// Natural logarithm. Log(0) = -inf, Log(x < 0) = NaN. The complex overload is
// the principal branch.
float Log(float x);
double Log(double x);
std::complex<double> Log(std::complex<double> z);

float Tanh(float x);
double Tanh(double x);
std::complex<double> Tanh(std::complex<double> z);

float Sin(float x);
double Sin(double x);
float Cos(float x);
double Cos(double x);

float Erf(float x);
double Erf(double x);

float Pow(float base, float exponent);
double Pow(double base, double exponent);

// The real part: what comparisons such as a running maximum look at, so that
// one template serves real numbers and the complex step.
inline float RealPart(float x) { return x; }
inline double RealPart(double x) { return x; }
inline double RealPart(std::complex<double> z) { return z.real(); }

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_ELEMENTARY_H_
