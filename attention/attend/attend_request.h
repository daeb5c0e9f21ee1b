// What the program attend is asked to do: its flags, checked.
//
//   SOFTLOOKUP_ASSIGN_OR_RETURN(const AttendRequest request,
//                               RequestFromFlags());
//
// To add a flag, add a row to the table in attend_request.cc.
#ifndef SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_REQUEST_H_
#define SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/kernels/kernel_options.h"
#include "attention/mask.h"

namespace softlookup {

// The arithmetic that a computation runs in.
enum class Precision { kFloat64, kFloat32, kBFloat16, kFloat16 };

// "float64", "float32", "bfloat16", "float16".
std::string PrecisionName(Precision precision);

// The implementations of attention.
enum class Backend {
  kReference,  // attention/reference/, in float64 or float32
  kSimd,       // attention/kernels/, in float32
  kCudnn,      // attention/cudnn/, in half precision
  kAuto,       // picked by the input's type, see RunAttend
};

// "reference", "simd", "cudnn", "auto".
std::string BackendName(Backend backend);

struct AttendRequest {
  std::string input;  // paths, as the program opens them
  std::string output;
  CausalAlignment causal = CausalAlignment::kNone;
  AttentionOptions options;
  // One that the backend has; with kAuto that of the CPU when it is picked.
  Precision precision = Precision::kFloat64;
  Backend backend = Backend::kReference;
  // For simd.
  kernels::InstructionSet instruction_set = kernels::BestInstructionSet();
  int threads = 1;
  bool deterministic = false;  // for cudnn
};

// The request of the program's flags. InvalidArgument, naming the flag, for a
// missing path, an unknown word, a scale that is not a number or not finite in
// the precision asked for, an instruction set that this processor lacks, a
// number of threads that no pool has, and what the backend does not do.
// FailedPrecondition for cudnn where the program was built without it.
absl::StatusOr<AttendRequest> RequestFromFlags();

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_REQUEST_H_
