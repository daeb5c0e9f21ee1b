#include "attention/cudnn/check/speed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "attention/cudnn/half_tensor.h"
#include "attention/mask.h"
#include "base/random/random.h"
#include "base/status.h"
#include "base/tensor/dtype.h"

namespace softlookup::cudnn {
namespace {

constexpr int64_t kHeads = 64;  // over 8
constexpr int kRounds = 7;
constexpr int kCalls = 10;  // of a round

// Bytes on the host, filled by a pattern again and again.
template <typename T>
std::vector<uint8_t> Repeat(const std::vector<T>& pattern, int64_t bytes) {
  std::vector<uint8_t> filled(bytes);
  const auto size = static_cast<int64_t>(pattern.size() * sizeof(T));
  for (int64_t at = 0; at < bytes; at += size) {
    std::memcpy(&filled[at], pattern.data(), std::min(size, bytes - at));
  }
  return filled;
}

}  // namespace

int64_t SpeedCase::Batch() const { return std::max<int64_t>(1, 8192 / length); }

CudnnProblem SpeedCase::Problem() const {
  CudnnProblem problem = ContiguousProblem(
      {Batch(), kHeads, kHeads / 8, length, length, width, width}, Dtype::kBF16,
      backward);
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
  return cases;
}

SpeedMeter::SpeedMeter(GpuRunner* runner) : runner_(runner), normals_(1 << 20) {
  RandomStream stream(/*seed=*/1, "speed");
  for (uint16_t& bits : normals_) {
    bits = FloatToHalf(static_cast<float>(stream.Gaussian()), Dtype::kBF16);
  }
}

// Elements are a million unit normals again and again: drawing all would take
// longer than to measure, and zeros would draw less power and run faster.
// Lengths are full; the log-sum-exp is ln Tk, about that of such scores.
absl::StatusOr<GpuBinding> SpeedMeter::Prepare(const CudnnProblem& problem) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan,
                              runner_->plans().Get(problem));
  const auto length = static_cast<int32_t>(problem.sizes.keys);
  const std::vector<CudnnTensor> tensors = CudnnTensors(problem);
  std::map<CudnnTensorId, std::vector<uint8_t>> memory;
  std::map<CudnnTensorId, HostBytes> host;
  for (const CudnnTensor& tensor : tensors) {
    host[tensor.id].bytes = tensor.Bytes();
    if (tensor.written) continue;
    memory[tensor.id] =
        tensor.dtype == Dtype::kI32
            ? Repeat(std::vector<int32_t>{length}, tensor.Bytes())
        : tensor.dtype == Dtype::kF32
            ? Repeat(std::vector<float>{std::log(static_cast<float>(length))},
                     tensor.Bytes())
            : Repeat(normals_, tensor.Bytes());
    host[tensor.id].input = memory[tensor.id].data();
  }
  SOFTLOOKUP_RETURN_IF_ERROR(runner_->memory().Upload(tensors, host));
  SOFTLOOKUP_RETURN_IF_ERROR(runner_->gpu().Synchronize());
  return runner_->Prepare(tensors, std::move(plan));
}

absl::StatusOr<Timing> SpeedMeter::Measure(const CudnnProblem& problem) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(GpuBinding run, Prepare(problem));
  std::vector<double> seconds;
  // One round more, which warms up and is not kept.
  for (int round = 0; round <= kRounds; ++round) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(const double measured, runner_->gpu().Time([&] {
      return Start(run, kCalls);
    }));
    if (round > 0) seconds.push_back(measured / kCalls);
  }
  return Summarize(std::move(seconds));
}

absl::Status SpeedMeter::Start(GpuBinding& run, int calls) {
  for (int call = 0; call < calls; ++call) {
    SOFTLOOKUP_RETURN_IF_ERROR(runner_->Start(run));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> SpeedMeter::HostMicroseconds(bool backward) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      GpuBinding run, Prepare(ContiguousProblem({1, 1, 1, 64, 64, 64, 64},
                                                Dtype::kBF16, backward)));
  SOFTLOOKUP_RETURN_IF_ERROR(Start(run, kCalls));  // warm-up
  SOFTLOOKUP_RETURN_IF_ERROR(runner_->gpu().Synchronize());
  // Fewer than the driver queues before it makes the host wait.
  constexpr int kMany = 200;
  const double before = SecondsNow();
  SOFTLOOKUP_RETURN_IF_ERROR(Start(run, kMany));
  const double microseconds = (SecondsNow() - before) / kMany * 1e6;
  SOFTLOOKUP_RETURN_IF_ERROR(runner_->gpu().Synchronize());
  return microseconds;
}

}  // namespace softlookup::cudnn
