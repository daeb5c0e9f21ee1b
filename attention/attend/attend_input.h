// The tensors that the program attend works on, from a safetensors file.
//
//   query            [B, H, Tq, D]     F64, F32, F16 or BF16
//   key              [B, Hkv, Tk, D]   the same
//   value            [B, Hkv, Tk, Dv]  the same
//   bias             optional; rank 4, each dimension 1 or full; the same
//   mask             optional; shaped like a bias; BOOL, true = may attend
//   key_lengths      optional; [B], I32 or I64
//   key_starts       optional; [B], I32 or I64
//   output_gradient  optional; [B, H, Tq, Dv], typed like query
//
// Small files can ask for much: a million queries and a million keys of width
// one are 16 MB, and their scores 8 TB. So what attention takes is counted
// before any of it is allocated.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(
//       const AttendInput<double> input,
//       AttendInput<double>::Load(file, request, scratch_bytes));
//   auto outputs = AttentionForward(input.inputs(), request.options);
#ifndef SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_INPUT_H_
#define SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_INPUT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/attend/attend_request.h"
#include "attention/attention.h"
#include "attention/mask.h"
#include "base/safetensors/safetensors.h"
#include "base/tensor/stored_tensor.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct AttendMemory {
  int64_t file_bytes = 0;     // the input as it was read, which stays
  int64_t element_bytes = 8;  // of the arithmetic's type
  int64_t bias_elements = 0;
  int64_t mask_elements = 0;
  bool weights = false;   // P is returned
  bool backward = false;  // an output gradient is there, gradients are returned
  int64_t scratch_bytes = 0;  // the backend's
};

// The bytes held at the peak: file, converted inputs, outputs, gradients and
// scratch. INT64_MAX for all that is more.
int64_t AttendBytes(const AttentionSizes& sizes, const AttendMemory& memory);

// The tensors that hold numbers, of those that the file has, from query on.
std::vector<const StoredTensor*> NumberTensors(const SafetensorsFile& file);

// T is float or double.
template <typename T>
class AttendInput {
 public:
  // Checks everything before it converts anything: InvalidArgument for a
  // missing or an unknown tensor, an element type that is not allowed, shapes
  // or options that CheckAttention or CheckAttentionBackward refuses, and for
  // sizes that need more memory than there is, with the bytes. The backend's
  // own part of them is scratch_bytes(sizes).
  static absl::StatusOr<AttendInput> Load(
      const SafetensorsFile& file, const AttendRequest& request,
      const std::function<int64_t(const AttentionSizes&)>& scratch_bytes);

  const AttentionSizes& sizes() const { return sizes_; }
  // Views of this object's tensors, which must outlive them.
  AttentionInputs<T> inputs() const;
  const std::optional<Tensor<T>>& output_gradient() const {
    return output_gradient_;
  }

 private:
  AttentionSizes sizes_;
  CausalAlignment causal_ = CausalAlignment::kNone;
  Tensor<T> query_;
  Tensor<T> key_;
  Tensor<T> value_;
  std::optional<Tensor<T>> bias_;
  std::optional<Tensor<uint8_t>> mask_;
  std::optional<Tensor<int64_t>> key_lengths_;
  std::optional<Tensor<int64_t>> key_starts_;
  std::optional<Tensor<T>> output_gradient_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_INPUT_H_
