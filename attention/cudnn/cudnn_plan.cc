#include "attention/cudnn/cudnn_plan.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attention/cudnn/cudnn_library.h"
#include "base/check.h"
#include "base/status.h"

namespace softlookup::cudnn {

namespace fe = cudnn_frontend;

namespace {

// cuDNN's words on one line: cudnn-frontend joins what engines say by newlines.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  constexpr size_t kLongest = 400;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// cudnn-frontend reports by value and by exception.
template <typename Function>
absl::Status Guard(absl::StatusCode code, absl::string_view step,
                   const Function& function) {
  std::string message;
  try {
    fe::error_t error = function();
    if (error.is_good()) return absl::OkStatus();
    message = error.get_message();
  } catch (const std::exception& error) {
    message = error.what();
  }
  return absl::Status(code,
                      absl::StrCat("cuDNN ", step, ": ", OneLine(message)));
}

fe::error_t ErrorOf(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return {fe::error_code_t::CUDNN_BACKEND_API_FAILED,
          fe::detail::get_error_string(status)};
}

fe::DataType_t TypeOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBF16:
      return fe::DataType_t::BFLOAT16;
    case Dtype::kF16:
      return fe::DataType_t::HALF;
    case Dtype::kI32:
      return fe::DataType_t::INT32;
    default:
      SOFTLOOKUP_CHECK(dtype == Dtype::kF32, "a type of CudnnTensors");
      return fe::DataType_t::FLOAT;
  }
}

using Attributes = std::shared_ptr<fe::graph::Tensor_attributes>;

// What forward and backward are told alike.
template <typename Options>
void SetMask(const CudnnProblem& problem,
             const std::map<CudnnTensorId, Attributes>& tensors,
             Options& options) {
  options.set_attn_scale(static_cast<float>(problem.scale));
  if (problem.causal != CausalAlignment::kNone) {
    options
        .set_diagonal_alignment(problem.causal == CausalAlignment::kTopLeft
                                    ? fe::DiagonalAlignment_t::TOP_LEFT
                                    : fe::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
  }
  if (problem.bias.has_value()) {
    options.set_bias(tensors.at(CudnnTensorId::kBias));
  }
  if (problem.Padded()) {
    options.set_padding_mask(true)
        .set_seq_len_q(tensors.at(CudnnTensorId::kQueryLengths))
        .set_seq_len_kv(tensors.at(CudnnTensorId::kKeyLengths));
  }
}

// Gives what the graph writes the name, type and place that it should have.
void SetOutput(const CudnnTensor& tensor, const Attributes& attributes) {
  attributes->set_output(true)
      .set_uid(static_cast<int64_t>(tensor.id))
      .set_name(tensor.name)
      .set_dim(tensor.shape)
      .set_stride(tensor.strides)
      .set_data_type(TypeOf(tensor.dtype));
}

// A tensor of the graph that no operation of it makes.
Attributes AddTensor(const CudnnTensor& tensor, fe::graph::Graph& graph) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(static_cast<int64_t>(tensor.id))
                          .set_name(tensor.name)
                          .set_dim(tensor.shape)
                          .set_stride(tensor.strides)
                          .set_data_type(TypeOf(tensor.dtype)));
}

void AddAttention(const CudnnProblem& problem, fe::graph::Graph& graph) {
  std::map<CudnnTensorId, CudnnTensor> described;
  std::map<CudnnTensorId, Attributes> tensors;
  for (const CudnnTensor& tensor : CudnnTensors(problem)) {
    described[tensor.id] = tensor;
    // The bias's gradient is made here, the other results by the operation.
    if (tensor.written && tensor.id != CudnnTensorId::kBiasGradient) continue;
    tensors[tensor.id] = AddTensor(tensor, graph);
  }
  const Attributes& query = tensors.at(CudnnTensorId::kQuery);
  const Attributes& key = tensors.at(CudnnTensorId::kKey);
  const Attributes& value = tensors.at(CudnnTensorId::kValue);
  if (!problem.backward) {
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(true);
    SetMask(problem, tensors, options);
    auto [output, log_sum_exp] = graph.sdpa(query, key, value, options);
    SetOutput(described.at(CudnnTensorId::kOutput), output);
    SetOutput(described.at(CudnnTensorId::kLogSumExp), log_sum_exp);
    return;
  }
  auto options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention_backward")
                     .set_deterministic_algorithm(problem.deterministic);
  SetMask(problem, tensors, options);
  if (problem.bias.has_value()) {
    const Attributes& gradient = tensors.at(CudnnTensorId::kBiasGradient);
    SetOutput(described.at(CudnnTensorId::kBiasGradient), gradient);
    options.set_dbias(gradient);
  }
  auto [query_gradient, key_gradient, value_gradient] =
      graph.sdpa_backward(query, key, value, tensors.at(CudnnTensorId::kOutput),
                          tensors.at(CudnnTensorId::kOutputGradient),
                          tensors.at(CudnnTensorId::kLogSumExp), options);
  SetOutput(described.at(CudnnTensorId::kQueryGradient), query_gradient);
  SetOutput(described.at(CudnnTensorId::kKeyGradient), key_gradient);
  SetOutput(described.at(CudnnTensorId::kValueGradient), value_gradient);
}

std::vector<uint8_t> Bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

struct GpuDescription::Properties {
  std::shared_ptr<fe::DeviceProperties> device =
      std::make_shared<fe::DeviceProperties>();
  int capability = 0;
};

GpuDescription::GpuDescription(int capability)
    : properties_(std::make_shared<Properties>()) {
  properties_->capability = capability;
}

struct CudnnPlan::Graph {
  // Execution does not change the graph, but the frontend does not say so.
  std::unique_ptr<fe::graph::Graph> graph =
      std::make_unique<fe::graph::Graph>();
};

absl::StatusOr<GpuDescription> GpuDescription::FromJson(const std::string& json,
                                                        int capability) {
  SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());
  GpuDescription description(capability);
  SOFTLOOKUP_RETURN_IF_ERROR(Guard(
      absl::StatusCode::kInvalidArgument, "reads a device description", [&] {
        return description.properties_->device->deserialize(Bytes(json));
      }));
  return description;
}

absl::StatusOr<GpuDescription> GpuDescription::OfDevice(int device,
                                                        int capability) {
  SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());
  GpuDescription description(capability);
  SOFTLOOKUP_RETURN_IF_ERROR(
      Guard(absl::StatusCode::kFailedPrecondition, "describes the device", [&] {
        description.properties_->device->set_device_id(device);
        return description.properties_->device->build();
      }));
  return description;
}

absl::StatusOr<std::unique_ptr<CudnnHandle>> CudnnHandle::Create() {
  SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());
  cudnnHandle_t handle = nullptr;
  SOFTLOOKUP_RETURN_IF_ERROR(
      Guard(absl::StatusCode::kFailedPrecondition, "creates a handle",
            [&] { return ErrorOf(fe::detail::create_handle(&handle)); }));
  return std::unique_ptr<CudnnHandle>(new CudnnHandle(handle));
}

CudnnHandle::~CudnnHandle() {
  // Nothing is left to do for a handle that cannot be destroyed.
  (void)fe::detail::destroy_handle(static_cast<cudnnHandle_t>(handle_));
}

absl::Status CudnnHandle::SetStream(void* stream) {
  return Guard(absl::StatusCode::kInternal, "sets the stream", [&] {
    return ErrorOf(fe::detail::set_stream(static_cast<cudnnHandle_t>(handle_),
                                          static_cast<cudaStream_t>(stream)));
  });
}

CudnnPlan::CudnnPlan() : graph_(std::make_unique<Graph>()) {}
CudnnPlan::~CudnnPlan() = default;

absl::StatusOr<std::unique_ptr<CudnnPlan>> CudnnPlan::Build(
    const CudnnProblem& problem, const GpuDescription& description) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckCudnnProblem(problem));
  SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());
  std::unique_ptr<CudnnPlan> plan(new CudnnPlan());
  fe::graph::Graph& graph = *plan->graph_->graph;
  constexpr absl::StatusCode kRefused = absl::StatusCode::kUnimplemented;
  SOFTLOOKUP_RETURN_IF_ERROR(Guard(kRefused, "describes the graph", [&] {
    graph.set_device_properties(description.properties_->device);
    // Without it validation asks the CUDA runtime for the current device.
    graph.set_sm_version(description.properties_->capability);
    graph.set_io_data_type(TypeOf(problem.element))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    AddAttention(problem, graph);
    return fe::error_t();
  }));
  const std::pair<const char*, std::function<fe::error_t()>> steps[] = {
      {"checks the graph", [&] { return graph.validate(); }},
      {"builds the graph", [&] { return graph.build_operation_graph(); }},
      {"lists plans",
       [&] { return graph.create_execution_plans({fe::HeurMode_t::A}); }},
      {"finds no plan that it supports", [&] { return graph.check_support(); }},
      {"builds a plan", [&] { return graph.build_plans(); }}};
  for (const auto& [step, run] : steps) {
    SOFTLOOKUP_RETURN_IF_ERROR(Guard(kRefused, step, run));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(plan->AskTheGraph());
  return plan;
}

absl::Status CudnnPlan::AskTheGraph() {
  constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;
  SOFTLOOKUP_RETURN_IF_ERROR(Guard(kInternal, "says the workspace", [&] {
    return graph_->graph->get_workspace_size(workspace_bytes_);
  }));
  return Guard(kInternal, "names the plan",
               [&] { return graph_->graph->get_plan_name(name_); });
}

absl::StatusOr<std::string> CudnnPlan::Serialize() const {
  std::vector<uint8_t> bytes;
  SOFTLOOKUP_RETURN_IF_ERROR(
      Guard(absl::StatusCode::kInternal, "writes a plan",
            [&] { return graph_->graph->serialize(bytes); }));
  return std::string(bytes.begin(), bytes.end());
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> CudnnPlan::Deserialize(
    const std::string& bytes, const CudnnHandle& handle) {
  std::unique_ptr<CudnnPlan> plan(new CudnnPlan());
  SOFTLOOKUP_RETURN_IF_ERROR(
      Guard(absl::StatusCode::kInvalidArgument, "reads a plan", [&] {
        return plan->graph_->graph->deserialize(
            static_cast<cudnnHandle_t>(handle.get()), Bytes(bytes));
      }));
  SOFTLOOKUP_RETURN_IF_ERROR(plan->AskTheGraph());
  return plan;
}

absl::Status CudnnPlan::CheckSerialized(const std::string& bytes,
                                        const GpuDescription& description) {
  SOFTLOOKUP_RETURN_IF_ERROR(LoadCudnn());
  return Guard(absl::StatusCode::kInvalidArgument, "reads a plan", [&] {
    // The part of Graph::deserialize that reaches cuDNN, with a description
    // (CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) where the frontend gives a handle.
    const std::string plan =
        nlohmann::json::from_ubjson(Bytes(bytes)).at("cudnn_backend_data");
    fe::detail::backend_descriptor descriptor(
        CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cudnnStatus_t status = descriptor.get_status();
    if (status == CUDNN_STATUS_SUCCESS) {
      status = fe::detail::set_attribute(
          descriptor.get_ptr(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
          CUDNN_TYPE_CHAR, plan.size(), plan.data());
    }
    if (status == CUDNN_STATUS_SUCCESS) {
      const cudnnBackendDescriptor_t device =
          description.properties_->device->get_ptr();
      status = fe::detail::set_attribute(
          descriptor.get_ptr(), CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
          CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    }
    if (status == CUDNN_STATUS_SUCCESS) {
      status = fe::detail::finalize(descriptor.get_ptr());
    }
    return ErrorOf(status);
  });
}

absl::Status CudnnPlan::Execute(const CudnnHandle& handle,
                                CudnnAddresses& addresses,
                                void* workspace) const {
  return Guard(absl::StatusCode::kInternal, "executes a plan", [&] {
    return graph_->graph->execute(static_cast<cudnnHandle_t>(handle.get()),
                                  addresses, workspace);
  });
}

CudnnPlanCache::CudnnPlanCache(GpuDescription description, size_t capacity)
    : description_(std::move(description)), capacity_(capacity) {
  SOFTLOOKUP_CHECK(capacity >= 1, "room for the plan that is asked for");
}

absl::StatusOr<std::shared_ptr<const CudnnPlan>> CudnnPlanCache::Get(
    const CudnnProblem& problem) {
  const std::string key = CudnnProblemKey(problem);
  // Held while a plan is built, so that no two threads build the same one.
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    found->second.last_use = ++uses_;
    return found->second.plan;
  }
  SOFTLOOKUP_ASSIGN_OR_RETURN(std::shared_ptr<const CudnnPlan> plan,
                              CudnnPlan::Build(problem, description_));
  Insert(key, plan);
  return plan;
}

void CudnnPlanCache::Insert(const std::string& key,
                            std::shared_ptr<const CudnnPlan> plan) {
  ++builds_;
  if (entries_.size() == capacity_ && entries_.count(key) == 0) {
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
          return a.second.last_use < b.second.last_use;
        }));
  }
  entries_[key] = {std::move(plan), ++uses_};
}

void CudnnPlanCache::BuildAhead(absl::Span<const CudnnProblem> problems,
                                ThreadPool& pool) {
  std::map<std::string, const CudnnProblem*> missing;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const CudnnProblem& problem : problems) {
      const std::string key = CudnnProblemKey(problem);
      if (entries_.count(key) == 0) missing[key] = &problem;
    }
  }
  const std::vector<std::pair<std::string, const CudnnProblem*>> tasks(
      missing.begin(), missing.end());
  const auto build = [&](int64_t task) {
    const auto& [key, problem] = tasks[task];
    absl::StatusOr<std::unique_ptr<CudnnPlan>> plan =
        CudnnPlan::Build(*problem, description_);
    if (!plan.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    Insert(key, *std::move(plan));
  };
  pool.ParallelFor(static_cast<int64_t>(tasks.size()), build,
                   TaskOrder::kFirstFirst);
}

size_t CudnnPlanCache::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

int64_t CudnnPlanCache::builds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return builds_;
}

}  // namespace softlookup::cudnn
