// A trained model's weights as matrices in double, one head at a time, for
// looking at circuits.
//
//   const WeightMatrices w(layout, weights);
//   const Tensor<double> ov = MatrixProduct(w.Head(0, "W_V", h),
//                                           w.Head(0, "W_O", h));
#ifndef SOFTLOOKUP_INTERPRETABILITY_WEIGHT_MATRICES_H_
#define SOFTLOOKUP_INTERPRETABILITY_WEIGHT_MATRICES_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "base/tensor/tensor.h"
#include "model/parameters.h"

namespace softlookup {

// Both arguments must outlive it.
class WeightMatrices {
 public:
  WeightMatrices(const ParameterLayout& layout, absl::Span<const float> weights)
      : layout_(layout), weights_(weights) {}

  // W_E, [V, d].
  Tensor<double> Embedding() const;
  // W_U, [d, V]; of a tied model W_E transposed.
  Tensor<double> Unembedding() const;
  // W_pos, [context, d]. The model must have learned positions (checked).
  Tensor<double> Positions() const;

  // One query head's "W_Q", "W_K" or "W_V", [d, D], or "W_O", [D, d]; of keys
  // and values those of its group.
  Tensor<double> Head(int64_t layer, const std::string& name,
                      int64_t head) const;
  // W_Q W_K^T and W_V W_O, [d, d].
  Tensor<double> QueryKey(int64_t layer, int64_t head) const;
  Tensor<double> OutputValue(int64_t layer, int64_t head) const;

 private:
  Tensor<double> Matrix(const std::string& name) const;

  const ParameterLayout& layout_;
  const absl::Span<const float> weights_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_INTERPRETABILITY_WEIGHT_MATRICES_H_
