#include "base/tensor/stored_tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/tensor/half.h"

namespace softlookup {
namespace {

static_assert(std::endian::native == std::endian::little,
              "stored tensors are little-endian and are copied as they are");

template <typename T>
constexpr Dtype kDtypeOf = Dtype::kF64;
template <>
constexpr Dtype kDtypeOf<float> = Dtype::kF32;
template <>
constexpr Dtype kDtypeOf<int64_t> = Dtype::kI64;
template <>
constexpr Dtype kDtypeOf<int32_t> = Dtype::kI32;
template <>
constexpr Dtype kDtypeOf<uint8_t> = Dtype::kU8;

template <typename T>
StoredTensor Store(std::string name, Dtype dtype, Tensor<T> tensor) {
  auto owner = std::make_shared<const Tensor<T>>(std::move(tensor));
  StoredTensor stored;
  stored.name = std::move(name);
  stored.dtype = dtype;
  stored.shape = owner->shape();
  stored.bytes =
      absl::string_view(reinterpret_cast<const char*>(owner->data()),
                        static_cast<size_t>(owner->size()) * sizeof(T));
  stored.owner = std::move(owner);
  return stored;
}

// The elements of type `Stored`, each passed through `convert`.
template <typename T, typename Stored, typename Convert>
Tensor<T> Elements(const StoredTensor& stored, const Convert& convert) {
  Tensor<T> tensor(stored.shape);
  const char* bytes = stored.bytes.data();
  for (int64_t n = 0; n < tensor.size(); ++n, bytes += sizeof(Stored)) {
    Stored element;
    std::memcpy(&element, bytes, sizeof(element));
    tensor[n] = convert(element);
  }
  return tensor;
}

template <typename T, typename Stored>
Tensor<T> Elements(const StoredTensor& stored) {
  return Elements<T, Stored>(
      stored, [](Stored element) { return static_cast<T>(element); });
}

// The elements when they are stored as T already.
template <typename T>
Tensor<T> SameElements(const StoredTensor& stored) {
  Tensor<T> tensor(stored.shape);
  if (tensor.size() > 0) {
    std::memcpy(tensor.data(), stored.bytes.data(), stored.bytes.size());
  }
  return tensor;
}

absl::Status WrongDtype(const StoredTensor& stored, absl::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", QuotedName(stored.name), " has dtype ",
                   DtypeName(stored.dtype), "; allowed: ", allowed));
}

absl::Status WrongElement(const StoredTensor& stored, int64_t place,
                          const absl::AlphaNum& element,
                          absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(
      "tensor ", QuotedName(stored.name), " has ", element, " at element ",
      place, "; allowed in ", DtypeName(stored.dtype), ": ", allowed));
}

// Rounds, but not to infinity: a finite value that becomes infinite would mean
// something else (a bias of -infinity masks).
absl::StatusOr<Tensor<float>> RoundToFloat(const StoredTensor& stored) {
  SOFTLOOKUP_ASSIGN_OR_RETURN(const Tensor<double> exact,
                              LoadTensor<double>(stored));
  Tensor<float> rounded(stored.shape);
  for (int64_t n = 0; n < exact.size(); ++n) {
    rounded[n] = static_cast<float>(exact[n]);
    if (std::isinf(rounded[n]) && !std::isinf(exact[n])) {
      return WrongElement(stored, n, exact[n],
                          "what is finite as a float, up to 3.4028235e38");
    }
  }
  return rounded;
}

template <typename T>
absl::StatusOr<Tensor<T>> LoadFloating(const StoredTensor& stored) {
  switch (stored.dtype) {
    case Dtype::kF64:
      if constexpr (std::is_same_v<T, float>) return RoundToFloat(stored);
      return SameElements<T>(stored);
    case Dtype::kF32:
      if constexpr (std::is_same_v<T, float>) return SameElements<T>(stored);
      return Elements<T, float>(stored);
    case Dtype::kF16:
      return Elements<T, uint16_t>(stored, FloatFromHalf);
    case Dtype::kBF16:
      return Elements<T, uint16_t>(stored, FloatFromBFloat16);
    default:
      return WrongDtype(stored, "F64, F32, F16, BF16");
  }
}

absl::StatusOr<Tensor<int64_t>> LoadIntegers(const StoredTensor& stored) {
  switch (stored.dtype) {
    case Dtype::kI64:
      return SameElements<int64_t>(stored);
    case Dtype::kI32:
      return Elements<int64_t, int32_t>(stored);
    case Dtype::kI16:
      return Elements<int64_t, int16_t>(stored);
    case Dtype::kI8:
      return Elements<int64_t, int8_t>(stored);
    case Dtype::kU32:
      return Elements<int64_t, uint32_t>(stored);
    case Dtype::kU16:
      return Elements<int64_t, uint16_t>(stored);
    case Dtype::kU8:
      return Elements<int64_t, uint8_t>(stored);
    case Dtype::kU64: {
      Tensor<int64_t> integers = SameElements<int64_t>(stored);
      for (int64_t n = 0; n < integers.size(); ++n) {
        if (integers[n] < 0) {
          return WrongElement(stored, n, static_cast<uint64_t>(integers[n]),
                              "0 to 9223372036854775807");
        }
      }
      return integers;
    }
    default:
      return WrongDtype(stored, "I64, I32, I16, I8, U64, U32, U16, U8");
  }
}

absl::StatusOr<Tensor<uint8_t>> LoadBytes(const StoredTensor& stored) {
  if (stored.dtype != Dtype::kU8 && stored.dtype != Dtype::kBool) {
    return WrongDtype(stored, "BOOL, U8");
  }
  Tensor<uint8_t> bytes = SameElements<uint8_t>(stored);
  if (stored.dtype == Dtype::kBool) {
    for (int64_t n = 0; n < bytes.size(); ++n) {
      if (bytes[n] > 1) return WrongElement(stored, n, bytes[n], "0, 1");
    }
  }
  return bytes;
}

}  // namespace

template <typename T>
StoredTensor StoreTensor(std::string name, Tensor<T> tensor) {
  return Store(std::move(name), kDtypeOf<T>, std::move(tensor));
}
template StoredTensor StoreTensor(std::string, Tensor<double>);
template StoredTensor StoreTensor(std::string, Tensor<float>);
template StoredTensor StoreTensor(std::string, Tensor<int64_t>);
template StoredTensor StoreTensor(std::string, Tensor<int32_t>);
template StoredTensor StoreTensor(std::string, Tensor<uint8_t>);

StoredTensor StoreMask(std::string name, Tensor<uint8_t> mask) {
  for (const uint8_t element : mask.elements()) {
    SOFTLOOKUP_CHECK(element <= 1, "a mask holds 0 and 1");
  }
  return Store(std::move(name), Dtype::kBool, std::move(mask));
}

StoredTensor StoreBytes(std::string name, Dtype dtype, Shape shape,
                        std::string bytes) {
  SOFTLOOKUP_CHECK(
      TensorBytes(dtype, shape) == static_cast<int64_t>(bytes.size()),
      "as many bytes as the shape needs");
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {std::move(name), dtype, std::move(shape), *owner, owner};
}

template <typename T>
absl::StatusOr<Tensor<T>> LoadTensor(const StoredTensor& stored) {
  if constexpr (std::is_floating_point_v<T>) {
    return LoadFloating<T>(stored);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return LoadIntegers(stored);
  } else {
    return LoadBytes(stored);
  }
}
template absl::StatusOr<Tensor<double>> LoadTensor(const StoredTensor&);
template absl::StatusOr<Tensor<float>> LoadTensor(const StoredTensor&);
template absl::StatusOr<Tensor<int64_t>> LoadTensor(const StoredTensor&);
template absl::StatusOr<Tensor<uint8_t>> LoadTensor(const StoredTensor&);

std::string QuotedName(absl::string_view name) {
  constexpr size_t kLongest = 80;
  size_t end = name.size();
  if (end > kLongest) {
    end = kLongest;
    // Not in the middle of a UTF-8 character.
    while (end > 0 && (name[end] & 0xc0) == 0x80) --end;
  }
  return absl::StrCat("\"", absl::Utf8SafeCEscape(name.substr(0, end)),
                      end < name.size() ? "..." : "", "\"");
}

}  // namespace softlookup
