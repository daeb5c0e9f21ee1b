#include "attention/attend/attend_input.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/memory.h"
#include "base/saturating.h"
#include "base/status.h"
#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"
#include "base/tensor/stored_tensor.h"
#include "base/tensor/strided_view.h"

namespace softlookup {
namespace {

constexpr const char* kNames[] = {
    "query", "key",         "value",      "bias",
    "mask",  "key_lengths", "key_starts", "output_gradient"};

// A tensor that is not in kNames is an error: a misspelt "biass" that was
// ignored would give a wrong answer without a word.
absl::Status CheckNames(const SafetensorsFile& file) {
  for (const StoredTensor& tensor : file.tensors) {
    bool known = false;
    for (const char* name : kNames) known = known || tensor.name == name;
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown tensor ", QuotedName(tensor.name),
                       "; allowed: ", absl::StrJoin(kNames, ", ")));
    }
  }
  for (const char* name : {"query", "key", "value"}) {
    if (file.Find(name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("no tensor \"", name,
                                                     "\"; needed: query, key, "
                                                     "value"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDtype(const StoredTensor* tensor,
                        std::initializer_list<Dtype> allowed) {
  if (tensor == nullptr) return absl::OkStatus();
  for (const Dtype dtype : allowed) {
    if (tensor->dtype == dtype) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      tensor->name, " has dtype ", DtypeName(tensor->dtype), "; allowed: ",
      absl::StrJoin(allowed, ", ", [](std::string* out, Dtype dtype) {
        out->append(DtypeName(dtype));
      })));
}

absl::Status CheckDtypes(const SafetensorsFile& file) {
  for (const StoredTensor* tensor : NumberTensors(file)) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckDtype(
        tensor, {Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBF16}));
  }
  SOFTLOOKUP_RETURN_IF_ERROR(CheckDtype(file.Find("mask"), {Dtype::kBool}));
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckDtype(file.Find("key_lengths"), {Dtype::kI64, Dtype::kI32}));
  return CheckDtype(file.Find("key_starts"), {Dtype::kI64, Dtype::kI32});
}

// The tensor of this name, or nothing.
template <typename T>
absl::StatusOr<std::optional<Tensor<T>>> LoadOptional(
    const SafetensorsFile& file, absl::string_view name) {
  const StoredTensor* stored = file.Find(name);
  if (stored == nullptr) return std::optional<Tensor<T>>();
  SOFTLOOKUP_ASSIGN_OR_RETURN(Tensor<T> tensor, LoadTensor<T>(*stored));
  return std::optional<Tensor<T>>(std::move(tensor));
}

// Key lengths or starts: one for each batch entry. Their values are checked
// with the mask.
absl::StatusOr<std::optional<Tensor<int64_t>>> LoadPositions(
    const SafetensorsFile& file, absl::string_view name, int64_t batch) {
  const StoredTensor* stored = file.Find(name);
  if (stored != nullptr && stored->shape != Shape{batch}) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has shape ", ShapeString(stored->shape),
                     "; allowed: [B] = ", ShapeString({batch})));
  }
  return LoadOptional<int64_t>(file, name);
}

absl::Span<const int64_t> Positions(
    const std::optional<Tensor<int64_t>>& positions) {
  return positions.has_value() ? absl::MakeConstSpan(positions->elements())
                               : absl::Span<const int64_t>();
}

// A view that has a shape but no elements, for what only looks at shapes.
template <typename T>
StridedView<const T> ShapeOnly(const StoredTensor& stored) {
  return StridedView<const T>(nullptr, stored.shape);
}

int64_t Elements(const StoredTensor* stored) {
  return stored == nullptr ? 0 : NumElements(stored->shape).value();
}

}  // namespace

int64_t AttendBytes(const AttentionSizes& sizes, const AttendMemory& memory) {
  const int64_t rows =
      SaturatingProduct({sizes.batch, sizes.query_heads, sizes.queries});
  const int64_t query = SaturatingProduct({rows, sizes.width});
  const int64_t output = SaturatingProduct({rows, sizes.value_width});
  const int64_t key_rows =
      SaturatingProduct({sizes.batch, sizes.key_heads, sizes.keys});
  const int64_t key = SaturatingProduct({key_rows, sizes.width});
  const int64_t value = SaturatingProduct({key_rows, sizes.value_width});
  const int64_t inputs =
      SaturatingSum({query, key, value, memory.bias_elements});
  int64_t elements =
      SaturatingSum({inputs, output, rows});  // with the log-sum-exp
  if (memory.weights)
    elements = SaturatingSum({elements, SaturatingProduct({rows, sizes.keys})});
  // The output's gradient, and a gradient for each input.
  if (memory.backward) elements = SaturatingSum({elements, output, inputs});
  return SaturatingSum({memory.file_bytes, memory.mask_elements,
                        SaturatingProduct({elements, memory.element_bytes}),
                        memory.scratch_bytes});
}

std::vector<const StoredTensor*> NumberTensors(const SafetensorsFile& file) {
  std::vector<const StoredTensor*> numbers;
  for (const char* name :
       {"query", "key", "value", "bias", "output_gradient"}) {
    const StoredTensor* tensor = file.Find(name);
    if (tensor != nullptr) numbers.push_back(tensor);
  }
  return numbers;
}

template <typename T>
absl::StatusOr<AttendInput<T>> AttendInput<T>::Load(
    const SafetensorsFile& file, const AttendRequest& request,
    const std::function<int64_t(const AttentionSizes&)>& scratch_bytes) {
  SOFTLOOKUP_RETURN_IF_ERROR(CheckNames(file));
  SOFTLOOKUP_RETURN_IF_ERROR(CheckDtypes(file));
  const StoredTensor& query = *file.Find("query");
  const StoredTensor* bias = file.Find("bias");
  const StoredTensor* mask = file.Find("mask");
  const StoredTensor* output_gradient = file.Find("output_gradient");

  // Shapes and options, before any element.
  AttendInput input;
  input.causal_ = request.causal;
  AttentionInputs<T> shapes;
  shapes.query = ShapeOnly<T>(query);
  shapes.key = ShapeOnly<T>(*file.Find("key"));
  shapes.value = ShapeOnly<T>(*file.Find("value"));
  if (bias != nullptr) shapes.bias = ShapeOnly<T>(*bias);
  if (mask != nullptr) shapes.mask.allowed = ShapeOnly<uint8_t>(*mask);
  SOFTLOOKUP_ASSIGN_OR_RETURN(input.sizes_,
                              CheckAttention(shapes, request.options));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      input.key_lengths_,
      LoadPositions(file, "key_lengths", input.sizes_.batch));
  SOFTLOOKUP_ASSIGN_OR_RETURN(
      input.key_starts_, LoadPositions(file, "key_starts", input.sizes_.batch));
  shapes.mask.key_lengths = Positions(input.key_lengths_);
  shapes.mask.key_starts = Positions(input.key_starts_);
  SOFTLOOKUP_RETURN_IF_ERROR(shapes.mask.Check(input.sizes_));
  if (output_gradient != nullptr) {
    SOFTLOOKUP_RETURN_IF_ERROR(CheckOutputGradient(
        output_gradient->shape, request.options, input.sizes_));
  }

  AttendMemory memory;
  for (const StoredTensor& tensor : file.tensors) {
    memory.file_bytes += static_cast<int64_t>(tensor.bytes.size());
  }
  memory.element_bytes = sizeof(T);
  memory.bias_elements = Elements(bias);
  memory.mask_elements = Elements(mask);
  memory.weights = request.options.weights;
  memory.backward = output_gradient != nullptr;
  memory.scratch_bytes = scratch_bytes(input.sizes_);
  SOFTLOOKUP_RETURN_IF_ERROR(
      CheckMemory(absl::StrCat("attention with scores [B, H, Tq, Tk] = ",
                               ShapeString(input.sizes_.ScoreShape())),
                  AttendBytes(input.sizes_, memory)));

  SOFTLOOKUP_ASSIGN_OR_RETURN(input.query_, LoadTensor<T>(query));
  SOFTLOOKUP_ASSIGN_OR_RETURN(input.key_, LoadTensor<T>(*file.Find("key")));
  SOFTLOOKUP_ASSIGN_OR_RETURN(input.value_, LoadTensor<T>(*file.Find("value")));
  SOFTLOOKUP_ASSIGN_OR_RETURN(input.bias_, LoadOptional<T>(file, "bias"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(input.mask_, LoadOptional<uint8_t>(file, "mask"));
  SOFTLOOKUP_ASSIGN_OR_RETURN(input.output_gradient_,
                              LoadOptional<T>(file, "output_gradient"));
  return input;
}

template <typename T>
AttentionInputs<T> AttendInput<T>::inputs() const {
  AttentionInputs<T> inputs;
  inputs.query = query_.view();
  inputs.key = key_.view();
  inputs.value = value_.view();
  if (bias_.has_value()) inputs.bias = bias_->view();
  inputs.mask.causal = causal_;
  if (mask_.has_value()) inputs.mask.allowed = mask_->view();
  inputs.mask.key_lengths = Positions(key_lengths_);
  inputs.mask.key_starts = Positions(key_starts_);
  return inputs;
}

template class AttendInput<float>;
template class AttendInput<double>;

}  // namespace softlookup
