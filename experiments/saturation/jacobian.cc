#include "experiments/saturation/jacobian.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "absl/types/span.h"
#include "attention/softmax.h"
#include "base/check.h"
#include "base/random/random.h"
#include "base/tensor/deviation.h"

namespace softlookup {
namespace {

using Complex = std::complex<double>;
using Row = std::vector<double>;

constexpr double kShift = 100;

Row Scaled(Row scores, double factor) {
  for (double& score : scores) score *= factor;
  return scores;
}

double LargestEntry(const Tensor<double>& jacobian) {
  Largest largest;
  for (const double entry : jacobian.elements()) {
    largest.See(std::abs(entry));
  }
  return largest.value();
}

// The weight of all keys but the best one; summed, since 1 - p cancels.
double RestWeight(const Row& p) {
  const size_t best =
      static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  double rest = 0;
  for (size_t j = 0; j < p.size(); ++j) rest += j == best ? 0 : p[j];
  return rest;
}

double RowSumDeviation(const Tensor<double>& jacobian) {
  Largest largest;
  for (int64_t i = 0; i < jacobian.dim(0); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < jacobian.dim(1); ++j) sum += jacobian(i, j);
    largest.See(std::abs(sum));
  }
  return largest.value();
}

double Asymmetry(const Tensor<double>& jacobian) {
  Largest largest;
  for (int64_t i = 0; i < jacobian.dim(0); ++i) {
    for (int64_t j = 0; j < i; ++j) {
      largest.See(std::abs(jacobian(i, j) - jacobian(j, i)));
    }
  }
  return largest.value();
}

double ShiftDeviation(const Row& scores, const Row& p) {
  Row shifted = scores;
  for (double& score : shifted) score += kShift;
  const Row q = Softmax<double>(shifted);
  Largest largest;
  for (size_t j = 0; j < p.size(); ++j) {
    largest.See(std::abs(q[j] - p[j]));
  }
  return largest.value();
}

double ComplexStepDeviation(const Row& scores, const Tensor<double>& jacobian) {
  constexpr double kStep = 1e-50;
  Largest largest;
  for (size_t j = 0; j < scores.size(); ++j) {
    std::vector<Complex> ahead(scores.begin(), scores.end());
    ahead[j] += Complex(0, kStep);
    const std::vector<Complex> p = Softmax<Complex>(ahead);
    for (size_t i = 0; i < p.size(); ++i) {
      largest.See(std::abs(jacobian(i, j) - p[i].imag() / kStep));
    }
  }
  return largest.value();
}

double TraceDeviation(const Row& p, const Tensor<double>& jacobian) {
  double trace = 0;
  double squares = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    trace += jacobian(i, i);
    squares += p[i] * p[i];
  }
  return std::abs(trace - (1 - squares));
}

// n evenly spaced scores of mean 0 and variance 1: the gap of the best key is
// the same whatever the seed.
Row EvenlySpaced(int64_t n) {
  const double keys = static_cast<double>(n);
  const double gap = std::sqrt(12 / (keys * keys - 1));
  Row scores;
  for (int64_t j = 0; j < n; ++j) {
    scores.push_back(gap * (static_cast<double>(j) - (keys - 1) / 2));
  }
  return scores;
}

JacobianPoint PointAt(const Row& scores, double factor) {
  const Row p = Softmax<double>(Scaled(scores, factor));
  return {.factor = factor,
          .largest_weight = *std::max_element(p.begin(), p.end()),
          .trace = SoftmaxJacobianTrace<double>(p),
          .largest_entry = LargestEntry(SoftmaxJacobian<double>(p))};
}

JacobianMatrix MatrixAt(const Row& scores, double factor) {
  const Row p = Softmax<double>(Scaled(scores, factor));
  return {factor, p, SoftmaxJacobian<double>(p)};
}

double LargestRise(const std::vector<JacobianPoint>& curve,
                   double JacobianPoint::*member) {
  Largest rise = Largest::OfAny();
  for (size_t i = 1; i < curve.size(); ++i) {
    rise.See(curve[i].*member - curve[i - 1].*member);
  }
  return rise.value();
}

}  // namespace

Tensor<double> DrawScores(const JacobianOptions& options) {
  const double factors[] = {0.1, 0.5, 1, 2, 5, 10, 20};
  RandomStream stream(options.seed, "jacobian rows");
  Tensor<double> scores({options.rows, options.keys});
  for (int64_t r = 0; r < options.rows; ++r) {
    const absl::Span<double> row(&scores(r, 0), options.keys);
    stream.FillGaussian(row);
    for (double& score : row) score *= factors[r % std::size(factors)];
  }
  return scores;
}

JacobianDeviations MeasureDeviations(const Tensor<double>& scores) {
  const Row uniform = Softmax<double>(Row(scores.dim(1), 0.0));
  const double uniform_trace = SoftmaxJacobianTrace<double>(uniform);
  const double uniform_entry = LargestEntry(SoftmaxJacobian<double>(uniform));
  Largest row_sum;
  Largest asymmetry;
  Largest shift;
  Largest complex_step;
  Largest trace_formula;
  Largest entry_over_rest = Largest::OfAny();
  Largest trace_over_uniform = Largest::OfAny();
  Largest entry_over_uniform = Largest::OfAny();
  for (int64_t r = 0; r < scores.dim(0); ++r) {
    const Row row(&scores(r, 0), &scores(r, 0) + scores.dim(1));
    const Row p = Softmax<double>(row);
    const Tensor<double> jacobian = SoftmaxJacobian<double>(p);
    const double entry = LargestEntry(jacobian);
    row_sum.See(RowSumDeviation(jacobian));
    asymmetry.See(Asymmetry(jacobian));
    shift.See(ShiftDeviation(row, p));
    complex_step.See(ComplexStepDeviation(row, jacobian));
    trace_formula.See(TraceDeviation(p, jacobian));
    entry_over_rest.See(entry - RestWeight(p));
    trace_over_uniform.See(SoftmaxJacobianTrace<double>(p) - uniform_trace);
    entry_over_uniform.See(entry - uniform_entry);
  }
  return {.row_sum = row_sum.value(),
          .asymmetry = asymmetry.value(),
          .shift = shift.value(),
          .complex_step = complex_step.value(),
          .trace_formula = trace_formula.value(),
          .entry_over_rest = entry_over_rest.value(),
          .trace_over_uniform = trace_over_uniform.value(),
          .largest_entry_over_uniform = entry_over_uniform.value()};
}

JacobianResults MeasureJacobian(const JacobianOptions& options) {
  SOFTLOOKUP_CHECK(options.keys >= 2 && options.factor_steps >= 1,
                   "two keys and a step");
  JacobianResults found = {.drawn = MeasureDeviations(DrawScores(options))};
  const Row scores = EvenlySpaced(options.keys);
  for (int64_t step = 0; step <= options.factor_steps; ++step) {
    const double part =
        static_cast<double>(step) / static_cast<double>(options.factor_steps);
    found.curve.push_back(
        PointAt(scores, options.largest_factor * part * part));
  }
  found.trace_rise = LargestRise(found.curve, &JacobianPoint::trace);
  found.largest_entry_rise =
      LargestRise(found.curve, &JacobianPoint::largest_entry);
  for (const double factor : {0.0, 1.0, 4.0, options.largest_factor}) {
    found.matrices.push_back(MatrixAt(scores, factor));
  }
  return found;
}

}  // namespace softlookup
