#include "attention/cudnn/time_budget.h"

#include <algorithm>
#include <utility>

#include "base/timing.h"

namespace softlookup::cudnn {

TimeBudget::TimeBudget(double seconds, std::function<double()> now)
    : seconds_(seconds),
      now_(now == nullptr ? SecondsNow : std::move(now)),
      begin_(now_()) {}

double TimeBudget::Used() const { return now_() - begin_; }

double TimeBudget::Left() const { return std::max(0.0, seconds_ - Used()); }

bool TimeBudget::Past(double share) const { return Used() >= share * seconds_; }

}  // namespace softlookup::cudnn
