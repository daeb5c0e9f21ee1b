#include "model/norm.h"

#include <cmath>

namespace softlookup {

template <typename T>
T NormRow(Norm norm, const T* x, const T* weight, int64_t width, T* normalized,
          T* output) {
  const T count = static_cast<T>(width);
  T mean = 0;
  if (norm == Norm::kLayer) {
    for (int64_t k = 0; k < width; ++k) mean += x[k];
    mean /= count;
  }
  T square = 0;
  for (int64_t k = 0; k < width; ++k) {
    square = std::fma(x[k] - mean, x[k] - mean, square);
  }
  const T scale = 1 / std::sqrt(square / count + static_cast<T>(kNormEpsilon));
  for (int64_t k = 0; k < width; ++k) {
    normalized[k] = (x[k] - mean) * scale;
    output[k] = normalized[k] * weight[k];
  }
  if (norm == Norm::kLayer) {
    for (int64_t k = 0; k < width; ++k) output[k] += weight[width + k];
  }
  return scale;
}

template <typename T>
void NormRowBackward(Norm norm, const T* normalized, T scale, const T* weight,
                     const T* d_output, int64_t width, T* d_x) {
  const T count = static_cast<T>(width);
  T mean = 0;
  T along = 0;
  for (int64_t k = 0; k < width; ++k) {
    const T g = d_output[k] * weight[k];
    mean += g;
    along = std::fma(g, normalized[k], along);
  }
  mean = norm == Norm::kLayer ? mean / count : 0;
  along /= count;
  for (int64_t k = 0; k < width; ++k) {
    d_x[k] = scale * (d_output[k] * weight[k] - mean - normalized[k] * along);
  }
}

template float NormRow(Norm, const float*, const float*, int64_t, float*,
                       float*);
template double NormRow(Norm, const double*, const double*, int64_t, double*,
                        double*);
template void NormRowBackward(Norm, const float*, float, const float*,
                              const float*, int64_t, float*);
template void NormRowBackward(Norm, const double*, double, const double*,
                              const double*, int64_t, double*);

}  // namespace softlookup
