// Checks attention by cuDNN on the GPU of this machine, and measures it.
//
//   gpu_check --output=gpu_check.json        at most four minutes
//
// Needs the NVIDIA driver and cuDNN 9 (LD_LIBRARY_PATH), and nothing else:
// neither Bazel nor a network. tools/gpu_check finds cuDNN and starts it.
//
//   repeats        the deterministic backward pass, three times, to the bit
//   plans          one built for a description of the GPU, serialized, loaded
//                  and run
//   known faults   log-sum-exps near -100, T = 64, one query: cuDNN 9.19 gives
//                  NaN there without the workaround of cudnn_problem.h
//   parity         forward and every gradient against the float64 reference and
//                  the float32 kernels, over drawn shapes and masks, each
//                  element within its bound (parity.h) and no tensor nearer
//                  than rounding allows
//   speed          TFLOP/s beside PyTorch's cuDNN attention, where there is a
//                  PyTorch with CUDA, and beside a matrix product; microseconds
//                  of the host per call
//
// All but parity, and but the shapes that speed_cases.h does not call main, is
// done however long it takes; these stop when their share of --seconds is used
// up, and the results say how many there were. The JSON is written after every
// part. The Python that is asked for PyTorch is python3, or the one that
// SOFTLOOKUP_PYTORCH_PYTHON names.
//
// Exit codes: 0 all is well; 1 a check failed; 2 bad usage; 3 no GPU.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attention/cudnn/check_cases.h"
#include "attention/cudnn/check_report.h"
#include "attention/cudnn/cudnn_library.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/cudnn_version.h"
#include "attention/cudnn/gpu.h"
#include "attention/cudnn/gpu_runner.h"
#include "attention/cudnn/parity_check.h"
#include "attention/cudnn/plan_check.h"
#include "attention/cudnn/pytorch_peer.h"
#include "attention/cudnn/speed_check.h"
#include "attention/cudnn/time_budget.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "base/runfiles.h"
#include "base/status.h"
#include "base/tensor/dtype.h"
#include "base/thread_pool.h"

ABSL_FLAG(std::string, output, "gpu_check.json", "Where results go, JSON.");
ABSL_FLAG(int64_t, cases, 24, "Drawn problems for each element type.");
ABSL_FLAG(int64_t, longest, 16384, "The longest sequence that is timed.");
ABSL_FLAG(int64_t, seconds, 220,
          "The time for all of it; what may be left out stops then.");
ABSL_FLAG(int64_t, threads, 0,
          "Threads that build plans and compute float32 attention; 0 for all "
          "processors.");
ABSL_FLAG(std::string, pytorch_script, "",
          "pytorch_attention.py, if it is not where the program has it; "
          "\"none\" to compare with no PyTorch.");

namespace softlookup::cudnn {
namespace {

constexpr int kNoGpu = 3;
// Of the time, until which drawn problems are checked; the rest is for speed.
constexpr double kParityShare = 0.45;

absl::Status CheckFlag(const std::string& name, int64_t value, int64_t least,
                       int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "flag --", name, " is ", value, "; allowed: ", least, " to ", most));
}

absl::Status CheckFlags() {
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckFlag("cases", absl::GetFlag(FLAGS_cases), 0, 1000));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckFlag("longest", absl::GetFlag(FLAGS_longest), 1024, 65536));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckFlag("seconds", absl::GetFlag(FLAGS_seconds), 1, 86400));
  return CheckFlag("threads", absl::GetFlag(FLAGS_threads), 0, kMaxThreads);
}

// The plans of both passes of these cases, several at a time.
void BuildAhead(const std::vector<CheckCase>& cases, GpuRunner& runner,
                ThreadPool& pool) {
  std::vector<CudnnProblem> problems;
  for (const CheckCase& drawn : cases) {
    for (const bool backward : {false, true}) {
      absl::StatusOr<CudnnProblem> problem = DescribeCudnnProblem(
          drawn.inputs(), {}, {.element = drawn.element, .backward = backward});
      // What is wrong with it is said when it is run.
      if (problem.ok()) problems.push_back(*std::move(problem));
    }
  }
  runner.plans().BuildAhead(problems, pool);
}

void CheckKnownFaults(GpuRunner& runner, ThreadPool& pool,
                      CheckReport& report) {
  std::printf("known faults\n");
  std::vector<CheckCase> cases;
  for (const Dtype element : {Dtype::kBF16, Dtype::kF16}) {
    for (int number = 0; number < kFaultCases; ++number) {
      cases.push_back(DrawFaultCase(element, number));
    }
  }
  BuildAhead(cases, runner, pool);
  for (const CheckCase& drawn : cases) {
    CheckParity(drawn, "known_faults", runner, pool, report);
  }
}

// The types take turns, so that time that runs out is short for both.
void CheckDrawnProblems(const TimeBudget& budget, GpuRunner& runner,
                        ThreadPool& pool, CheckReport& report) {
  std::printf("parity\n");
  const int64_t total = 2 * absl::GetFlag(FLAGS_cases);
  int64_t checked = 0;
  while (checked < total && !budget.Past(kParityShare)) {
    // As many as have their plans built at a time.
    std::vector<CheckCase> cases;
    const int64_t end = std::min<int64_t>(total, checked + pool.threads());
    for (int64_t number = checked; number < end; ++number) {
      cases.push_back(
          DrawParityCase(number % 2 == 0 ? Dtype::kBF16 : Dtype::kF16,
                         static_cast<int>(number / 2)));
    }
    BuildAhead(cases, runner, pool);
    for (const CheckCase& drawn : cases) {
      if (budget.Past(kParityShare)) break;
      CheckParity(drawn, "parity", runner, pool, report);
      ++checked;
    }
  }
  std::printf("%d of %d drawn problems checked in the time\n",
              static_cast<int>(checked), static_cast<int>(total));
  report.json()["parity_cases"] = {{"checked", checked}, {"of", total}};
}

// PyTorch's side of the comparison, or why there is none.
absl::StatusOr<std::unique_ptr<PytorchPeer>> StartPeer() {
  std::string script = absl::GetFlag(FLAGS_pytorch_script);
  if (script == "none") {
    return absl::UnavailableError("--pytorch_script=none");
  }
  if (script.empty()) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        script, RunfilePath("attention/cudnn/pytorch_attention.py"));
  }
  PytorchPeerOptions options;
  options.script = ResolveUserPath(script);
  const char* python = std::getenv("SOFTLOOKUP_PYTORCH_PYTHON");
  if (python != nullptr && *python != '\0') options.python = python;
  // Set by the packed program, whose own libraries are not PyTorch's.
  const char* path = std::getenv("SOFTLOOKUP_PYTORCH_LIBRARY_PATH");
  if (path != nullptr) options.library_path = path;
  return PytorchPeer::Start(options);
}

absl::Status Run(int* exit_code) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckFlags());
  const TimeBudget budget(static_cast<double>(absl::GetFlag(FLAGS_seconds)));
  const absl::StatusOr<std::unique_ptr<Gpu>> gpu = Gpu::Open();
  if (!gpu.ok()) {
    std::fprintf(stderr, "gpu_check: no GPU: %s\n",
                 std::string(gpu.status().message()).c_str());
    *exit_code = kNoGpu;
    return absl::OkStatus();
  }
  const std::string output = ResolveUserPath(absl::GetFlag(FLAGS_output));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(output));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<GpuRunner> runner,
                              GpuRunner::Open());
  SOFTLOOKUP_ASSIGN_OR_RETURN(const size_t version, LoadedCudnnVersion());
  const GpuInfo& info = runner->gpu().info();
  std::printf("%s, driver for CUDA %s, cuDNN %s\n", info.name.c_str(),
              CudaVersionName(info.driver_version).c_str(),
              CudnnVersionName(version).c_str());
  // PyTorch is imported while the other checks run.
  const absl::StatusOr<std::unique_ptr<PytorchPeer>> peer = StartPeer();
  const int64_t threads = absl::GetFlag(FLAGS_threads);
  ThreadPool pool(threads == 0 ? AvailableProcessors()
                               : static_cast<int>(threads));
  CheckReport report(output);
  report.json()["device"] = info.name;
  report.json()["driver_cuda_version"] = CudaVersionName(info.driver_version);
  report.json()["cudnn_version"] = CudnnVersionName(version);
  report.json()["threads"] = pool.threads();

  std::printf("repeats\n");
  CheckRepeats(DrawRepeatCase(), *runner, report);
  SOFTLOOKUP_RETURN_IF_ERROR(report.Write());
  std::printf("plans\n");
  CheckSerializedPlan(*runner, report);
  SOFTLOOKUP_RETURN_IF_ERROR(report.Write());
  CheckKnownFaults(*runner, pool, report);
  SOFTLOOKUP_RETURN_IF_ERROR(report.Write());
  CheckDrawnProblems(budget, *runner, pool, report);
  SOFTLOOKUP_RETURN_IF_ERROR(report.Write());
  CheckSpeed({.runner = runner.get(),
              .peer = peer.ok() ? peer->get() : nullptr,
              .no_peer = std::string(peer.status().message()),
              .pool = &pool,
              .budget = &budget,
              .report = &report},
             absl::GetFlag(FLAGS_longest));
  report.json()["plans_built"] = runner->plans().builds();
  report.json()["seconds"] = budget.Used();
  SOFTLOOKUP_RETURN_IF_ERROR(report.Write());
  std::printf("%d failures in %.0f s; wrote %s\n", report.failures(),
              budget.Used(), output.c_str());
  if (report.failures() > 0) {
    return absl::InternalError(
        absl::StrCat(report.failures(), " checks failed"));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace softlookup::cudnn

int main(int argc, char** argv) {
  int exit_code = 0;
  const int code = softlookup::RunProgram(
      argc, argv,
      "checks attention by cuDNN on this machine's GPU against the float64 "
      "reference, and measures it.",
      [&exit_code] { return softlookup::cudnn::Run(&exit_code); });
  return code != 0 ? code : exit_code;
}
