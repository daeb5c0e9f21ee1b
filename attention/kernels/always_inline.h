// SOFTLOOKUP_INLINE: a function that must not exist on its own.
//
// Kernels are compiled several times, each time for another instruction set.
// A shared inline function that the compiler chose not to inline would be
// merged by the linker into one copy, possibly with instructions that the
// processor lacks; functions that are always inlined cannot be merged.
#ifndef SOFTLOOKUP_ATTENTION_KERNELS_ALWAYS_INLINE_H_
#define SOFTLOOKUP_ATTENTION_KERNELS_ALWAYS_INLINE_H_

#define SOFTLOOKUP_INLINE inline __attribute__((always_inline))

#endif  // SOFTLOOKUP_ATTENTION_KERNELS_ALWAYS_INLINE_H_
