// Which rows, keys and elements of a bias are seen at all, under the masks that
// cuDNN has: what it leaves open about the others is written by us.
//
//   const Visibility visible = FindVisibility(inputs, sizes);
//   if (visible.row(b, h, i) == 0) ...   // every key is masked
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_VISIBILITY_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_VISIBILITY_H_

#include <cstdint>
#include <optional>

#include "attention/attention.h"
#include "attention/mask.h"
#include "base/tensor/tensor.h"

namespace softlookup::cudnn {

struct Visibility {
  Tensor<uint8_t> row;  // [B, H, Tq]: query i of head h sees some key
  Tensor<uint8_t> key;  // [B, Hkv, Tk]: some query of the group sees key j
  // The bias's shape: some pair that the element is added to is visible.
  std::optional<Tensor<uint8_t>> bias;
};

// For inputs that CheckAttention accepts. Linear in B H Tq Tk with a bias,
// otherwise in B H (Tq + Tk).
Visibility FindVisibility(const AttentionInputs<float>& inputs,
                          const AttentionSizes& sizes);

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_VISIBILITY_H_
