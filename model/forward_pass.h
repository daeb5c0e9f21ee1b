// One forward pass of a transformer, layer by layer, with its hooks.
//
//   ForwardPass<float> pass(parts, weights, batch, positions, hooks);
//   pass.Layer(0, memory.layers[0], memory.layers[1].resid_pre);
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

template <typename T>
class ForwardPass : private Pass<T> {
 public:
  // `hooks` may be null. All arguments must outlive it.
  ForwardPass(const TransformerParts<T>& parts, const T* weights, int64_t batch,
              int64_t positions, Hooks<T>* hooks)
      : Pass<T>(parts, weights, batch, positions),
        hooks_(hooks),
        hooked_(hooks == nullptr ? std::set<std::string>() : hooks->Names()) {}

  using Pass<T>::Bias;
  using Pass<T>::Unembedding;
  using Pass<T>::rows;

  // Whether a hook asks for a point.
  bool Wants(const std::string& name) const { return hooked_.count(name) > 0; }
  // Shows the activation at a point to a hook that asks for it; one that edits
  // the point may change it.
  void Visit(const std::string& name, const StridedView<T>& activation) const;
  // [B T, n] as [B, T, n].
  StridedView<T> ByPosition(Tensor<T>& tensor) const {
    return tensor.view().SplitAxis(0, {batch, positions});
  }

  // The input of a branch, or of the unembedding: x itself, or normalised by
  // the norm whose parameters lie at `offset`. `name` is that of its point
  // without the last part.
  const Tensor<T>& Normalize(const std::string& name, const Tensor<T>& x,
                             int64_t offset, NormActivations<T>& norm) const;

  // Layer `index` from layer.resid_pre; `next` is what it leaves behind.
  void Layer(int64_t index, LayerActivations<T>& layer, Tensor<T>& next) const;

 private:
  using Pass<T>::batch;
  using Pass<T>::config;
  using Pass<T>::engine;
  using Pass<T>::head_columns;
  using Pass<T>::layout;
  using Pass<T>::positions;
  using Pass<T>::qkv_width;
  using Pass<T>::weights;
  using Pass<T>::Inputs;
  using Pass<T>::Key;
  using Pass<T>::Output;
  using Pass<T>::Query;
  using Pass<T>::RotateHeads;
  using Pass<T>::Share;
  using Pass<T>::Value;
  using Pass<T>::Weight;

  // x = residual + A B + bias: a branch's write, at a point of its own.
  void AddBranch(const std::string& name, const Tensor<T>& a,
                 const StridedView<const T>& b, const T* bias,
                 const Tensor<T>& residual, Tensor<T>& x) const;
  // The weights of attention, [B, H, T, T], in textbook order.
  Tensor<T> Pattern(const Tensor<T>& qkv) const;
  // z = pattern v, head by head.
  void MixByPattern(const Tensor<T>& pattern, const Tensor<T>& qkv,
                    Tensor<T>& z) const;
  // k_t <- s k_t + (1 - s) k_(t - 1) for t >= 1, s = sigmoid of a parameter of
  // the head.
  void SmearKeys(int64_t offset, LayerActivations<T>& layer) const;

  Hooks<T>* const hooks_;
  const std::set<std::string> hooked_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_FORWARD_PASS_H_
