// One forward pass of a transformer, layer by layer, with its hooks.
//
//   const Pass<float> pass(parts, weights, batch, positions);
//   ForwardPass<float> forward(pass, activations, hooks);
//   forward.Embed(tokens);
//   for (int64_t i = 0; i < layers; ++i) forward.Layer(i);
//   forward.Unembed();                      // activations.logits
//
// Transformer::Forward checks what comes from outside and then runs this.
#ifndef SOFTLOOKUP_MODEL_FORWARD_PASS_H_
#define SOFTLOOKUP_MODEL_FORWARD_PASS_H_

#include <cstdint>
#include <set>
#include <string>

#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/activations.h"
#include "model/hooks.h"
#include "model/pass.h"

namespace softlookup {

// T is float or double.
template <typename T>
class ForwardPass {
 public:
  // `hooks` may be null. All arguments must outlive it.
  ForwardPass(const Pass<T>& pass, TransformerActivations<T>& activations,
              Hooks<T>* hooks);

  // Tokens [B, T] to the residual stream before layer 0.
  void Embed(const Tensor<int32_t>& tokens);
  // Layer `index`, from its resid_pre to that of the next or to resid_final.
  void Layer(int64_t index);
  // From resid_final to the logits.
  void Unembed();

 private:
  static constexpr int64_t kNoLayer = -1;
  // Where hooks come by. Its name, "blocks.i.hook_z" or without a layer
  // "hook_embed", is put together only where there are hooks.
  struct Point {
    int64_t layer;
    const char* name;
    std::string Name() const;
  };

  bool Wants(const Point& point) const {
    return hooks_ != nullptr && hooked_.count(point.Name()) > 0;
  }
  // Whether a hook changes what stands at a point that it wants.
  bool Edits(const Point& point) const { return hooks_->Edits(point.Name()); }
  // Shows the activation to a hook that wants the point; one that edits it may
  // change the activation.
  void Visit(const Point& point, const StridedView<T>& activation) const;
  // [B T, n] as [B, T, n].
  StridedView<T> ByPosition(Tensor<T>& tensor) const {
    return tensor.view().SplitAxis(0, {pass_.batch, pass_.positions});
  }

  // The input of a branch, or of the unembedding: x itself, or normalised by
  // the norm whose parameters lie at `offset`.
  const Tensor<T>& Normalize(const Point& point, const Tensor<T>& x,
                             int64_t offset, NormActivations<T>& norm) const;
  // x = residual + A B + bias: a branch's write, at a point of its own.
  void AddBranch(const Point& point, const Tensor<T>& a,
                 const StridedView<const T>& b, const T* bias,
                 const Tensor<T>& residual, Tensor<T>& x) const;
  // The branches of a layer, from what enters it to x.
  void Attention(int64_t index, LayerActivations<T>& layer, Tensor<T>& x) const;
  void Mlp(int64_t index, LayerActivations<T>& layer, Tensor<T>& x) const;
  // The weights of attention, [B, H, T, T], in textbook order.
  Tensor<T> Pattern(const Tensor<T>& qkv) const;
  // z = pattern v, head by head.
  void MixByPattern(const Tensor<T>& pattern, const Tensor<T>& qkv,
                    Tensor<T>& z) const;
  // k_t <- s k_t + (1 - s) k_(t - 1) for t >= 1, s = sigmoid of a parameter of
  // the head.
  void SmearKeys(int64_t offset, LayerActivations<T>& layer) const;

  const Pass<T>& pass_;
  const ModelConfig& config_;
  const Engine<T>& engine_;
  TransformerActivations<T>& activations_;
  Hooks<T>* const hooks_;
  const std::set<std::string> hooked_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_FORWARD_PASS_H_
