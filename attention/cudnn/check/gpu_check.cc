// Checks attention by cuDNN on the GPU of this machine, and measures it.
//
//   gpu_check --output=gpu_check.json
//
// Needs the NVIDIA driver and cuDNN 9 and nothing else; docs/cudnn.md has the
// parts. tools/gpu_check runs it, and after it pytorch_speed.py. Parity stops
// when its share of --seconds is used up; all else is done however long it
// takes. The JSON is written after every part.
//
// Exit codes: 0 all is well; 1 a check failed; 2 bad usage; 3 no GPU.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "attention/cudnn/check/correctness.h"
#include "attention/cudnn/check/speed.h"
#include "attention/cudnn/cudnn_library.h"
#include "attention/cudnn/gpu_runner.h"
#include "attention/cudnn/testing/cudnn_cases.h"
#include "base/file.h"
#include "base/json.h"
#include "base/program.h"
#include "base/status.h"
#include "base/tensor/dtype.h"
#include "base/thread_pool.h"
#include "base/timing.h"

ABSL_FLAG(std::string, output, "gpu_check.json", "Where results go, JSON.");
ABSL_FLAG(int64_t, cases, 24, "Drawn problems for each element type.");
ABSL_FLAG(int64_t, longest, 16384, "The longest sequence that is timed.");
ABSL_FLAG(int64_t, seconds, 220,
          "The time for all of it, PyTorch's part included; what may be left "
          "out stops then.");

namespace softlookup::cudnn {
namespace {

// Of the time, until which drawn problems are checked.
constexpr double kParityShare = 0.45;
constexpr double kHostMicroseconds = 10;  // the target
constexpr Dtype kElements[] = {Dtype::kBF16, Dtype::kF16};

class GpuCheck {
 public:
  GpuCheck(std::unique_ptr<GpuRunner> runner, std::string output)
      : runner_(std::move(runner)), output_(std::move(output)) {}

  // Every part, one after the other. The number of checks that failed; the
  // error of a file that cannot be written.
  absl::StatusOr<size_t> Run() {
    const GpuInfo& info = runner_->gpu().info();
    json_["device"] = info.name;
    json_["driver_cuda_version"] = CudaVersionName(info.driver_version);
    json_["cudnn_version"] = CudnnVersionName(LoadedCudnnVersion());
    json_["failures"] = Json::array();
    std::printf("%s\n", json_.dump().c_str());

    const CudnnCase repeated = DrawRepeatCase();
    CudnnRunner* const runner = runner_.get();
    Same("deterministic_backward_repeats",
         GiveSameBits(repeated, {runner, runner, runner}));
    SOFTLOOKUP_RETURN_IF_ERROR(Write());
    // A plan for an H200 cannot be expected to load on another card.
    json_["serialized_plan_runs"] = nullptr;
    if (absl::StrContains(info.name, "H200")) {
      Same("serialized_plan_runs",
           SerializedPlansGiveSameBits(repeated, *runner_));
    }
    std::vector<CudnnCase> faults;
    for (int number = 0; number < 2 * kFaultCases; ++number) {
      faults.push_back(DrawFaultCase(kElements[number % 2], number / 2));
    }
    SOFTLOOKUP_RETURN_IF_ERROR(Parity("known_faults", faults, /*share=*/1e9));
    // The types take turns, so that time that runs out is short for both.
    std::vector<CudnnCase> cases;
    for (int number = 0; number < 2 * absl::GetFlag(FLAGS_cases); ++number) {
      cases.push_back(DrawParityCase(kElements[number % 2], number / 2));
    }
    SOFTLOOKUP_RETURN_IF_ERROR(Parity("parity", cases, kParityShare));
    for (const bool backward : {false, true}) Host(backward);
    SOFTLOOKUP_RETURN_IF_ERROR(Speed(SpeedCases(absl::GetFlag(FLAGS_longest))));
    json_["seconds"] = Used();
    SOFTLOOKUP_RETURN_IF_ERROR(Write());
    std::printf("%zu failures in %.0f s; wrote %s\n", json_["failures"].size(),
                Used(), output_.c_str());
    return json_["failures"].size();
  }

 private:
  double Used() const { return SecondsNow() - begin_; }
  bool Past(double share) const {
    return Used() >= share * static_cast<double>(absl::GetFlag(FLAGS_seconds));
  }

  void Fail(const std::string& what) {
    std::printf("FAILED: %s\n", what.c_str());
    json_["failures"].push_back(what);
  }
  void Fail(const std::string& what, const absl::Status& status) {
    Fail(absl::StrCat(what, ": ", status.message()));
  }

  void Add(const std::string& section, Json row) {
    std::printf("%s %s\n", section.c_str(), row.dump().c_str());
    json_[section].push_back(std::move(row));
  }

  // Replaces the file by all there is so far, so that a run that is cut short
  // loses only what came after.
  absl::Status Write() const {
    std::fflush(stdout);
    return WriteFileAtomically(output_, DumpJson(json_));
  }

  void Same(const std::string& name, const absl::StatusOr<bool>& same) {
    if (!same.ok()) Fail(name, same.status());
    if (same.ok() && !*same) Fail(name + ": the bits differ, or all are 0");
    json_[name] = same.ok() && *same;
    std::printf("%s: %s\n", name.c_str(), same.ok() && *same ? "yes" : "no");
  }

  absl::Status Parity(const std::string& section,
                      const std::vector<CudnnCase>& cases, double share) {
    json_[section] = Json::array();
    std::vector<CudnnProblem> problems;
    for (const CudnnCase& drawn : cases) {
      problems.insert(problems.end(), 2, drawn.problem);
      problems.back().backward = false;
    }
    if (!Past(share)) runner_->plans().BuildAhead(problems, pool_);
    size_t done = 0;
    for (; done < cases.size() && !Past(share); ++done) {
      const CudnnCase& drawn = cases[done];
      const absl::StatusOr<ParityResult> parity = CheckParity(drawn, *runner_);
      if (!parity.ok()) {
        Fail(drawn.name, parity.status());
        continue;
      }
      for (const std::string& failure : parity->failures) Fail(failure);
      Json row = {{"case", drawn.name}};
      for (const auto& [name, report] : parity->tensors) {
        row[name] = {{"error_over_bound", report.worst},
                     {"error_over_rounding", report.relative}};
      }
      Add(section, std::move(row));
    }
    std::printf("%s: %zu of %zu in the time\n", section.c_str(), done,
                cases.size());
    json_[section + "_cases"] = {{"checked", done}, {"of", cases.size()}};
    return Write();
  }

  void Host(bool backward) {
    const std::string pass = backward ? "backward" : "forward";
    const absl::StatusOr<double> measured = meter_.HostMicroseconds(backward);
    if (!measured.ok()) return Fail("host, " + pass, measured.status());
    Add("host_per_call", {{"pass", pass},
                          {"microseconds", *measured},
                          {"target", kHostMicroseconds},
                          {"met", *measured < kHostMicroseconds}});
  }

  absl::Status Speed(const std::vector<SpeedCase>& cases) {
    json_["speed"] = Json::array();
    std::vector<CudnnProblem> problems;
    for (const SpeedCase& shape : cases) problems.push_back(shape.Problem());
    runner_->plans().BuildAhead(problems, pool_);
    for (const SpeedCase& shape : cases) {
      const absl::StatusOr<Timing> timing = meter_.Measure(shape.Problem());
      if (!timing.ok()) {
        Fail(CudnnProblemKey(shape.Problem()), timing.status());
        continue;
      }
      const double operations = shape.Operations();
      Add("speed", {{"width", shape.width},
                    {"length", shape.length},
                    {"batch", shape.Batch()},
                    {"causal", shape.causal},
                    {"backward", shape.backward},
                    {"operations", operations},
                    {"median_seconds", timing->median},
                    {"teraflops", operations / timing->median * 1e-12}});
      SOFTLOOKUP_RETURN_IF_ERROR(Write());
    }
    return absl::OkStatus();
  }

  const double begin_ = SecondsNow();
  const std::unique_ptr<GpuRunner> runner_;
  const std::string output_;
  ThreadPool pool_{AvailableProcessors()};  // builds plans
  SpeedMeter meter_{runner_.get()};
  Json json_;
};

absl::Status Run(int* exit_code) {
  for (const auto& [name, value, least, most] :
       {std::tuple("cases", absl::GetFlag(FLAGS_cases), 0, 1000),
        std::tuple("longest", absl::GetFlag(FLAGS_longest), 1024, 65536),
        std::tuple("seconds", absl::GetFlag(FLAGS_seconds), 1, 86400)}) {
    if (value >= least && value <= most) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --", name, " is ", value, "; allowed: ", least, " to ", most));
  }
  const absl::Status gpu = Gpu::Open().status();
  if (!gpu.ok()) {
    std::fprintf(stderr, "gpu_check: no GPU: %s\n",
                 std::string(gpu.message()).c_str());
    *exit_code = 3;
    return absl::OkStatus();
  }
  const std::string output = ResolveUserPath(absl::GetFlag(FLAGS_output));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckWritable(output));
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<GpuRunner> runner,
                              GpuRunner::Open());
  GpuCheck check(std::move(runner), output);
  SOFTLOOKUP_ASSIGN_OR_RETURN(const size_t failures, check.Run());
  if (failures == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(failures, " checks failed"));
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
