// The problems whose speed gpu_check measures.
//
//   for (const SpeedCase& speed_case : SpeedCases(16384)) {
//     double teraflops = speed_case.Operations() / seconds * 1e-12;
//   }
//
// In bfloat16, 64 query heads over 8 key heads, Tq = Tk.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_SPEED_CASES_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_SPEED_CASES_H_

#include <cstdint>
#include <vector>

#include "attention/cudnn/cudnn_problem.h"

namespace softlookup::cudnn {

struct SpeedCase {
  static constexpr int64_t kHeads = 64;
  static constexpr int64_t kKeyHeads = 8;

  int64_t width = 128;  // D = Dv
  int64_t length = 2048;
  bool causal = false;  // top-left
  bool backward = false;

  // As many as make 8192 positions, at least one: enough to fill a card.
  int64_t Batch() const;
  CudnnProblem Problem() const;

  // Two products of B H T T D multiply-adds forward, five backward; half of
  // them under a causal mask. As FlashAttention and cuDNN count.
  double Operations() const;

  // The shapes whose speed is published, D = 128 from 2048 on, are measured
  // whatever the time left.
  bool Main() const { return width == 128 && length >= 2048; }
};

// D = 128 and 64; T = 1024, 2048, ... up to `longest`; causal and full; forward
// and backward. Main() ones first, and forward before its backward.
std::vector<SpeedCase> SpeedCases(int64_t longest);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_SPEED_CASES_H_
