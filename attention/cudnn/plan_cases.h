// Problems that cuDNN should have a plan for: a small set in which any two
// choices meet, and the large one that it is drawn from.
//
//   for (const CudnnProblem& problem : PairwiseProblems()) ...
//
// Choices: {forward, backward, deterministic backward}; {bfloat16, float16};
// masks {none, top-left, bottom-right, key lengths, key lengths and top-left,
// bias, bias and top-left, bias and key lengths}; D in {8, 64, 72, 128, 256};
// T in {17, 64, 65, 500, 512, 8192}; Tq in {Tk, half of it, 1}; heads {4 over
// 4, 4 over 2, 4 over 1}; rows by head or interleaved as [B, T, H, D].
#ifndef SOFTLOOKUP_ATTENTION_CUDNN_PLAN_CASES_H_
#define SOFTLOOKUP_ATTENTION_CUDNN_PLAN_CASES_H_

#include <vector>

#include "attention/cudnn/cudnn_problem.h"

namespace softlookup::cudnn {

// At most 100 problems, any two choices of which CheckCudnnProblem accepts
// together in at least one of them.
std::vector<CudnnProblem> PairwiseProblems();

// Every choice of pass, type, mask, width and length, the other choices taking
// turns.
std::vector<CudnnProblem> AllProblems();

}  // namespace softlookup::cudnn

#endif  // SOFTLOOKUP_ATTENTION_CUDNN_PLAN_CASES_H_
