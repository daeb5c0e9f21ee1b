// One run of the program attend: tensors in, tensors out, and what to say.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(AttendResult result, RunAttend(request, file));
//   SOFTLOOKUP_RETURN_IF_ERROR(WriteSafetensors(path, result.file));
#ifndef SOFTLOOKUP_ATTENTION_ATTEND_RUN_H_
#define SOFTLOOKUP_ATTENTION_ATTEND_RUN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "attention/attend_request.h"
#include "attention/mask.h"
#include "base/safetensors.h"

namespace softlookup {

struct AttendResult {
  // output [B, H, Tq, Dv] and log_sum_exp [B, H, Tq]; with options.weights
  // also weights [B, H, Tq, Tk]; with an output gradient also query_gradient,
  // key_gradient, value_gradient and, with a bias, bias_gradient, in the shapes
  // of what they belong to. F64 or F32, as the precision is.
  SafetensorsFile file;
  // Sizes, options and masks, a few lines for a reader.
  std::string summary;
};

// `file` holds the tensors of attention/attend_input.h. The errors of
// AttendInput::Load and of the backend.
absl::StatusOr<AttendResult> RunAttend(const AttendRequest& request,
                                       const SafetensorsFile& file);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTEND_RUN_H_
