// Blocking: a backend for tests of layouts, with known costs.
#ifndef ENCORE_BACKENDS_CONFORMANCE_BLOCKING_BACKEND_H_
#define ENCORE_BACKENDS_CONFORMANCE_BLOCKING_BACKEND_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/conformance/wrapped_backend.h"
#include "encore/backends/region/layout.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"
#include "gtest/gtest.h"

namespace encore::backends {

// Another backend, whose kernels take a second, a tenth of that where all is in
// blocks of the channels, and half of it where they only copy.
class Blocking : public WrappedBackend {
 public:
  Blocking(const Backend& inner, int64_t block)
      : WrappedBackend(inner), block_(block) {}

  std::vector<Candidate> Candidates(
      const KernelRequest& request,
      const CompileOptions& options) const override {
    std::vector<Candidate> candidates = inner().Candidates(request, options);
    const Region& region = *request.region;
    const auto layouts = [this](const std::vector<Operand>& operands) {
      std::vector<Layout> list;
      for (const Operand& operand : operands) {
        list.emplace_back();
        if (operand.dims.size() == 4) list.back().blocks = {{1, block_}};
      }
      return list;
    };
    Candidate blocked = candidates[0];
    blocked.seconds = 0.1;
    blocked.inputs = layouts(region.inputs);
    blocked.outputs = layouts(region.outputs);
    const bool is_blocked = std::ranges::equal(region.inputs, blocked.inputs,
                                               {}, &Operand::layout) &&
                            std::ranges::equal(region.outputs, blocked.outputs,
                                               {}, &Operand::layout);
    const bool copies = region.exprs.size() == 1;
    for (Candidate& candidate : candidates) {
      candidate.seconds = copies ? 0.5 : is_blocked ? 0.1 : 1;
    }
    if (!is_blocked && !copies) candidates.push_back(std::move(blocked));
    return candidates;
  }

  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions& options,
                                   ArtifactStore* store) const override {
    for (const CompileRequest& request : requests) {
      EXPECT_TRUE(request.candidate.inputs.empty())
          << "a kernel for a region in another layout";
    }
    return inner().Compile(requests, options, store);
  }

 private:
  int64_t block_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_BLOCKING_BACKEND_H_
