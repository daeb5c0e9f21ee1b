#include "attention/cudnn/speed_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "attention/cudnn/cudnn_plan.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/cudnn_product.h"
#include "attention/cudnn/cudnn_tensors.h"
#include "attention/cudnn/filler.h"
#include "attention/cudnn/speed_cases.h"
#include "attention/cudnn/speed_samples.h"
#include "attention/cudnn/speed_table.h"
#include "base/json.h"
#include "base/status.h"
#include "base/timing.h"

namespace softlookup::cudnn {
namespace {

constexpr int kRounds = 7;
// A sample is long beside what an event measures, and short beside the time
// that there is.
constexpr double kSampleSeconds = 0.01;
constexpr int kMostCalls = 50;
constexpr double kReplySeconds = 20;
constexpr int64_t kProductSize = 8192;

class Measurement {
 public:
  explicit Measurement(const SpeedCheck& check) : check_(check) {}

  // Runs of one problem of ours, ready to be timed.
  struct Ready {
    PreparedRun run;
    int calls = 1;
  };

  absl::StatusOr<Ready> Prepare(const std::vector<CudnnTensor>& tensors,
                                std::shared_ptr<const CudnnPlan> plan) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        check_.runner->Upload(tensors, filler_.Fill(tensors)));
    Ready ready;
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        ready.run, check_.runner->Prepare(tensors, std::move(plan)));
    SOFTLOOKUP_RETURN_IF_ERROR(Seconds(ready).status());  // warm-up
    SOFTLOOKUP_ASSIGN_OR_RETURN(const double once, Seconds(ready));
    ready.calls = std::clamp(static_cast<int>(std::ceil(kSampleSeconds / once)),
                             1, kMostCalls);
    return ready;
  }

  // Of one call.
  absl::StatusOr<double> Seconds(Ready& ready) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        const double seconds, check_.runner->gpu().Time([&]() -> absl::Status {
          for (int n = 0; n < ready.calls; ++n) {
            SOFTLOOKUP_RETURN_IF_ERROR(check_.runner->Start(ready.run));
          }
          return absl::OkStatus();
        }));
    return seconds / ready.calls;
  }

  // PyTorch's seconds of a call of what `request` says.
  absl::StatusOr<double> Theirs(Json request, int calls) {
    if (check_.peer == nullptr) return absl::UnavailableError(check_.no_peer);
    const double left = check_.budget->Left();
    if (left <= 0) return absl::DeadlineExceededError("no time left for it");
    request["calls"] = calls;
    return check_.peer->Ask(request, std::min(kReplySeconds, left));
  }

  absl::StatusOr<SpeedSamples> Sample(Ready& ready, const Json& request) {
    SOFTLOOKUP_ASSIGN_OR_RETURN(
        SpeedSamples samples,
        SampleInTurn([&] { return Seconds(ready); },
                     [&] { return Theirs(request, ready.calls); }, kRounds));
    SayOnce(samples.theirs_status);
    return samples;
  }

  // A reason for a "-" in the table.
  void SayOnce(const absl::Status& status) {
    const std::string reason(status.message());
    if (status.ok() || !said_.insert(reason).second) return;
    std::printf("  PyTorch is not compared (\"-\"): %s\n", reason.c_str());
  }

  void Product();
  void Host();
  void Cases(const std::vector<SpeedCase>& cases);

 private:
  absl::StatusOr<SpeedSamples> OurProduct(const MatrixProduct& product,
                                          const Json& request);
  absl::StatusOr<double> HostMicroseconds(bool backward);
  absl::StatusOr<SpeedRow> Case(const SpeedCase& speed_case);

  const SpeedCheck& check_;
  Filler filler_;
  std::set<std::string> said_;
  std::optional<double> product_;  // TFLOP/s
};

absl::StatusOr<SpeedSamples> Measurement::OurProduct(
    const MatrixProduct& product, const Json& request) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      std::unique_ptr<CudnnPlan> plan,
      CudnnPlan::BuildProduct(product, check_.runner->description()));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      Ready ready, Prepare(ProductTensors(product), std::move(plan)));
  return Sample(ready, request);
}

void Measurement::Product() {
  ProductSpeed speed;
  speed.product = {
      .rows = kProductSize, .columns = kProductSize, .inner = kProductSize};
  const Json request = {{"request", "product"}, {"size", kProductSize}};
  absl::StatusOr<SpeedSamples> samples = OurProduct(speed.product, request);
  if (samples.ok()) {
    speed.samples = *std::move(samples);
  } else {
    // PyTorch's alone is a yardstick too.
    speed.ours_status = samples.status();
    std::printf("  cuDNN's matrix product: %s\n",
                std::string(samples.status().message()).c_str());
    for (int round = 0; round < kRounds; ++round) {
      const absl::StatusOr<double> seconds = Theirs(request, 5);
      speed.samples.theirs_status = seconds.status();
      if (!seconds.ok()) {
        speed.samples.theirs.clear();
        break;
      }
      speed.samples.theirs.push_back(*seconds);
    }
    SayOnce(speed.samples.theirs_status);
  }
  std::printf("%s", ProductLine(speed).c_str());
  check_.report->json()["matrix_product"] = ProductJson(speed);
  product_ = speed.Best();
}

// Little work for the GPU, many calls: the host alone is what takes time.
absl::StatusOr<double> Measurement::HostMicroseconds(bool backward) {
  const CudnnProblem problem = ContiguousProblem({.batch = 1,
                                                  .query_heads = 1,
                                                  .key_heads = 1,
                                                  .queries = 64,
                                                  .keys = 64,
                                                  .width = 64,
                                                  .value_width = 64},
                                                 Dtype::kBF16, backward);
  GpuRunner& runner = *check_.runner;
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan,
                              runner.plans().Get(problem));
  SOFTLOOKUP_ASSIGN_OR_RETURN(Ready ready,
                              Prepare(CudnnTensors(problem), std::move(plan)));
  SOFTLOOKUP_RETURN_IF_ERROR(runner.gpu().Synchronize());
  // Fewer than the driver queues before it makes the host wait.
  constexpr int kCalls = 200;
  const double before = SecondsNow();
  for (int call = 0; call < kCalls; ++call) {
    SOFTLOOKUP_RETURN_IF_ERROR(runner.Start(ready.run));
  }
  const double microseconds = (SecondsNow() - before) / kCalls * 1e6;
  SOFTLOOKUP_RETURN_IF_ERROR(runner.gpu().Synchronize());
  return microseconds;
}

void Measurement::Host() {
  for (const bool backward : {false, true}) {
    const std::string pass = backward ? "backward" : "forward";
    const absl::StatusOr<double> microseconds = HostMicroseconds(backward);
    check_.report->Check(microseconds.status(),
                         absl::StrCat("host cost, ", pass));
    if (!microseconds.ok()) continue;
    std::printf("%s", HostLine(pass, *microseconds).c_str());
    check_.report->json()["host_per_call"][pass] = HostJson(*microseconds);
  }
}

absl::StatusOr<SpeedRow> Measurement::Case(const SpeedCase& speed_case) {
  const CudnnProblem problem = speed_case.Problem();
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan,
                              check_.runner->plans().Get(problem));
  SOFTLOOKUP_ASSIGN_OR_RETURN(Ready ready,
                              Prepare(CudnnTensors(problem), std::move(plan)));
  const Json request = {
      {"request", "attention"},      {"batch", speed_case.Batch()},
      {"heads", SpeedCase::kHeads},  {"key_heads", SpeedCase::kKeyHeads},
      {"length", speed_case.length}, {"width", speed_case.width},
      {"causal", speed_case.causal}, {"backward", speed_case.backward}};
  SpeedRow row = {speed_case, {}};
  SOFTLOOKUP_ASSIGN_OR_RETURN(row.samples, Sample(ready, request));
  return row;
}

void Measurement::Cases(const std::vector<SpeedCase>& cases) {
  CheckReport& report = *check_.report;
  report.json()["speed"] = Json::array();
  std::printf("%s", SpeedHeader().c_str());
  size_t measured = 0;
  size_t built = 0;
  for (const SpeedCase& speed_case : cases) {
    if (!speed_case.Main() && check_.budget->Past(1)) break;
    if (measured == built) {
      // The next plans, as many as are built at a time.
      std::vector<CudnnProblem> problems;
      while (built < cases.size() &&
             problems.size() < static_cast<size_t>(check_.pool->threads())) {
        problems.push_back(cases[built++].Problem());
      }
      check_.runner->plans().BuildAhead(problems, *check_.pool);
    }
    const absl::StatusOr<SpeedRow> row = Case(speed_case);
    ++measured;
    report.Check(row.status(), CudnnProblemKey(speed_case.Problem()));
    if (!row.ok()) continue;
    std::printf("%s", SpeedLine(*row, product_).c_str());
    report.json()["speed"].push_back(SpeedJson(*row, product_));
    report.json()["speed_cases"] = {{"measured", measured},
                                    {"of", cases.size()}};
    report.Check(report.Write(), "output");
  }
  std::printf("%zu of %zu shapes measured in the time\n", measured,
              cases.size());
}

}  // namespace

void CheckSpeed(const SpeedCheck& check, int64_t longest) {
  std::printf("speed, bfloat16, H %d over %d, TFLOP/s\n",
              static_cast<int>(SpeedCase::kHeads),
              static_cast<int>(SpeedCase::kKeyHeads));
  CheckReport& report = *check.report;
  if (check.peer != nullptr) {
    const absl::StatusOr<Json> versions = check.peer->Versions();
    report.json()["pytorch"] =
        versions.ok() ? *versions
                      : Json({{"absent", versions.status().message()}});
    if (versions.ok()) {
      std::printf("  PyTorch %s, its cuDNN %s\n",
                  versions->value("torch", "?").c_str(),
                  versions->value("cudnn", "?").c_str());
    }
  } else {
    report.json()["pytorch"] = {{"absent", check.no_peer}};
  }
  Measurement measurement(check);
  measurement.Product();
  measurement.Host();
  report.Check(report.Write(), "output");
  measurement.Cases(SpeedCases(longest));
}

}  // namespace softlookup::cudnn
