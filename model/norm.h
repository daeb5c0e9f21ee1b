// Root-mean-square and layer normalisation of rows, forward and backward.
//
//   layer:  xhat = (x - mean x) s    s = 1 / sqrt(variance + 1e-5)
//   rms:    xhat = x s               s = 1 / sqrt(mean x^2 + 1e-5)
//   y = xhat w (+ b with layer)
//
// (Ba, Kiros and Hinton 2016; Zhang and Sennrich 2019.) Sums over a row run as
// row_reductions.h says.
#ifndef SOFTLOOKUP_MODEL_NORM_H_
#define SOFTLOOKUP_MODEL_NORM_H_

#include <cstdint>

#include "model/config.h"

namespace softlookup {

inline constexpr double kNormEpsilon = 1e-5;

// One row of `width` elements: writes xhat and y, returns s. `weight` is w,
// followed by b with layer norm. T is float or double.
template <typename T>
T NormRow(NormalizationType norm, const T* x, const T* weight, int64_t width,
          T* normalized, T* output);

// The backward of a row: d_x = dL/dx, from d_output = dL/dy. d_x may be
// d_output.
//
//   g = d_output w      d_x = s (g - mean g - xhat mean(g xhat))
//
// without "mean g" for rms.
template <typename T>
void NormRowBackward(NormalizationType norm, const T* normalized, T scale,
                     const T* weight, const T* d_output, int64_t width, T* d_x);

}  // namespace softlookup

#endif  // SOFTLOOKUP_MODEL_NORM_H_
