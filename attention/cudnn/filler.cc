#include "attention/cudnn/filler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "attention/cudnn/half_tensor.h"
#include "base/check.h"
#include "base/random/random.h"
#include "base/tensor/dtype.h"

namespace softlookup::cudnn {
namespace {

// Copies `pattern` over `bytes`, as often as it fits and a part of it last.
void Repeat(const void* pattern, size_t pattern_bytes,
            std::vector<uint8_t>& bytes) {
  for (size_t at = 0; at < bytes.size(); at += pattern_bytes) {
    std::memcpy(&bytes[at], pattern,
                std::min(pattern_bytes, bytes.size() - at));
  }
}

}  // namespace

Filler::Filler() : block_(1 << 20) {
  RandomStream stream(/*seed=*/1, "filler");
  for (uint16_t& bits : block_) {
    bits = FloatToHalf(static_cast<float>(stream.Gaussian()), Dtype::kBF16);
  }
}

std::map<CudnnTensorId, HostBytes> Filler::Fill(
    const std::vector<CudnnTensor>& tensors) {
  int32_t queries = 0;
  int32_t keys = 0;
  for (const CudnnTensor& tensor : tensors) {
    const auto positions = static_cast<int32_t>(tensor.shape[2]);
    if (tensor.id == CudnnTensorId::kQuery) queries = positions;
    if (tensor.id == CudnnTensorId::kKey) keys = positions;
  }
  std::map<CudnnTensorId, HostBytes> filled;
  for (const CudnnTensor& tensor : tensors) {
    std::vector<uint8_t>& bytes = memory_[tensor.id];
    bytes.resize(tensor.Bytes());
    HostBytes& host = filled[tensor.id];
    host.bytes = tensor.Bytes();
    if (tensor.written) {
      host.output = bytes.data();
      continue;
    }
    host.input = bytes.data();
    if (tensor.dtype == Dtype::kI32) {
      const int32_t length =
          tensor.id == CudnnTensorId::kQueryLengths ? queries : keys;
      Repeat(&length, sizeof(length), bytes);
    } else if (tensor.dtype == Dtype::kF32) {
      const float log_sum_exp = std::log(static_cast<float>(keys));
      Repeat(&log_sum_exp, sizeof(log_sum_exp), bytes);
    } else {
      SOFTLOOKUP_CHECK(tensor.dtype == Dtype::kBF16, "elements in bfloat16");
      Repeat(block_.data(), block_.size() * sizeof(uint16_t), bytes);
    }
  }
  return filled;
}

}  // namespace softlookup::cudnn
