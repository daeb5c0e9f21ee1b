#include "model/norm.h"

#include <cmath>
#include <cstdint>

#include "model/row_reductions.h"

namespace softlookup {
namespace {

// One row of `width` elements: writes xhat and y, returns s.
template <typename T>
T NormRow(NormalizationType type, const T* x, const T* weight, int64_t width,
          T* normalized, T* output) {
  const T count = static_cast<T>(width);
  T mean = 0;
  if (type == NormalizationType::kLn) {
    mean = RowSum<T>(width, [x](int64_t k) { return x[k]; }) / count;
  }
  const T square = RowSum<T>(
      width, [x, mean](int64_t k) { return (x[k] - mean) * (x[k] - mean); });
  const T scale = 1 / std::sqrt(square / count + static_cast<T>(kNormEpsilon));
  for (int64_t k = 0; k < width; ++k) {
    normalized[k] = (x[k] - mean) * scale;
    output[k] = normalized[k] * weight[k];
  }
  if (type == NormalizationType::kLn) {
    for (int64_t k = 0; k < width; ++k) output[k] += weight[width + k];
  }
  return scale;
}

// The row's dL/dx in place of its dL/dy.
template <typename T>
void NormRowBackward(NormalizationType type, const T* normalized, T scale,
                     const T* weight, int64_t width, T* d) {
  const T count = static_cast<T>(width);
  const auto g = [=](int64_t k) { return d[k] * weight[k]; };
  const T mean =
      type == NormalizationType::kLn ? RowSum<T>(width, g) / count : 0;
  const T along =
      RowSum<T>(width, [=](int64_t k) { return g(k) * normalized[k]; }) / count;
  for (int64_t k = 0; k < width; ++k) {
    d[k] = scale * (g(k) - mean - normalized[k] * along);
  }
}

}  // namespace

template <typename T>
void NormForward(const Engine<T>& engine, NormalizationType type,
                 const Tensor<T>& x, const T* weight,
                 NormActivations<T>& norm) {
  const int64_t rows = x.dim(0);
  const int64_t width = x.dim(1);
  Resize(norm.normalized, x.shape());
  Resize(norm.output, x.shape());
  Resize(norm.scale, {rows});
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      norm.scale[row] = NormRow(type, &x(row, 0), weight, width,
                                &norm.normalized(row, 0), &norm.output(row, 0));
    }
  });
}

template <typename T>
void NormBackward(const Engine<T>& engine, NormalizationType type,
                  const NormActivations<T>& norm, const T* weight,
                  Tensor<T>& d_output, Tensor<T>& d_x, T* d_weight) {
  const int64_t rows = d_x.dim(0);
  const int64_t width = d_x.dim(1);
  const T* const from = &d_output[0];
  const T* const normalized = &norm.normalized[0];
  engine.ForColumns(width, [&](int64_t begin, int64_t end) {
    AddColumnSums(
        rows, begin, end,
        [=](int64_t row, int64_t k) {
          return from[row * width + k] * normalized[row * width + k];
        },
        d_weight);
    if (type != NormalizationType::kLn) return;
    AddColumnSums(
        rows, begin, end,
        [=](int64_t row, int64_t k) { return from[row * width + k]; },
        d_weight + width);
  });
  engine.ForRows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* d = &d_output(row, 0);
      NormRowBackward(type, &norm.normalized(row, 0), norm.scale[row], weight,
                      width, d);
      for (int64_t k = 0; k < width; ++k) d_x(row, k) += d[k];
    }
  });
}

template void NormForward(const Engine<float>&, NormalizationType,
                          const Tensor<float>&, const float*,
                          NormActivations<float>&);
template void NormForward(const Engine<double>&, NormalizationType,
                          const Tensor<double>&, const double*,
                          NormActivations<double>&);
template void NormBackward(const Engine<float>&, NormalizationType,
                           const NormActivations<float>&, const float*,
                           Tensor<float>&, Tensor<float>&, float*);
template void NormBackward(const Engine<double>&, NormalizationType,
                           const NormActivations<double>&, const double*,
                           Tensor<double>&, Tensor<double>&, double*);

}  // namespace softlookup
