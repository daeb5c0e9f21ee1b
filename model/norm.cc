#include "model/norm.h"

#include <cmath>

#include "model/row_reductions.h"

namespace softlookup {

template <typename T>
T NormRow(Norm norm, const T* x, const T* weight, int64_t width, T* normalized,
          T* output) {
  const T count = static_cast<T>(width);
  T mean = 0;
  if (norm == Norm::kLayer) {
    mean = RowSum<T>(width, [x](int64_t k) { return x[k]; }) / count;
  }
  const T square = RowSum<T>(
      width, [x, mean](int64_t k) { return (x[k] - mean) * (x[k] - mean); });
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
  const auto g = [=](int64_t k) { return d_output[k] * weight[k]; };
  const T mean = norm == Norm::kLayer ? RowSum<T>(width, g) / count : 0;
  const T along =
      RowSum<T>(width, [=](int64_t k) { return g(k) * normalized[k]; }) / count;
  for (int64_t k = 0; k < width; ++k) {
    d_x[k] = scale * (g(k) - mean - normalized[k] * along);
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
