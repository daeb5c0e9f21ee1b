#include "attention/cudnn/plan_cases.h"

#include <array>
#include <cstdint>
#include <set>
#include <utility>

namespace softlookup::cudnn {
namespace {

enum Axis { kPass, kType, kMask, kWidth, kLength, kQueries, kHeads, kLayout };
constexpr int kAxes = 8;
constexpr std::array<int, kAxes> kChoices = {3, 2, 8, 5, 6, 3, 3, 2};
constexpr std::array<int64_t, 5> kWidths = {8, 64, 72, 128, 256};
constexpr std::array<int64_t, 6> kLengths = {17, 64, 65, 500, 512, 8192};

using Choice = std::array<int, kAxes>;

CudnnProblem ProblemOf(const Choice& choice) {
  AttentionSizes sizes;
  sizes.batch = 2;
  sizes.query_heads = 4;
  sizes.key_heads = 4 >> choice[kHeads];
  sizes.keys = kLengths[choice[kLength]];
  sizes.queries = choice[kQueries] == 0   ? sizes.keys
                  : choice[kQueries] == 1 ? sizes.keys / 2
                                          : 1;
  sizes.width = kWidths[choice[kWidth]];
  sizes.value_width = sizes.width;
  CudnnProblem problem =
      ContiguousProblem(sizes, choice[kType] == 0 ? Dtype::kBF16 : Dtype::kF16,
                        choice[kPass] != 0);
  problem.deterministic = choice[kPass] == 2;
  const int mask = choice[kMask];
  if (mask == 1 || mask == 4 || mask == 6) {
    problem.causal = CausalAlignment::kTopLeft;
  }
  if (mask == 2) problem.causal = CausalAlignment::kBottomRight;
  problem.key_lengths = mask == 3 || mask == 4 || mask == 7;
  if (mask >= 5) {
    problem.bias = Shape{choice[kLayout] == 0 ? 1 : sizes.batch,
                         sizes.query_heads, sizes.queries, sizes.keys};
  }
  if (choice[kLayout] == 1) {
    const auto interleaved = [](int64_t heads, int64_t positions,
                                int64_t width) -> Shape {
      return {positions * heads * width, width, heads * width, 1};
    };
    problem.query_strides =
        interleaved(sizes.query_heads, sizes.queries, sizes.width);
    problem.key_strides = interleaved(sizes.key_heads, sizes.keys, sizes.width);
    problem.value_strides =
        interleaved(sizes.key_heads, sizes.keys, sizes.value_width);
  }
  return problem;
}

// Every choice that our own checks accept.
std::vector<Choice> AcceptedChoices() {
  std::vector<Choice> choices;
  Choice choice = {};
  for (int axis = 0; axis < kAxes;) {
    if (CheckCudnnProblem(ProblemOf(choice)).ok()) choices.push_back(choice);
    for (axis = 0; axis < kAxes; ++axis) {
      if (++choice[axis] < kChoices[axis]) break;
      choice[axis] = 0;
    }
  }
  return choices;
}

// A number for "axis a has choice[a] and axis b has choice[b]".
int PairOf(const Choice& choice, int a, int b) {
  return ((a * 16 + choice[a]) * kAxes + b) * 16 + choice[b];
}

template <typename Function>
void ForEachPair(const Choice& choice, const Function& function) {
  for (int a = 0; a < kAxes; ++a) {
    for (int b = a + 1; b < kAxes; ++b) function(PairOf(choice, a, b));
  }
}

}  // namespace

// Greedy: the next problem is the first that has the most pairs that no
// problem before it has.
std::vector<CudnnProblem> PairwiseProblems() {
  const std::vector<Choice> choices = AcceptedChoices();
  std::vector<char> open(kAxes * 16 * kAxes * 16, 0);
  int left = 0;
  for (const Choice& choice : choices) {
    ForEachPair(choice, [&](int pair) {
      left += open[pair] == 0;
      open[pair] = 1;
    });
  }
  std::vector<CudnnProblem> problems;
  while (left > 0) {
    const Choice* best = nullptr;
    int most = 0;
    for (const Choice& choice : choices) {
      int count = 0;
      ForEachPair(choice, [&](int pair) { count += open[pair]; });
      if (count > most) {
        most = count;
        best = &choice;
      }
    }
    ForEachPair(*best, [&](int pair) { open[pair] = 0; });
    left -= most;
    problems.push_back(ProblemOf(*best));
  }
  return problems;
}

std::vector<CudnnProblem> AllProblems() {
  std::vector<CudnnProblem> problems;
  std::set<std::array<int, kLength + 1>> seen;
  const std::vector<Choice> choices = AcceptedChoices();
  for (const Choice& choice : choices) {
    const std::array<int, kLength + 1> head = {choice[0], choice[1], choice[2],
                                               choice[3], choice[4]};
    // The other axes by turns, so that all of them are seen.
    const int turn = static_cast<int>(seen.size());
    Choice turned = choice;
    turned[kQueries] = turn % kChoices[kQueries];
    turned[kHeads] = turn / 3 % kChoices[kHeads];
    turned[kLayout] = turn % kChoices[kLayout];
    const CudnnProblem problem = ProblemOf(turned);
    if (!seen.insert(head).second) continue;
    problems.push_back(CheckCudnnProblem(problem).ok() ? problem
                                                       : ProblemOf(choice));
  }
  return problems;
}

}  // namespace softlookup::cudnn
