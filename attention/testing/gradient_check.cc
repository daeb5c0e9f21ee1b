#include "attention/testing/gradient_check.h"

#include "base/check.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;

// x + factor * direction.
template <typename T>
std::vector<T> Move(absl::Span<const double> x, T factor,
                    absl::Span<const double> direction) {
  SOFTLOOKUP_CHECK(x.size() == direction.size(),
                   "one element of the direction per element of x");
  std::vector<T> moved(x.begin(), x.end());
  for (size_t n = 0; n < moved.size(); ++n) moved[n] += factor * direction[n];
  return moved;
}

// Calls derivative(direction) for each unit vector of size n.
template <typename F>
std::vector<double> AlongEachAxis(size_t n, const F& derivative) {
  std::vector<double> gradient;
  gradient.reserve(n);
  std::vector<double> direction(n, 0.0);
  for (size_t axis = 0; axis < n; ++axis) {
    direction[axis] = 1.0;
    gradient.push_back(derivative(direction));
    direction[axis] = 0.0;
  }
  return gradient;
}

}  // namespace

Tensor<Complex> ComplexStep(const Tensor<double>& x,
                            const Tensor<double>& direction) {
  SOFTLOOKUP_CHECK(x.shape() == direction.shape(),
                   "a direction of the tensor's shape");
  return Tensor<Complex>(x.shape(), Move(x.elements(), Complex(0, kComplexStep),
                                         direction.elements()));
}

Tensor<Complex> ToComplex(const Tensor<double>& x) {
  return Tensor<Complex>(x.shape(), std::vector<Complex>(x.elements().begin(),
                                                         x.elements().end()));
}

double ComplexStepDerivative(const ComplexFunction& f,
                             absl::Span<const double> x,
                             absl::Span<const double> direction) {
  return Derivative(f(Move(x, Complex(0, kComplexStep), direction)));
}

std::vector<double> ComplexStepGradient(const ComplexFunction& f,
                                        absl::Span<const double> x) {
  return AlongEachAxis(x.size(), [&](absl::Span<const double> direction) {
    return ComplexStepDerivative(f, x, direction);
  });
}

double CentralDifference(const RealFunction& f, absl::Span<const double> x,
                         absl::Span<const double> direction, double step) {
  return (f(Move(x, step, direction)) - f(Move(x, -step, direction))) /
         (2 * step);
}

std::vector<double> CentralDifferenceGradient(const RealFunction& f,
                                              absl::Span<const double> x,
                                              double step) {
  return AlongEachAxis(x.size(), [&](absl::Span<const double> direction) {
    return CentralDifference(f, x, direction, step);
  });
}

}  // namespace softlookup
