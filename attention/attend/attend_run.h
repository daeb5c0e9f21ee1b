// One run of the program attend: tensors in, tensors out, and what to say.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(AttendResult result, RunAttend(request, file));
//   SOFTLOOKUP_RETURN_IF_ERROR(WriteSafetensors(path, result.file));
#ifndef SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_RUN_H_
#define SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_RUN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "attention/attend/attend_request.h"
#include "attention/mask.h"
#include "base/safetensors/safetensors.h"

namespace softlookup {

struct AttendResult {
  // output [B, H, Tq, Dv] and log_sum_exp [B, H, Tq]; with options.weights
  // also weights [B, H, Tq, Tk]; with an output gradient also query_gradient,
  // key_gradient, value_gradient and, with a bias, bias_gradient, in the shapes
  // of what they belong to. F64, F32, F16 or BF16, as the precision is, but
  // log_sum_exp never less than F32.
  SafetensorsFile file;
  // Sizes, options and masks, a few lines for a reader.
  std::string summary;
};

// `file` holds the tensors of attention/attend/attend_input.h. The errors of
// AttendInput::Load and of the backend; InvalidArgument for cudnn with an input
// of another type than F32, which it rounds, and the precision's own.
//
// The backend "auto" takes cuDNN when query, key, value, bias and
// output_gradient are all F16 or all BF16 and cuDNN can; otherwise it computes
// on the CPU in the precision asked for: by simd in float32 where simd can,
// else by the reference. The summary says what it took and why.
absl::StatusOr<AttendResult> RunAttend(const AttendRequest& request,
                                       const SafetensorsFile& file);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_RUN_H_
