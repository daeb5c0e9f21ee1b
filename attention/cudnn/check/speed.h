// How fast attention is on a GPU, and what a call costs the host.
//
//   SpeedMeter meter(runner.get());
//   for (const SpeedCase& shape : SpeedCases(16384)) {
//     SOFTLOOKUP_ASSIGN_OR_RETURN(const Timing timing,
//                                 meter.Measure(shape.Problem()));
//     double teraflops = shape.Operations() / timing.median * 1e-12;
//   }
//
// In bfloat16, 64 query heads over 8 key heads, Tq = Tk.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CHECK_SPEED_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CHECK_SPEED_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/gpu_runner.h"
#include "base/timing.h"

namespace softlookup::cudnn {

struct SpeedCase {
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
};

// D = 128 and 64; T = 1024, 2048, ... up to `longest`; causal and full; forward
// and backward, in this order.
std::vector<SpeedCase> SpeedCases(int64_t longest);

class SpeedMeter {
 public:
  // The runner must outlive this object.
  explicit SpeedMeter(GpuRunner* runner);

  // Seconds of the GPU per call, by events, over seven rounds of ten calls. The
  // runner's errors.
  absl::StatusOr<Timing> Measure(const CudnnProblem& problem);

  // Microseconds of the host to start a call that is little work for the GPU.
  absl::StatusOr<double> HostMicroseconds(bool backward);

 private:
  absl::StatusOr<GpuBinding> Prepare(const CudnnProblem& problem);
  absl::Status Start(GpuBinding& run, int calls);

  GpuRunner* runner_;
  std::vector<uint16_t> normals_;  // a million, in bfloat16
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CHECK_SPEED_H_
