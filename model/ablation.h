// Interventions on attention heads: a head's output taken away or replaced,
// its pattern frozen or substituted, an activation patched in from another
// run.
//
//   Interventions<float> ablation;
//   ZeroHead(/*layer=*/0, /*head=*/1, ablation);
//   model.Forward(weights, tokens, memory, &ablation);
//
// A head is taken away before W_O, where its output still stands by itself;
// after W_O the heads of a layer are one sum.
#ifndef SOFTLOOKUP_MODEL_ABLATION_H_
#define SOFTLOOKUP_MODEL_ABLATION_H_

#include <cstdint>
#include <string>

#include "base/tensor/tensor.h"
#include "model/hooks.h"

namespace softlookup {

// "blocks.1.attn.hook_z".
std::string AttentionPoint(int64_t layer, const std::string& point);

// The head's output becomes 0.
template <typename T>
void ZeroHead(int64_t layer, int64_t head, Interventions<T>& edits);

// The head's output becomes its mean over the sequences of `z`, [B', T, H, D]
// as hook_z has it, position by position: what the head says whatever the
// tokens are.
template <typename T>
void MeanHead(int64_t layer, int64_t head, const Tensor<T>& z,
              Interventions<T>& edits);

// Sequence b gets the head's output of sequence b + 1 (the last that of the
// first): what the head says about other tokens. `z` [B, T, H, D] is hook_z
// of the sequences that the pass runs on.
template <typename T>
void ResampleHead(int64_t layer, int64_t head, const Tensor<T>& z,
                  Interventions<T>& edits);

// The layer mixes its values by `pattern`, [B, H, T, T], whatever its queries
// and keys are.
template <typename T>
void FreezePattern(int64_t layer, const Tensor<T>& pattern,
                   Interventions<T>& edits);

// One head does, by `pattern`, [B, T, T].
template <typename T>
void SubstitutePattern(int64_t layer, int64_t head, const Tensor<T>& pattern,
                       Interventions<T>& edits);

// The activation at a point of HookNames becomes `activation`, of the same
// shape. CHECKs the shape when the pass comes by.
template <typename T>
void PatchActivation(const std::string& name, const Tensor<T>& activation,
                     Interventions<T>& edits);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_ABLATION_H_
