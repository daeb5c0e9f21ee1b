// A tensor as a file holds it: a name, an element type, a shape and bytes;
// and the way between that and Tensor<T>.
//
//   StoredTensor stored = StoreTensor("query", std::move(query));   // no copy
//   SOFTLOOKUP_ASSIGN_OR_RETURN(Tensor<double> query,
//                               LoadTensor<double>(stored));
//
// A StoredTensor shares its bytes, which never change, with whatever holds
// them (a file that was read, a tensor that was moved in): copying it is
// cheap, and it may outlive them.
#ifndef SOFTLOOKUP_BASE_TENSOR_STORED_TENSOR_H_
#define SOFTLOOKUP_BASE_TENSOR_STORED_TENSOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/tensor/dtype.h"
#include "base/tensor/shape.h"
#include "base/tensor/tensor.h"

namespace softlookup {

struct StoredTensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  Shape shape;
  // Elements in row-major order, little-endian, TensorBytes(dtype, shape) of
  // them, at any alignment.
  absl::string_view bytes;
  std::shared_ptr<const void> owner;  // of the bytes
};

// Takes the elements over: double as F64, float as F32, int64_t as I64,
// int32_t as I32, uint8_t as U8.
template <typename T>
StoredTensor StoreTensor(std::string name, Tensor<T> tensor);

// A mask, BOOL: the elements must be 0 or 1.
StoredTensor StoreMask(std::string name, Tensor<uint8_t> mask);

// Any element type, from bytes as described above.
StoredTensor StoreBytes(std::string name, Dtype dtype, Shape shape,
                        std::string bytes);

// The elements as T. InvalidArgument, naming the tensor and what is allowed,
// for another element type than
//   double    F64, F32, F16, BF16, all exact
//   float     the same; an F64 is rounded to nearest, a finite one to finite
//   int64_t   I64, I32, I16, I8, U64 (up to 2^63 - 1), U32, U16, U8
//   uint8_t   U8, BOOL (0 or 1)
// and for an element that T does not hold, naming its place.
template <typename T>
absl::StatusOr<Tensor<T>> LoadTensor(const StoredTensor& stored);

// A tensor's name for a message: quoted, on one line, cut when very long.
std::string QuotedName(absl::string_view name);

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_TENSOR_STORED_TENSOR_H_
