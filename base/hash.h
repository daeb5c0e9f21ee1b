// Fowler, Noll and Vo's 64-bit FNV-1a, over bytes and over the bits of
// numbers: one number that pins a whole result.
//
//   BitHash hash;
//   hash.Add<float>(weights.elements());
//   EXPECT_EQ(hash.value(), 0x1c3f...);
#ifndef SOFTLOOKUP_BASE_HASH_H_
#define SOFTLOOKUP_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace softlookup {

class BitHash {
 public:
  void AddBytes(absl::string_view bytes) {
    for (const char byte : bytes) {
      hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
  }

  // The bytes of each number in turn; every NaN counts as the same.
  template <typename T>
  void Add(absl::Span<const T> numbers) {
    for (T number : numbers) {
      if constexpr (std::is_floating_point_v<T>) {
        if (number != number) number = std::numeric_limits<T>::quiet_NaN();
      }
      AddBytes({reinterpret_cast<const char*>(&number), sizeof(number)});
    }
  }

  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_BASE_HASH_H_
