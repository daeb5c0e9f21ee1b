// One backward pass of a transformer, layer by layer.
//
//   BackwardPass<float> pass(parts, weights, memory, gradient);
//   pass.Unembed(d_logits, memory);
//   for (int64_t i = layers - 1; i >= 0; --i) pass.Layer(i, memory.layers[i]);
//   pass.Embed(tokens);
//
// Transformer::Backward runs this. Each step adds to the gradient of its
// parameters, which starts from 0, and turns dL/dx behind it, in
// memory.backward, into dL/dx before it.
#ifndef SOFTLOOKUP_MODEL_BACKWARD_PASS_H_
#define SOFTLOOKUP_MODEL_BACKWARD_PASS_H_

#include <cstdint>

#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/activations.h"
#include "model/parameters.h"
#include "model/pass.h"

namespace softlookup {

template <typename T>
class BackwardPass : private Pass<T> {
 public:
  // `gradient` is as long as the parameters. All arguments must outlive it.
  BackwardPass(const TransformerParts<T>& parts, const T* weights,
               TransformerActivations<T>& activations, T* gradient)
      : Pass<T>(parts, weights, activations.batch, activations.positions),
        memory_(activations.backward),
        gradient_(gradient) {}

  // From dL/dlogits, [B T, V], to dL/dx behind the last layer.
  void Unembed(const StridedView<const T>& d_logits,
               const TransformerActivations<T>& activations);
  void Layer(int64_t index, LayerActivations<T>& layer);
  // The gradient of embeddings and positions.
  void Embed(const Tensor<int32_t>& tokens);

 private:
  using Pass<T>::batch;
  using Pass<T>::config;
  using Pass<T>::engine;
  using Pass<T>::head_columns;
  using Pass<T>::layout;
  using Pass<T>::positions;
  using Pass<T>::qkv_width;
  using Pass<T>::rows;
  using Pass<T>::weights;
  using Pass<T>::Inputs;
  using Pass<T>::Key;
  using Pass<T>::Output;
  using Pass<T>::Query;
  using Pass<T>::RotateHeads;
  using Pass<T>::Share;
  using Pass<T>::Unembedding;
  using Pass<T>::Value;
  using Pass<T>::Weight;

  // For an output = norm(x) W, W [d, n], the norm's parameters at `offset` or
  // none: adds to dL/dx, and to the gradient of the norm's parameters.
  void AddInput(const StridedView<const T>& d_output,
                const StridedView<const T>& weight, int64_t offset,
                const NormActivations<T>& norm);
  // total[k] += the sum over rows of x[row, k], or of term(row, k), in order of
  // the rows.
  void AddSums(const StridedView<const T>& x, T* total) const;
  template <typename Term>
  void AddSums(int64_t columns, const Term& term, T* total) const;
  void PositionWise(const LayerOffsets& at, const LayerActivations<T>& layer);
  void Attention(const LayerOffsets& at, LayerActivations<T>& layer);
  void Smear(int64_t offset, const LayerActivations<T>& layer);

  BackwardMemory<T>& memory_;
  T* const gradient_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_BACKWARD_PASS_H_
