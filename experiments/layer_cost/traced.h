// Numbers that remember how they were computed, and arrays that report how
// many of them are held: what a layer's own code does, counted by running it.
//
// On Traced in place of double it counts every multiplication, addition and
// elementary function, and for each result the longest chain of layer updates
// from the numbers that were marked as sources.
//
//   Trace trace;
//   Tensor<Traced> x = TracedTensor(inputs, &trace, Traced::kSource);
//   Tensor<Traced> h = RecurrentStates(w, x, h0, Nonlinearity::kTanh);
//   trace.multiplications        // T d^2
//   h(T - 1, 0).updates()        // T: each state waits for the one before
//
// A chain grows by one at each call of Update, which a layer applies to what
// it hands to other positions. -1: no source reaches this number.
//
//   WorkingMemory memory;
//   SelfAttention(q, k, v, &memory);
//   memory.peak()                // T^2 numbers held at once
#ifndef SOFTLOOKUP_EXPERIMENTS_LAYER_COST_TRACED_H_
#define SOFTLOOKUP_EXPERIMENTS_LAYER_COST_TRACED_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/elementary.h"
#include "base/tensor/tensor.h"

namespace softlookup {

// What a computation did.
struct Trace {
  int64_t multiplications = 0;  // divisions too
  int64_t additions = 0;        // subtractions too
  int64_t elementary = 0;       // exp, tanh
};

class Traced {
 public:
  static constexpr int64_t kUnreached = -1;
  static constexpr int64_t kSource = 0;

  // A constant: reached by no source, counted where it meets another number.
  Traced(double value = 0) : value_(value) {}  // NOLINT: converts like double
  Traced(double value, Trace* trace, int64_t updates = kUnreached)
      : value_(value), updates_(updates), trace_(trace) {}

  double value() const { return value_; }
  int64_t updates() const { return updates_; }

  friend Traced operator*(const Traced& a, const Traced& b) {
    return a.Combine(b, a.value_ * b.value_, &Trace::multiplications);
  }
  friend Traced operator/(const Traced& a, const Traced& b) {
    return a.Combine(b, a.value_ / b.value_, &Trace::multiplications);
  }
  friend Traced operator+(const Traced& a, const Traced& b) {
    return a.Combine(b, a.value_ + b.value_, &Trace::additions);
  }
  friend Traced operator-(const Traced& a, const Traced& b) {
    return a.Combine(b, a.value_ - b.value_, &Trace::additions);
  }
  Traced& operator+=(const Traced& b) { return *this = *this + b; }
  Traced& operator*=(const Traced& b) { return *this = *this * b; }
  Traced& operator/=(const Traced& b) { return *this = *this / b; }
  friend bool operator>(const Traced& a, const Traced& b) {
    return a.value_ > b.value_;
  }

  friend Traced Exp(const Traced& x) { return x.Elementary(Exp(x.value_)); }
  friend Traced Tanh(const Traced& x) { return x.Elementary(Tanh(x.value_)); }
  friend Traced Update(const Traced& x) {
    Traced next = x;
    if (next.updates_ != kUnreached) ++next.updates_;
    return next;
  }

 private:
  Traced Combine(const Traced& other, double value,
                 int64_t Trace::*count) const {
    Trace* const trace = trace_ != nullptr ? trace_ : other.trace_;
    if (trace != nullptr) ++(trace->*count);
    return Traced(value, trace, std::max(updates_, other.updates_));
  }
  Traced Elementary(double value) const {
    if (trace_ != nullptr) ++trace_->elementary;
    return Traced(value, trace_, updates_);
  }

  double value_ = 0;
  int64_t updates_ = kUnreached;
  Trace* trace_ = nullptr;
};

// Ordinary numbers keep no record.
inline double Update(double x) { return x; }
inline std::complex<double> Update(std::complex<double> x) { return x; }

// A tensor's numbers, recorded in `trace`, at `updates`.
inline Tensor<Traced> TracedTensor(const Tensor<double>& values, Trace* trace,
                                   int64_t updates = Traced::kUnreached) {
  Tensor<Traced> traced(values.shape());
  for (int64_t i = 0; i < values.size(); ++i) {
    traced[i] = Traced(values[i], trace, updates);
  }
  return traced;
}

// How many numbers live in its buffers, now and at most so far.
class WorkingMemory {
 public:
  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }

 private:
  template <typename T>
  friend class Buffer;
  void Add(int64_t count) {
    live_ += count;
    peak_ = std::max(peak_, live_);
  }

  int64_t live_ = 0;
  int64_t peak_ = 0;
};

// An array that reports to a WorkingMemory while it lives.
template <typename T>
class Buffer {
 public:
  Buffer(int64_t size, const T& value, WorkingMemory& memory)
      : memory_(memory), elements_(size, value) {
    memory_.Add(size);
  }
  ~Buffer() { memory_.Add(-static_cast<int64_t>(elements_.size())); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T& operator[](int64_t i) { return elements_[i]; }
  absl::Span<T> Slice(int64_t begin, int64_t size) {
    return absl::MakeSpan(elements_).subspan(begin, size);
  }

 private:
  WorkingMemory& memory_;
  std::vector<T> elements_;
};

}  // namespace softlookup

#endif  // SOFTLOOKUP_EXPERIMENTS_LAYER_COST_TRACED_H_
