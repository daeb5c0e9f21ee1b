// The most floating-point operations per second that a processor gives: the
// yardstick of every benchmark. Measured, because clocks and neighbours change
// it from minute to minute; measure it again before every case.
//
//   const double share = operations / seconds /
//   kernels::MeasurePeak(execution);
#ifndef SOFTLOOKUP_ATTENTION_BENCHMARK_PEAK_H_
#define SOFTLOOKUP_ATTENTION_BENCHMARK_PEAK_H_

#include "attention/kernels/kernel_options.h"

namespace softlookup::kernels {

// Operations per second, a multiply-add being two, of independent fused
// multiply-adds in registers, on every thread of `execution` at a time: the
// best of several tries of at least `seconds` / 10 each.
double MeasurePeak(const KernelOptions& execution, double seconds = 0.02);

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_BENCHMARK_PEAK_H_
