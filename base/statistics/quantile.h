// Quantiles of draws.
//
//   Quantile({30, 10, 20, 40}, 0.25);  // 17.5
#ifndef SOFTLOOKUP_BASE_STATISTICS_QUANTILE_H_
#define SOFTLOOKUP_BASE_STATISTICS_QUANTILE_H_

#include "absl/types/span.h"

namespace softlookup {

// The value below which a fraction 0 <= q <= 1 of n >= 1 draws lies, linear
// between neighbours: q = 0 is the smallest, q = 1 the largest.
double Quantile(absl::Span<const double> draws, double q);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_STATISTICS_QUANTILE_H_
