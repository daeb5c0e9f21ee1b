// How much memory attention takes, before any of it is allocated.
//
// Small files can ask for much: a million queries and a million keys of width
// one are 16 MB, and their scores 8 TB.
//
//   AttendMemory memory;
//   memory.weights = true;
//   int64_t bytes = AttendBytes(sizes, memory);
#ifndef SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_MEMORY_H_
#define SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_MEMORY_H_

#include <cstdint>

#include "attention/mask.h"

namespace softlookup {

struct AttendMemory {
  int64_t file_bytes = 0;     // the input as it was read, which stays
  int64_t element_bytes = 8;  // of the arithmetic's type
  int64_t bias_elements = 0;
  int64_t mask_elements = 0;
  bool weights = false;   // P is returned
  bool backward = false;  // an output gradient is there, gradients are returned
  int64_t scratch_bytes = 0;  // the backend's, AttentionBackend
};

// The bytes held at the peak: file, converted inputs, outputs, gradients and
// scratch. INT64_MAX for all that is more.
int64_t AttendBytes(const AttentionSizes& sizes, const AttendMemory& memory);

}  // namespace softlookup

#endif  // SOFTLOOKUP_ATTENTION_ATTEND_ATTEND_MEMORY_H_
