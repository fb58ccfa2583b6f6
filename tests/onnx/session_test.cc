// ONNX's own cases on the real path: imported, compiled for the cpu backend and
// replayed, then recalled from the cache by a second session and replayed
// again. Those with bodies, sequences or optionals also on devices that do
// everything as late as they may.

#include "encore/cache/session/session.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/conformance/late_backends.h"
#include "encore/backends/options.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/tests/onnx/case.h"
#include "encore/tests/skips.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

class OnnxCase : public testing::TestWithParam<std::string> {
 protected:
  OnnxCase() : threads_(1) {
    options_.target = "cpu";
    options_.threads = 1;
  }

  // Runs the case in `folder` twice, the second time from the cache, or skips
  // it where tests/skips.txt lists it under `suite`.
  void Check(const std::string& suite, const std::string& folder,
             double bf16_relative = 1e-3);

  backends::CompileOptions options_;

 private:
  // Runs the case in a new session over the cache of this case alone.
  Status Run(const std::string& folder, cache::FoundIn expected) {
    cache::SessionOptions standard =
        cache::StandardSessionOptions(options_, cache_.string());
    standard.compiler = cache::CompilerOf(backends::BackendsUnderTest());
    cache::Session session(std::move(standard), &threads_);
    return RunCase(
        folder,
        [&](const Graph& graph,
            std::span<const Literal> inputs) -> StatusOr<std::vector<Literal>> {
          ENCORE_ASSIGN_OR_RETURN(const auto loaded, session.Load(graph));
          // Several data sets of one form are one entry.
          if (loaded->found_in() != expected &&
              loaded->found_in() != cache::FoundIn::kMemory) {
            return FailedPreconditionError(
                expected == cache::FoundIn::kDisk
                    ? "compiled again: the cache did not hit"
                    : "found in the cache before it was compiled");
          }
          return loaded->Run(inputs);
        },
        bf16_relative_);
  }

  const std::filesystem::path cache_ =
      std::filesystem::path(std::getenv("TEST_TMPDIR")) / "cache";
  double bf16_relative_ = 0;
  runtime::ThreadPool threads_;
};

void OnnxCase::Check(const std::string& suite, const std::string& folder,
                     double bf16_relative) {
  bf16_relative_ = bf16_relative;
  const std::map<std::string, std::string> skips = ReadSkips(suite);
  std::filesystem::remove_all(cache_);
  Status status = Run(folder, cache::FoundIn::kCompiled);
  if (status.ok()) {
    status = Annotate(Run(folder, cache::FoundIn::kDisk), "from the cache");
  }
  const auto skip = skips.find(GetParam());
  if (skip == skips.end()) {
    EXPECT_TRUE(status.ok()) << status;
    return;
  }
  ASSERT_FALSE(status.ok()) << "passes now: take it out of tests/skips.txt";
  GTEST_SKIP() << skip->second;
}

class DebianCase : public OnnxCase {};
class NewestCase : public OnnxCase {};

TEST_P(DebianCase, ReplaysToTheExpectedOutputs) {
  Check("onnx", StrCat(kDebianRoot, "/", GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Debian, DebianCase,
                         testing::ValuesIn(FindCases(kDebianRoot)),
                         CaseTestName);

TEST_P(NewestCase, ReplaysToTheExpectedOutputs) {
  Check("onnx-1.23", StrCat(NewestRoot(), "/", GetParam()),
        kNewestBf16Relative);
}

INSTANTIATE_TEST_SUITE_P(Newest, NewestCase,
                         testing::ValuesIn(FindCases(NewestRoot())),
                         CaseTestName);

// Whether the model in `folder`, or a function or body in it, has nodes with
// bodies, or on sequences or optionals: by the bytes of NodeProto::op_type.
bool IsOfInterest(const std::string& folder) {
  std::ifstream file(folder + "/model.onnx", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view kOperators[] = {
      "If", "Loop", "Scan", "SplitToSequence", "ConcatFromSequence"};
  constexpr std::string_view kFamilies[] = {"Sequence", "Optional"};
  const auto has = [&](const std::string& text) {
    return bytes.find(text) != std::string::npos;
  };
  return std::ranges::any_of(
             kOperators,
             [&](std::string_view name) {
               return has(StrCat("\x22", std::string(1, name.size()), name));
             }) ||
         std::ranges::any_of(kFamilies, [&](std::string_view name) {
           for (char size = 8; size < 32; ++size) {
             if (has(StrCat("\x22", std::string(1, size), name))) return true;
           }
           return false;
         });
}

std::vector<std::string> CasesOfInterest(const std::string& root) {
  std::vector<std::string> cases = FindCases(root);
  std::erase_if(cases, [&](const std::string& name) {
    return !IsOfInterest(StrCat(root, "/", name));
  });
  return cases;
}

class LateCase : public OnnxCase {
 protected:
  // Ports of one on the host, of the other where they are used.
  void CheckLate(const std::string& suite, const std::string& root,
                 double bf16_relative = 1e-3) {
    using enum backends::Ports;
    for (const auto& [target, ports] :
         {std::pair("late_cpu", kHost), std::pair("late_ref", kDevice)}) {
      SCOPED_TRACE(target);
      options_.target = target;
      options_.ports = ports;
      Check(suite, StrCat(root, "/", GetParam()), bf16_relative);
    }
  }
};
class LateDebianCase : public LateCase {};
class LateNewestCase : public LateCase {};

TEST_P(LateDebianCase, ReplaysToTheExpectedOutputs) {
  CheckLate("onnx", kDebianRoot);
}

INSTANTIATE_TEST_SUITE_P(Debian, LateDebianCase,
                         testing::ValuesIn(CasesOfInterest(kDebianRoot)),
                         CaseTestName);

TEST_P(LateNewestCase, ReplaysToTheExpectedOutputs) {
  CheckLate("onnx-1.23", NewestRoot(), kNewestBf16Relative);
}

INSTANTIATE_TEST_SUITE_P(Newest, LateNewestCase,
                         testing::ValuesIn(CasesOfInterest(NewestRoot())),
                         CaseTestName);

TEST(NewestCases, AreInstalled) {
  EXPECT_EQ(FindCases(NewestRoot()).size(), 1884u);
}

}  // namespace
}  // namespace encore::tests
