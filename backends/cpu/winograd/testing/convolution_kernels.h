// Winograd's kernels in tests: candidates of convolutions in a graph's text,
// what they compute, and how far that is from bounds and from exact sums.
#ifndef ENCORE_BACKENDS_CPU_WINOGRAD_TESTING_CONVOLUTION_KERNELS_H_
#define ENCORE_BACKENDS_CPU_WINOGRAD_TESTING_CONVOLUTION_KERNELS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/conformance/fast_convolution.h"
#include "encore/backends/cpu/winograd/schedule.h"
#include "encore/backends/region/build.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/types/literal.h"

namespace encore::backends::cpu {

inline const std::string kWinogradKernels[] = {WinogradName{2, 2}.ToString(),
                                               WinogradName{4, 2}.ToString()};

// The outputs of a tile in one dim; 0 for other kernels.
int OutputsOf(std::string_view kernel);

// The region of a graph, with arguments for its inputs.
struct Problem {
  Graph graph;
  std::vector<Literal> arguments;
  BuiltRegion built;
  KernelRequest request;
  std::vector<Literal> inputs;

  // Of random f32 data in [-1, 1).
  explicit Problem(const std::string& text, uint64_t seed = 1);
  Problem(const Problem&) = delete;
};

// Of a machine that is always the same, for two threads.
std::vector<Candidate> CandidatesFor(const std::string& text,
                                     Rewrites rewrites);
// How many of them are Winograd's.
int WinogradCandidates(const std::string& text, Rewrites rewrites);

Literal Launch(const Problem& problem, std::string_view kernel);

// Of windows of three in both dims, and in one.
FastConvolution LossOf(int outputs);
FastConvolution LossInOneDim(int outputs);
// That both kernels are within the bounds of the convolution in `text`.
void ExpectWithinBounds(const std::string& text, uint64_t seed,
                        FastConvolution loss_of(int) = LossOf);

// Root of the mean square, and the largest.
struct Errors {
  double rms = 0, largest = 0;
};
Errors ErrorsOf(const Literal& actual, const std::vector<double>& exact);

// As data that convolutions read mostly are.
void Rectify(Literal* literal);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_WINOGRAD_TESTING_CONVOLUTION_KERNELS_H_
