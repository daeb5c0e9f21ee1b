#include "model/parameters.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random/random.h"

namespace softlookup {

ParameterLayout::ParameterLayout(const ModelConfig& config) : config_(config) {
  SOFTLOOKUP_CHECK(CheckConfig(config).ok(), "a valid config");
  embedding_ =
      Add("embed.W_E", {config.d_vocab, config.d_model}, Start::kGaussian);
  if (config.positional_embedding_type == PositionalEmbeddingType::kStandard) {
    positions_ = Add("pos_embed.W_pos", {config.n_ctx, config.d_model},
                     Start::kGaussian);
  }
  for (int64_t layer = 0; layer < config.n_layers; ++layer) AddLayer(layer);
  if (config.final_norm) final_norm_ = AddNorm("ln_final");
  unembedding_ = config.tied
                     ? embedding_
                     : Add("unembed.W_U", {config.d_model, config.d_vocab},
                           Start::kGaussian);
  if (config.biases) {
    unembedding_bias_ = Add("unembed.b_U", {config.d_vocab}, Start::kZero);
  }
  SOFTLOOKUP_CHECK(size_ == ParameterCount(config),
                   "as many parameters as are counted");
}

const ParameterTensor* ParameterLayout::Find(absl::string_view name) const {
  for (const ParameterTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

int64_t ParameterLayout::Add(const std::string& name, const Shape& shape,
                             Start start) {
  const int64_t offset = size_;
  tensors_.push_back({name,
                      {shape, ContiguousStrides(shape)},
                      offset,
                      start,
                      start == Start::kGaussian});
  size_ += NumElements(shape).value();
  return offset;
}

int64_t ParameterLayout::AddNorm(const std::string& name) {
  const int64_t offset =
      Add(absl::StrCat(name, ".w"), {config_.d_model}, Start::kOne);
  if (config_.normalization_type == NormalizationType::kLn) {
    Add(absl::StrCat(name, ".b"), {config_.d_model}, Start::kZero);
  }
  return offset;
}

void ParameterLayout::AddLayer(int64_t layer) {
  const std::string block = absl::StrCat("blocks.", layer, ".");
  const int64_t d = config_.d_model;
  const int64_t width = config_.d_head;
  const bool norm = config_.normalization_type != NormalizationType::kNone;
  LayerOffsets offsets;
  if (norm) offsets.norm1 = AddNorm(absl::StrCat(block, "ln1"));

  // Three tensors side by side in the rows of one matrix.
  struct Role {
    const char* letter;
    int64_t heads;
  };
  const Role roles[] = {{"Q", config_.n_heads},
                        {"K", config_.n_key_value_heads},
                        {"V", config_.n_key_value_heads}};
  const int64_t row = (config_.n_heads + 2 * config_.n_key_value_heads) * width;
  offsets.qkv = size_;
  int64_t column = 0;
  for (const Role& role : roles) {
    tensors_.push_back({absl::StrCat(block, "attn.W_", role.letter),
                        {{role.heads, d, width}, {width, row, 1}},
                        offsets.qkv + column,
                        Start::kGaussian,
                        true});
    column += role.heads * width;
  }
  size_ += d * row;
  if (config_.biases) {
    offsets.qkv_bias = size_;
    for (const Role& role : roles) {
      Add(absl::StrCat(block, "attn.b_", role.letter), {role.heads, width},
          Start::kZero);
    }
  }
  if (config_.smeared_keys) {
    offsets.smear = Add(absl::StrCat(block, "attn.smear"),
                        {config_.n_key_value_heads}, Start::kZero);
  }
  offsets.out = Add(absl::StrCat(block, "attn.W_O"),
                    {config_.n_heads, width, d}, Start::kGaussian);
  if (config_.biases) {
    offsets.out_bias = Add(absl::StrCat(block, "attn.b_O"), {d}, Start::kZero);
  }
  if (config_.d_mlp > 0) {
    if (norm) offsets.norm2 = AddNorm(absl::StrCat(block, "ln2"));
    offsets.mlp_in = Add(absl::StrCat(block, "mlp.W_in"), {d, config_.d_mlp},
                         Start::kGaussian);
    if (config_.biases) {
      offsets.mlp_in_bias =
          Add(absl::StrCat(block, "mlp.b_in"), {config_.d_mlp}, Start::kZero);
    }
    offsets.mlp_out = Add(absl::StrCat(block, "mlp.W_out"), {config_.d_mlp, d},
                          Start::kGaussian);
    if (config_.biases) {
      offsets.mlp_out_bias =
          Add(absl::StrCat(block, "mlp.b_out"), {d}, Start::kZero);
    }
  }
  layers_.push_back(offsets);
}

void InitializeParameters(const ParameterLayout& layout, uint64_t seed,
                          absl::Span<float> parameters) {
  SOFTLOOKUP_CHECK(static_cast<int64_t>(parameters.size()) == layout.size(),
                   "memory for every parameter");
  const double deviation =
      1 / std::sqrt(static_cast<double>(layout.config().d_model));
  for (const ParameterTensor& tensor : layout.tensors()) {
    RandomStream stream(seed, absl::StrCat("init ", tensor.name));
    ForEachElement(
        [&](float& x) {
          x = tensor.start == Start::kOne ? 1.0f
              : tensor.start == Start::kZero
                  ? 0.0f
                  : static_cast<float>(stream.Gaussian() * deviation);
        },
        layout.View(tensor, parameters.data()));
  }
}

}  // namespace softlookup
