// Floats that lie against a page that may not be touched: a read or write past
// their end, or before their start, ends the program.
//
//   GuardedArray x(100, GuardedArray::kEndAtGuard);
//   StridedView<float> view(x.data(), Shape{10, 10});
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_GUARDED_ARRAY_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_GUARDED_ARRAY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace softlookup::kernels {

class GuardedArray {
 public:
  enum Side { kStartAtGuard, kEndAtGuard };

  GuardedArray(int64_t size, Side side) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t bytes = static_cast<size_t>(size) * sizeof(float);
    const size_t body = (bytes + page - 1) / page * page;
    length_ = body + 2 * page;
    memory_ = static_cast<char*>(mmap(nullptr, length_, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SOFTLOOKUP_CHECK(memory_ != MAP_FAILED, "memory for a test");
    SOFTLOOKUP_CHECK(mprotect(memory_, page, PROT_NONE) == 0 &&
                         mprotect(memory_ + page + body, page, PROT_NONE) == 0,
                     "pages that cannot be touched");
    char* start = memory_ + page + (side == kEndAtGuard ? body - bytes : 0);
    data_ = reinterpret_cast<float*>(start);
  }
  ~GuardedArray() { munmap(memory_, length_); }
  GuardedArray(const GuardedArray&) = delete;
  GuardedArray& operator=(const GuardedArray&) = delete;

  float* data() const { return data_; }

 private:
  size_t length_;
  char* memory_;
  float* data_;
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_GUARDED_ARRAY_H_
