// What the program attend is asked to do: its flags, checked.
//
//   AttendFlags flags;
//   flags.input = "in.safetensors";
//   flags.output = "out.safetensors";
//   flags.causal = "top_left";
//   SOFTLOOKUP_ASSIGN_OR_RETURN(AttendRequest request,
//                               ParseAttendFlags(flags));
#ifndef SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_REQUEST_H_
#define SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "attention/attention.h"
#include "attention/kernels/instruction_set.h"
#include "attention/mask.h"

namespace softlookup {

// The arithmetic that a computation runs in.
enum class Precision { kFloat64, kFloat32, kBFloat16, kFloat16 };

// "float64", "float32", "bfloat16", "float16".
std::string PrecisionName(Precision precision);

// The flags as they are typed, with their defaults.
struct AttendFlags {
  std::string input;
  std::string output;
  std::string causal = "none";
  std::string scale;  // a number; empty: 1 / sqrt(D)
  std::string fully_masked = "zero";
  bool weights = false;
  std::string precision = "float64";
  std::string backend = "reference";
  std::string isa = "auto";
  std::string threads;  // a number; empty: the processors there are
  bool deterministic = false;
};

struct AttendRequest {
  std::string input;  // paths, as the program opens them
  std::string output;
  CausalAlignment causal = CausalAlignment::kNone;
  AttentionOptions options;
  Precision precision = Precision::kFloat64;
  // The name of an AttentionBackend; "cudnn"; or "auto", whose precision is
  // that of the CPU when it is picked.
  std::string backend;
  bool deterministic = false;  // for cudnn
  // For backends that have run options.
  kernels::InstructionSet instruction_set = kernels::BestInstructionSet();
  int threads = 1;
};

// InvalidArgument, naming the flag, for a missing path, an unknown word, a
// scale that is not a number or not finite in the precision asked for, an
// instruction set that this processor lacks, a number of threads that no pool
// has, and what the backend does not do. FailedPrecondition for cudnn where the
// program was built without it.
absl::StatusOr<AttendRequest> ParseAttendFlags(const AttendFlags& flags);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_REQUEST_H_
