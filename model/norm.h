// Root-mean-square and layer normalisation of the rows of x [N, d], forward
// and backward.
//
//   LN:   xhat = (x - mean x) s    s = 1 / sqrt(variance + 1e-5)
//   RMS:  xhat = x s               s = 1 / sqrt(mean x^2 + 1e-5)
//   y = xhat w (+ b with LN)
//
//   NormForward(engine, config.normalization_type, x, weight, norm);
//   Use(norm.output);
//   NormBackward(engine, config.normalization_type, norm, weight, d_y, d_x,
//                d_weight);
//
// (Ba, Kiros and Hinton 2016; Zhang and Sennrich 2019.) Sums over a row run as
// row_reductions.h says. `weight` is w [d], followed by b [d] with LN. T is
// float or double.
#ifndef SOFTLOOKUP_MODEL_NORM_H_
#define SOFTLOOKUP_MODEL_NORM_H_

#include "base/tensor/tensor.h"
#include "model/activations.h"
#include "model/config.h"
#include "model/engine.h"

namespace softlookup {

inline constexpr double kNormEpsilon = 1e-5;

// Fills `norm`: xhat, y and s.
template <typename T>
void NormForward(const Engine<T>& engine, NormalizationType type,
                 const Tensor<T>& x, const T* weight, NormActivations<T>& norm);

// From d_output = dL/dy, [N, d], which it changes:
//
//   d_weight += sum over rows of d_output xhat    (d_b += that of d_output)
//   g = d_output w      d_x += s (g - mean g - xhat mean(g xhat))
//
// without "mean g" for RMS.
template <typename T>
void NormBackward(const Engine<T>& engine, NormalizationType type,
                  const NormActivations<T>& norm, const T* weight,
                  Tensor<T>& d_output, Tensor<T>& d_x, T* d_weight);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_NORM_H_
