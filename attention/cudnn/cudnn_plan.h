// A problem turned into a cuDNN graph and the graph into a plan that a GPU
// runs.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const GpuDescription h200,
//                               GpuDescription::FromJson(kH200Json, 90));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(auto plan, CudnnPlan::Build(problem, h200));
//   SOFTLOOKUP_ASSIGN_OR_RETURN(std::string bytes, plan->Serialize());
//
// A plan is built for a description of a GPU, which need not be there: cuDNN
// compiles and loads the kernels, for which it needs a driver library, and
// starts none. Building takes about a second, so plans are kept
// (CudnnPlanCache).
//
// Source: the cuDNN 9 documentation, "Graph API", and cudnn-frontend 1.19.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PLAN_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/cudnn/cudnn_problem.h"
#include "base/thread_pool.h"

namespace softlookup::cudnn {

// What a plan is built for. Cheap to copy.
class GpuDescription {
 public:
  // `capability` is the compute capability times ten. FailedPrecondition
  // without cuDNN, InvalidArgument for what is not a description.
  static absl::StatusOr<GpuDescription> FromJson(const std::string& json,
                                                 int capability);
  // The CUDA device of this number in this process, whose context must be
  // current.
  static absl::StatusOr<GpuDescription> OfDevice(int device, int capability);

 private:
  friend class CudnnPlan;
  struct Properties;
  explicit GpuDescription(int capability);

  std::shared_ptr<Properties> properties_;
};

// cuDNN's own handle, of the current CUDA context. Calls that take the same
// handle must not run at the same time.
class CudnnHandle {
 public:
  // FailedPrecondition, with cuDNN's words, where there is no device.
  static absl::StatusOr<std::unique_ptr<CudnnHandle>> Create();
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  // Plans that are executed from now on run on this CUstream.
  absl::Status SetStream(void* stream);
  void* get() const { return handle_; }

 private:
  explicit CudnnHandle(void* handle) : handle_(handle) {}
  void* handle_;
};

// Device addresses by CudnnTensorId. cudnn-frontend adds its own numbers, of
// scalars and of parts of the workspace, when a plan first runs with them, and
// finds them there later.
using CudnnAddresses = std::unordered_map<int64_t, void*>;

class CudnnPlan {
 public:
  // InvalidArgument as CheckCudnnProblem; Unimplemented, with cuDNN's words,
  // for a problem that cuDNN has no plan for after all; FailedPrecondition
  // without cuDNN or a driver library.
  static absl::StatusOr<std::unique_ptr<CudnnPlan>> Build(
      const CudnnProblem& problem, const GpuDescription& description);
  ~CudnnPlan();
  CudnnPlan(const CudnnPlan&) = delete;
  CudnnPlan& operator=(const CudnnPlan&) = delete;

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // cuDNN's name for engine and knobs, "eng6_k24=26".
  const std::string& name() const { return name_; }

  // The plan with its compiled kernels, for a later process and Deserialize.
  absl::StatusOr<std::string> Serialize() const;

  // A plan from Serialize's bytes, to be executed with this handle.
  // cudnn-frontend runs it once, for which it opens the CUDA runtime,
  // libcudart. InvalidArgument, with cuDNN's words, for other bytes and where
  // that fails.
  static absl::StatusOr<std::unique_ptr<CudnnPlan>> Deserialize(
      const std::string& bytes, const CudnnHandle& handle);
  // The same without a GPU and without the ability to run: cuDNN reads the
  // plan for the description.
  static absl::Status CheckSerialized(const std::string& bytes,
                                      const GpuDescription& description);

  // Starts the plan on the handle's stream and returns. Each of its tensors has
  // its device address; `workspace` is workspace_bytes() of device memory.
  // Addresses that have run with one workspace stay with it and with this plan.
  // Internal, with cuDNN's words, if it does not start.
  absl::Status Execute(const CudnnHandle& handle, CudnnAddresses& addresses,
                       void* workspace) const;

 private:
  struct Graph;
  CudnnPlan();
  // Workspace and name.
  absl::Status AskTheGraph();

  std::unique_ptr<Graph> graph_;
  int64_t workspace_bytes_ = 0;
  std::string name_;
};

// Plans by what they are for (CudnnProblemKey), for one description. At most
// `capacity` are kept: the one that was asked for longest ago goes first. Any
// thread may call it; a plan is built once.
class CudnnPlanCache {
 public:
  explicit CudnnPlanCache(GpuDescription description, size_t capacity = 256);

  // The errors of CudnnPlan::Build; they are not kept.
  absl::StatusOr<std::shared_ptr<const CudnnPlan>> Get(
      const CudnnProblem& problem);

  // Builds the plans of these problems that are not there yet, several at a
  // time: cuDNN may be called by many threads as long as they share no handle,
  // and building takes none. Errors are left to Get.
  void BuildAhead(absl::Span<const CudnnProblem> problems, ThreadPool& pool);

  size_t size() const;
  int64_t builds() const;  // so far

 private:
  struct Entry {
    std::shared_ptr<const CudnnPlan> plan;
    int64_t last_use = 0;
  };

  // With mutex_ held.
  void Insert(const std::string& key, std::shared_ptr<const CudnnPlan> plan);

  const GpuDescription description_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  int64_t uses_ = 0;
  int64_t builds_ = 0;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_CUDNN_PLAN_H_
