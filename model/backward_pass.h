// One backward pass of a transformer, layer by layer.
//
//   const Pass<float> pass(parts, weights, batch, positions);
//   BackwardPass<float> backward(pass, activations, gradient);
//   backward.Unembed(d_logits);
//   for (int64_t i = layers - 1; i >= 0; --i) backward.Layer(i);
//   backward.Embed(tokens);
//
// Transformer::Backward runs this. Each step adds to the gradient of its
// parameters, which starts from 0, and turns dL/dx behind it, in
// activations.backward, into dL/dx before it.
#ifndef SOFTLOOKUP_MODEL_BACKWARD_PASS_H_
#define SOFTLOOKUP_MODEL_BACKWARD_PASS_H_

#include <cstdint>

#include "base/tensor/strided_view.h"
#include "base/tensor/tensor.h"
#include "model/activations.h"
#include "model/parameters.h"
#include "model/pass.h"

namespace softlookup {

// T is float or double.
template <typename T>
class BackwardPass {
 public:
  // `activations` are those of a forward pass of these sizes, `gradient` is as
  // long as the parameters. All arguments must outlive it.
  BackwardPass(const Pass<T>& pass, TransformerActivations<T>& activations,
               T* gradient)
      : pass_(pass),
        config_(pass.config),
        engine_(pass.engine),
        activations_(activations),
        memory_(activations.backward),
        gradient_(gradient) {}

  // From dL/dlogits, [B T, V], to dL/dx behind the last layer.
  void Unembed(const StridedView<const T>& d_logits);
  void Layer(int64_t index);
  // The gradient of embeddings and positions.
  void Embed(const Tensor<int32_t>& tokens);

 private:
  // For an output = norm(x) W, W [d, n], the norm's parameters at `offset` or
  // none: adds to dL/dx, and to the gradient of the norm's parameters.
  void AddInput(const StridedView<const T>& d_output,
                const StridedView<const T>& weight, int64_t offset,
                const NormActivations<T>& norm);
  // total[k] += the sum over rows of x[row, k], in order of the rows.
  void AddSums(const StridedView<const T>& x, T* total) const;
  // The branches of a layer.
  void Attention(const LayerOffsets& at, const LayerActivations<T>& layer);
  void Mlp(const LayerOffsets& at, const LayerActivations<T>& layer);
  void SmearKeys(int64_t offset, const LayerActivations<T>& layer);

  const Pass<T>& pass_;
  const ModelConfig& config_;
  const Engine<T>& engine_;
  TransformerActivations<T>& activations_;
  BackwardMemory<T>& memory_;
  T* const gradient_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_BACKWARD_PASS_H_
