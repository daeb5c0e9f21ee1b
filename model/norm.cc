#include "model/norm.h"

#include <cmath>

#include "model/row_reductions.h"

namespace softlookup {

template <typename T>
T NormRow(NormalizationType norm, const T* x, const T* weight, int64_t width,
          T* normalized, T* output) {
  const T count = static_cast<T>(width);
  T mean = 0;
  if (norm == NormalizationType::kLn) {
    mean = RowSum<T>(width, [x](int64_t k) { return x[k]; }) / count;
  }
  const T square = RowSum<T>(
      width, [x, mean](int64_t k) { return (x[k] - mean) * (x[k] - mean); });
  const T scale = 1 / std::sqrt(square / count + static_cast<T>(kNormEpsilon));
  for (int64_t k = 0; k < width; ++k) {
    normalized[k] = (x[k] - mean) * scale;
    output[k] = normalized[k] * weight[k];
  }
  if (norm == NormalizationType::kLn) {
    for (int64_t k = 0; k < width; ++k) output[k] += weight[width + k];
  }
  return scale;
}

template <typename T>
void NormRowBackward(NormalizationType norm, const T* normalized, T scale,
                     const T* weight, const T* d_output, int64_t width,
                     T* d_x) {
  const T count = static_cast<T>(width);
  const auto g = [=](int64_t k) { return d_output[k] * weight[k]; };
  const T mean =
      norm == NormalizationType::kLn ? RowSum<T>(width, g) / count : 0;
  const T along =
      RowSum<T>(width, [=](int64_t k) { return g(k) * normalized[k]; }) / count;
  for (int64_t k = 0; k < width; ++k) {
    d_x[k] = scale * (g(k) - mean - normalized[k] * along);
  }
}

template float NormRow(NormalizationType, const float*, const float*, int64_t,
                       float*, float*);
template double NormRow(NormalizationType, const double*, const double*,
                        int64_t, double*, double*);
template void NormRowBackward(NormalizationType, const float*, float,
                              const float*, const float*, int64_t, float*);
template void NormRowBackward(NormalizationType, const double*, double,
                              const double*, const double*, int64_t, double*);

}  // namespace softlookup
