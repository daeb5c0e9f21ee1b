#include "attention/kernels/row_offsets.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attention/kernels/head_mask.h"
#include "base/elementary.h"

namespace softlookup::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The scores of the keys that query i sees, to the bit as the tiles have them.
std::vector<float> Scores(const HeadProblem& head, int64_t i) {
  const float scale = QueryScale(head);
  const float* query = head.query + i * head.query_stride;
  std::vector<float> scores;
  for (int64_t j = head.key_begin; j < KeyEnd(head, i); ++j) {
    if (!Visible(head, i, j)) continue;
    const float* key = head.key + j * head.key_stride;
    float score = 0;
    for (int64_t k = 0; k < head.width; ++k) {
      score = std::fma(key[k], query[k] * scale, score);
    }
    if (head.bias != nullptr) {
      score +=
          head.bias[i * head.bias_row_stride + j * head.bias_column_stride];
    }
    scores.push_back(score);
  }
  return scores;
}

}  // namespace

void RowOffsets(const HeadProblem& head, int64_t begin, int64_t end,
                const float* log_sum_exp, float* maximum, float* log_sum) {
  // From natural logarithms to the scores' unit.
  const float unit = head.bias == nullptr ? kLog2E : 1.0f;
  for (int64_t i = begin; i < end; ++i) {
    const float total = log_sum_exp[i];
    log_sum[i] = 0;
    if (!std::isfinite(total)) {
      maximum[i] = total == -kInf && !SeesAnyKey(head, i) ? kInf : kNan;
    } else if (std::abs(total) <= kExactLogSumExp) {
      maximum[i] = total * unit;
    } else {
      const std::vector<float> scores = Scores(head, i);
      maximum[i] = *std::max_element(scores.begin(), scores.end());
      float sum = 0;
      for (const float score : scores) {
        sum += Exp((score - maximum[i]) / unit);
      }
      log_sum[i] = Log(sum) * unit;
    }
  }
}

}  // namespace softlookup::kernels
