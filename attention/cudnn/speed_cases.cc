#include "attention/cudnn/speed_cases.h"

#include <algorithm>

#include "attention/mask.h"
#include "base/tensor/dtype.h"

namespace softlookup::cudnn {

int64_t SpeedCase::Batch() const { return std::max<int64_t>(1, 8192 / length); }

CudnnProblem SpeedCase::Problem() const {
  CudnnProblem problem = ContiguousProblem({.batch = Batch(),
                                            .query_heads = kHeads,
                                            .key_heads = kKeyHeads,
                                            .queries = length,
                                            .keys = length,
                                            .width = width,
                                            .value_width = width},
                                           Dtype::kBF16, backward);
  if (causal) problem.causal = CausalAlignment::kTopLeft;
  return problem;
}

double SpeedCase::Operations() const {
  const double products = backward ? 5 : 2;
  const double pairs = static_cast<double>(length) *
                       static_cast<double>(length) * (causal ? 0.5 : 1.0);
  return products * 2 * static_cast<double>(Batch() * kHeads * width) * pairs;
}

std::vector<SpeedCase> SpeedCases(int64_t longest) {
  std::vector<SpeedCase> cases;
  for (const int64_t width : {128, 64}) {
    for (int64_t length = 1024; length <= longest; length *= 2) {
      for (const bool causal : {true, false}) {
        for (const bool backward : {false, true}) {
          cases.push_back({width, length, causal, backward});
        }
      }
    }
  }
  std::stable_partition(cases.begin(), cases.end(),
                        [](const SpeedCase& c) { return c.Main(); });
  return cases;
}

}  // namespace softlookup::cudnn
