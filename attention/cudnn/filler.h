// Bytes for the tensors of a problem of any size, to measure it.
//
//   Filler filler;
//   SOFTLOOKUP_RETURN_IF_ERROR(
//       memory.Upload(tensors, filler.Fill(tensors)));
//
// Elements are a million drawn from the unit normal distribution, again and
// again: drawing as many as a large problem has would take longer than to
// measure it. Numbers matter for speed, because a card that multiplies zeros
// draws less power and runs faster.
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_FILLER_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_FILLER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "attention/cudnn/cudnn_attention.h"
#include "attention/cudnn/cudnn_tensors.h"

namespace softlookup::cudnn {

class Filler {
 public:
  Filler();

  // For tensors in bfloat16; lengths, in int32, are those of queries and keys
  // in full; the log-sum-exp, in float32, is ln Tk, about that of unit normal
  // scores. What is written by cuDNN gets room and no values. Holds until the
  // next call.
  std::map<CudnnTensorId, HostBytes> Fill(
      const std::vector<CudnnTensor>& tensors);

 private:
  std::vector<uint16_t> block_;
  std::map<CudnnTensorId, std::vector<uint8_t>> memory_;
};

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_FILLER_H_
