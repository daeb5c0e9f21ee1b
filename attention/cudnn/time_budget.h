// The seconds that a run may take, and how many of them are gone.
//
//   const TimeBudget budget(220);
//   while (!budget.Past(0.4)) NextCase();   // up to 40 % of all the time
//   peer.Ask(request, std::min(30.0, budget.Left()));
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_TIME_BUDGET_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_TIME_BUDGET_H_

#include <functional>

namespace softlookup::cudnn {

class TimeBudget {
 public:
  // Begins now. `now` gives seconds; without it, those of SecondsNow().
  explicit TimeBudget(double seconds, std::function<double()> now = nullptr);

  double Used() const;
  double Left() const;  // never negative
  // Whether this share of all the time, 0 to 1, is used up.
  bool Past(double share) const;

 private:
  const double seconds_;
  const std::function<double()> now_;
  const double begin_;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_TIME_BUDGET_H_
