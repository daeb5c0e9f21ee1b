// Derivatives to check gradients against: complex step and central difference.
//
// The complex step evaluates f at x + i h d. For an analytic f that is real
// on the real line, Im f(x + i h d) / h is the derivative along d with error
// O(h^2) and without a subtraction, so h = 1e-50 gives it to rounding (Squire
// and Trapp, SIAM Review 40, 1998). f must be a template on its scalar, with
// the elementary functions of base/elementary.h.
//
//   auto f = [](absl::Span<const std::complex<double>> x) {
//     return Exp(x[0]) * x[1];
//   };
//   ComplexStepDerivative(f, {0.0, 2.0}, {1.0, 0.0});   // 2
//   ComplexStepGradient(f, {0.0, 2.0});                 // {2, 1}
//
// For whole tensors: run the forward pass on ComplexStep(x, d), reduce to a
// scalar loss, and take Derivative(loss).
#ifndef SOFTLOOKUP_ATTENTION_TESTING_GRADIENT_CHECK_H_
#define SOFTLOOKUP_ATTENTION_TESTING_GRADIENT_CHECK_H_

#include <complex>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// h: small enough that h^2 vanishes beside 1, large enough that h times a
// derivative does not underflow.
inline constexpr double kComplexStep = 1e-50;

// x + i h d, elementwise; the shapes must be equal.
Tensor<std::complex<double>> ComplexStep(const Tensor<double>& x,
                                         const Tensor<double>& direction);

// x with no imaginary part.
Tensor<std::complex<double>> ToComplex(const Tensor<double>& x);

// Im value / h, for a value computed from complex-step inputs.
inline double Derivative(std::complex<double> value) {
  return value.imag() / kComplexStep;
}

using ComplexFunction =
    std::function<std::complex<double>(absl::Span<const std::complex<double>>)>;
using RealFunction = std::function<double(absl::Span<const double>)>;

// The derivative of f at x, [n], along the direction, [n].
double ComplexStepDerivative(const ComplexFunction& f,
                             absl::Span<const double> x,
                             absl::Span<const double> direction);

// The gradient of f at x, [n]: one evaluation per element.
std::vector<double> ComplexStepGradient(const ComplexFunction& f,
                                        absl::Span<const double> x);

// (f(x + h d) - f(x - h d)) / (2 h): truncation error O(h^2), rounding error
// O(|f| u / h), smallest together near h = u^(1/3), about 5e-6.
double CentralDifference(const RealFunction& f, absl::Span<const double> x,
                         absl::Span<const double> direction, double step);

// The gradient by central differences, [n]: two evaluations per element.
std::vector<double> CentralDifferenceGradient(const RealFunction& f,
                                              absl::Span<const double> x,
                                              double step);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_TESTING_GRADIENT_CHECK_H_
