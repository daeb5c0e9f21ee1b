#include "model/ablation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/tensor/shape.h"
#include "base/tensor/strided_view.h"

namespace softlookup {
namespace {

template <typename T>
void Assign(T& to, const T& from) {
  to = from;
}

// One head of hook_z, [B, T, D].
template <typename T>
StridedView<T> OneHead(const StridedView<T>& z, int64_t head) {
  const Shape& strides = z.layout().strides;
  return {
      z.data() + head * strides[2],
      {{z.dim(0), z.dim(1), z.dim(3)}, {strides[0], strides[1], strides[3]}}};
}

// One head of hook_pattern, [B, T, T].
template <typename T>
StridedView<T> OneHeadPattern(const StridedView<T>& pattern, int64_t head) {
  return OneHead(pattern.Transpose(1, 2), head);
}

template <typename T>
void Put(const Tensor<T>& from, const StridedView<T>& to) {
  SOFTLOOKUP_CHECK(from.shape() == to.shape(),
                   "an activation of the point's shape");
  ForEachElement(Assign<T>, to, from.view());
}

template <typename T>
void ReplaceHead(int64_t layer, int64_t head, Tensor<T> output,
                 Interventions<T>& edits) {
  edits.Add(AttentionPoint(layer, "hook_z"),
            [head, output = std::move(output)](const StridedView<T>& z) {
              Put(output, OneHead(z, head));
            });
}

}  // namespace

std::string AttentionPoint(int64_t layer, const std::string& point) {
  return absl::StrCat("blocks.", layer, ".attn.", point);
}

template <typename T>
void ZeroHead(int64_t layer, int64_t head, Interventions<T>& edits) {
  edits.Add(AttentionPoint(layer, "hook_z"), [head](const StridedView<T>& z) {
    ForEachElement([](T& x) { x = 0; }, OneHead(z, head));
  });
}

template <typename T>
void MeanHead(int64_t layer, int64_t head, const Tensor<T>& z,
              Interventions<T>& edits) {
  Tensor<T> mean({1, z.dim(1), z.dim(3)});
  for (int64_t t = 0; t < z.dim(1); ++t) {
    for (int64_t k = 0; k < z.dim(3); ++k) {
      double sum = 0;
      for (int64_t b = 0; b < z.dim(0); ++b) sum += z(b, t, head, k);
      mean(0, t, k) = static_cast<T>(sum / static_cast<double>(z.dim(0)));
    }
  }
  edits.Add(AttentionPoint(layer, "hook_z"),
            [head, mean = std::move(mean)](const StridedView<T>& whole) {
              for (int64_t b = 0; b < whole.dim(0); ++b) {
                Put(mean, OneHead(whole.Slice(0, b, b + 1), head));
              }
            });
}

template <typename T>
void ResampleHead(int64_t layer, int64_t head, const Tensor<T>& z,
                  Interventions<T>& edits) {
  const int64_t batch = z.dim(0);
  Tensor<T> other({batch, z.dim(1), z.dim(3)});
  const StridedView<const T> output = OneHead(z.view(), head);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t next = (b + 1) % batch;
    ForEachElement(Assign<T>, other.view().Slice(0, b, b + 1),
                   output.Slice(0, next, next + 1));
  }
  ReplaceHead(layer, head, std::move(other), edits);
}

template <typename T>
void FreezePattern(int64_t layer, const Tensor<T>& pattern,
                   Interventions<T>& edits) {
  PatchActivation(AttentionPoint(layer, "hook_pattern"), pattern, edits);
}

template <typename T>
void SubstitutePattern(int64_t layer, int64_t head, const Tensor<T>& pattern,
                       Interventions<T>& edits) {
  edits.Add(AttentionPoint(layer, "hook_pattern"),
            [head, pattern](const StridedView<T>& whole) {
              Put(pattern, OneHeadPattern(whole, head));
            });
}

template <typename T>
void PatchActivation(const std::string& name, const Tensor<T>& activation,
                     Interventions<T>& edits) {
  edits.Add(name, [activation](const StridedView<T>& whole) {
    Put(activation, whole);
  });
}

#define SOFTLOOKUP_INSTANTIATE(T)                                            \
  template void ZeroHead(int64_t, int64_t, Interventions<T>&);               \
  template void MeanHead(int64_t, int64_t, const Tensor<T>&,                 \
                         Interventions<T>&);                                 \
  template void ResampleHead(int64_t, int64_t, const Tensor<T>&,             \
                             Interventions<T>&);                             \
  template void FreezePattern(int64_t, const Tensor<T>&, Interventions<T>&); \
  template void SubstitutePattern(int64_t, int64_t, const Tensor<T>&,        \
                                  Interventions<T>&);                        \
  template void PatchActivation(const std::string&, const Tensor<T>&,        \
                                Interventions<T>&)
SOFTLOOKUP_INSTANTIATE(float);
SOFTLOOKUP_INSTANTIATE(double);

}  // namespace softlookup
