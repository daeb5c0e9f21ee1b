/* The float32 kernels for other languages: a C interface in a shared library.
 *
 *   bazel build //attention/kernels:libsoftlookup_attention.so
 *
 * All tensors are contiguous: query and output [B, H, Tq, D or Dv], key and
 * value [B, Hkv, Tk, D or Dv], log_sum_exp [B, H, Tq]. Functions return 0, or
 * 1 for a problem that is refused; SoftlookupLastError says why. One call at a
 * time.
 */
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_C_INTERFACE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_C_INTERFACE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct SoftlookupProblem {
  int64_t batch;
  int64_t query_heads;
  int64_t key_heads;
  int64_t queries;
  int64_t keys;
  int64_t width;
  int64_t value_width;
  int32_t causal; /* 0 none, 1 top left, 2 bottom right */
  int32_t threads;
  const char* isa; /* "auto", "portable", "avx2", "avx512" */
};

int32_t SoftlookupForward(const struct SoftlookupProblem* problem,
                          const float* query, const float* key,
                          const float* value, float* output,
                          float* log_sum_exp);

int32_t SoftlookupBackward(const struct SoftlookupProblem* problem,
                           const float* query, const float* key,
                           const float* value, const float* output,
                           const float* log_sum_exp,
                           const float* output_gradient, float* query_gradient,
                           float* key_gradient, float* value_gradient);

/* What was wrong with the last call that returned 1. */
const char* SoftlookupLastError(void);

#ifdef __cplusplus
}
#endif

#endif /* SOFTLOOKUP_ATTENTION_KERNELS_C_INTERFACE_H_ */
