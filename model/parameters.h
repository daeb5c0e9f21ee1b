// The parameters of a transformer: one flat array, and the tensors in it under
// TransformerLens's names and shapes.
//
//   ParameterLayout layout(config);
//   std::vector<float> weights(layout.size());
//   InitializeParameters(layout, /*seed=*/1, absl::MakeSpan(weights));
//   StridedView<float> w_q =
//       layout.View(*layout.Find("blocks.0.attn.W_Q"), weights.data());
//
// In memory the projections of queries, keys and values of a layer stand side
// by side, [d, (H + 2 Hkv) D], so that one matrix product makes all three;
// TransformerLens's W_Q, [H, d, D], is a strided view of that.
#ifndef SOFTLOOKUP_MODEL_PARAMETERS_H_
#define SOFTLOOKUP_MODEL_PARAMETERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"
#include "model/config.h"

namespace softlookup {

// How a tensor starts.
enum class Start { kGaussian, kZero, kOne };

struct ParameterTensor {
  std::string name;      // "blocks.0.attn.W_Q"
  StridedLayout layout;  // shape as TransformerLens has it, strides in memory
  int64_t offset = 0;    // of its first element
  Start start = Start::kGaussian;
  bool decays = true;  // under weight decay: matrices do, vectors do not
};

// Where a layer's parameters lie; -1 for what the config does not have.
struct LayerOffsets {
  int64_t norm1 = -1;     // weight [d], then bias [d] with layer norm
  int64_t qkv = -1;       // [d, (H + 2 Hkv) D]
  int64_t qkv_bias = -1;  // [(H + 2 Hkv) D]
  int64_t smear = -1;     // [Hkv], logits of the share of the key itself
  int64_t out = -1;       // [H D, d]
  int64_t out_bias = -1;  // [d]
  int64_t norm2 = -1;
  int64_t mlp_in = -1;        // [d, m]
  int64_t mlp_in_bias = -1;   // [m]
  int64_t mlp_out = -1;       // [m, d]
  int64_t mlp_out_bias = -1;  // [d]
};

class ParameterLayout {
 public:
  // Of a config that passes CheckConfig.
  explicit ParameterLayout(const ModelConfig& config);

  const ModelConfig& config() const { return config_; }
  int64_t size() const { return size_; }
  // In the order of memory, each element in exactly one tensor.
  const std::vector<ParameterTensor>& tensors() const { return tensors_; }
  // Null if there is none of that name.
  const ParameterTensor* Find(absl::string_view name) const;

  template <typename T>
  StridedView<T> View(const ParameterTensor& tensor, T* parameters) const {
    return {parameters + tensor.offset, tensor.layout};
  }

  int64_t embedding() const { return embedding_; }  // [V, d]
  int64_t positions() const { return positions_; }  // [context, d] or -1
  const LayerOffsets& layer(int64_t i) const { return layers_[i]; }
  int64_t final_norm() const { return final_norm_; }  // or -1
  // [d, V]; the embedding's offset where they are tied.
  int64_t unembedding() const { return unembedding_; }
  int64_t unembedding_bias() const { return unembedding_bias_; }  // or -1

 private:
  // Adds a tensor at the end of memory and returns its offset.
  int64_t Add(const std::string& name, const Shape& shape, Start start);
  int64_t AddNorm(const std::string& name);
  void AddLayer(int64_t layer);

  ModelConfig config_;
  int64_t size_ = 0;
  std::vector<ParameterTensor> tensors_;
  int64_t embedding_ = -1;
  int64_t positions_ = -1;
  std::vector<LayerOffsets> layers_;
  int64_t final_norm_ = -1;
  int64_t unembedding_ = -1;
  int64_t unembedding_bias_ = -1;
};

// Draws the start: matrices from N(0, 1/d), each tensor from a stream of its
// own name, so that a tensor more moves no other; biases 0, norm weights 1.
void InitializeParameters(const ParameterLayout& layout, uint64_t seed,
                          absl::Span<float> parameters);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_PARAMETERS_H_
