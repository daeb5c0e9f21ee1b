#include "attention/cudnn/plan_check.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "attention/cudnn/cudnn_plan.h"
#include "attention/cudnn/cudnn_problem.h"
#include "attention/cudnn/cudnn_tensors.h"
#include "attention/cudnn/filler.h"
#include "attention/cudnn/h200.h"
#include "base/status.h"

namespace softlookup::cudnn {
namespace {

// Whether the loaded plan gives the bits of the other.
absl::StatusOr<bool> RunsAlike(GpuRunner& runner) {
  const CudnnProblem problem = ContiguousProblem({.batch = 1,
                                                  .query_heads = 2,
                                                  .key_heads = 2,
                                                  .queries = 128,
                                                  .keys = 128,
                                                  .width = 64,
                                                  .value_width = 64},
                                                 Dtype::kBF16, false);
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      const GpuDescription described,
      GpuDescription::FromJson(kH200Json, kH200Capability));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::unique_ptr<CudnnPlan> built,
                              CudnnPlan::Build(problem, described));
  SOFTLOOKUP_ASSIGN_OR_RETURN(const std::string bytes, built->Serialize());
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::unique_ptr<CudnnPlan> loaded,
                              CudnnPlan::Deserialize(bytes, runner.handle()));
  const std::vector<CudnnTensor> tensors = CudnnTensors(problem);
  Filler filler;
  const std::map<CudnnTensorId, HostBytes> host = filler.Fill(tensors);
  const HostBytes& output = host.at(CudnnTensorId::kOutput);
  const auto* begin = static_cast<const uint8_t*>(output.output);
  SOFTLOOKUP_RETURN_IF_ERROR(runner.Run(problem, host));
  const std::vector<uint8_t> expected(begin, begin + output.bytes);
  SOFTLOOKUP_RETURN_IF_ERROR(runner.Upload(tensors, host));
  SOFTLOOKUP_ASSIGN_OR_RETURN(PreparedRun run,
                              runner.Prepare(tensors, std::move(loaded)));
  SOFTLOOKUP_RETURN_IF_ERROR(runner.Start(run));
  SOFTLOOKUP_RETURN_IF_ERROR(runner.Download(host));
  // All zero would mean that neither wrote anything.
  return std::any_of(expected.begin(), expected.end(),
                     [](uint8_t byte) { return byte != 0; }) &&
         std::equal(expected.begin(), expected.end(), begin);
}

}  // namespace

void CheckSerializedPlan(GpuRunner& runner, CheckReport& report) {
  const std::string& device = runner.gpu().info().name;
  if (!absl::StrContains(device, "H200")) {
    std::printf("  not checked: the description is of an H200\n");
    report.json()["serialized_plan_runs"] = nullptr;
    return;
  }
  const absl::StatusOr<bool> alike = RunsAlike(runner);
  report.Check(alike.status(), "a plan built for a description of the GPU");
  if (alike.ok()) {
    report.Check(*alike, "the loaded plan gives another output");
  }
  const bool runs = alike.ok() && *alike;
  std::printf("  a plan built for a description of the GPU %s\n",
              runs ? "loads and runs" : "does not run");
  report.json()["serialized_plan_runs"] = runs;
}

}  // namespace softlookup::cudnn
