#include "base/statistics/quantile.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.h"

namespace softlookup {

double Quantile(absl::Span<const double> draws, double q) {
  SOFTLOOKUP_CHECK(!draws.empty() && q >= 0 && q <= 1, "draws and 0 <= q <= 1");
  std::vector<double> sorted(draws.begin(), draws.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const double fraction = place - static_cast<double>(below);
  if (fraction == 0) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

}  // namespace softlookup
