// ONNX's own cases on the real path: imported, compiled for the cpu backend and
// replayed, then recalled from the cache by a second session and replayed
// again.

#include "encore/cache/session/session.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

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
  void Check(const std::string& suite, const std::string& folder);

 private:
  // Runs the case in a new session over the cache of this case alone.
  Status Run(const std::string& folder, cache::FoundIn expected) {
    cache::Session session(
        cache::StandardSessionOptions(options_, cache_.string()), &threads_);
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
        });
  }

  const std::filesystem::path cache_ =
      std::filesystem::path(std::getenv("TEST_TMPDIR")) / "cache";
  backends::CompileOptions options_;
  runtime::ThreadPool threads_;
};

void OnnxCase::Check(const std::string& suite, const std::string& folder) {
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
  Check("onnx-1.23", StrCat(NewestRoot(), "/", GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Newest, NewestCase,
                         testing::ValuesIn(FindCases(NewestRoot())),
                         CaseTestName);

TEST(NewestCases, AreInstalled) {
  EXPECT_EQ(FindCases(NewestRoot()).size(), 1884u);
}

}  // namespace
}  // namespace encore::tests
