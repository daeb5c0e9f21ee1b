// The elementary functions that exist over arrays; see array_functions.h.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_FUNCTION_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_FUNCTION_H_

namespace softlookup::kernels {

enum class ArrayFunction {
  kExp,
  kLog,  // natural
  kTanh,
  kSin,
  kCos,
  kErf,
  kSigmoid,    // 1 / (1 + exp(-x))
  kRelu,       // x where x > 0, else 0; NaN for NaN
  kGelu,       // x Phi(x), Phi the standard normal distribution function
  kGeluSlope,  // its derivative, Phi(x) + x phi(x)
};

}  // namespace softlookup::kernels

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ARRAY_FUNCTION_H_
