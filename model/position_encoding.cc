#include "model/position_encoding.h"

#include "base/elementary.h"

namespace softlookup {

template <typename T>
Tensor<T> RotationTable(int64_t context, int64_t width) {
  Tensor<T> table({context, width});
  const int64_t half = width / 2;
  for (int64_t position = 0; position < context; ++position) {
    for (int64_t k = 0; k < half; ++k) {
      const double exponent =
          -2 * static_cast<double>(k) / static_cast<double>(width);
      const double angle =
          static_cast<double>(position) * Pow(10000.0, exponent);
      table(position, k) = static_cast<T>(Cos(angle));
      table(position, half + k) = static_cast<T>(Sin(angle));
    }
  }
  return table;
}

template <typename T>
void Rotate(const T* turn, int64_t width, bool backwards, T* vector) {
  const int64_t half = width / 2;
  for (int64_t k = 0; k < half; ++k) {
    const T cosine = turn[k];
    const T sine = backwards ? -turn[half + k] : turn[half + k];
    const T x = vector[k];
    const T y = vector[half + k];
    vector[k] = x * cosine - y * sine;
    vector[half + k] = x * sine + y * cosine;
  }
}

template <typename T>
Tensor<T> AlibiBias(int64_t heads, int64_t context) {
  Tensor<T> bias({1, heads, context, context});
  for (int64_t h = 0; h < heads; ++h) {
    const double slope =
        Pow(2.0, -8 * static_cast<double>(h + 1) / static_cast<double>(heads));
    for (int64_t i = 0; i < context; ++i) {
      for (int64_t j = 0; j < context; ++j) {
        bias(0, h, i, j) = static_cast<T>(-slope * static_cast<double>(i - j));
      }
    }
  }
  return bias;
}

template Tensor<float> RotationTable(int64_t, int64_t);
template Tensor<double> RotationTable(int64_t, int64_t);
template void Rotate(const float*, int64_t, bool, float*);
template void Rotate(const double*, int64_t, bool, double*);
template Tensor<float> AlibiBias(int64_t, int64_t);
template Tensor<double> AlibiBias(int64_t, int64_t);

}  // namespace softlookup
