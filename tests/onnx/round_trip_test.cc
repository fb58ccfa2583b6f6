// The round-trip laws on every graph that ONNX's cases give.
#include "encore/ir/testing/round_trip.h"

#include <string>

#include "encore/ir/import/import.h"
#include "encore/tests/onnx/case.h"
#include "gtest/gtest.h"

namespace encore::tests {
namespace {

constexpr char kRoot[] = "/usr/share/libonnx-testdata/data";

TEST(OnnxCases, KeepTheRoundTripLaws) {
  int count = 0;
  for (const std::string& name : FindCases(kRoot)) {
    const auto graph =
        ImportFile(std::string(kRoot) + "/" + name + "/model.onnx", {});
    // What does not import, or not without its inputs' values, other tests see.
    if (!graph.ok()) continue;
    ++count;
    EXPECT_EQ(BrokenLaw(*graph), std::nullopt) << name;
  }
  EXPECT_GE(count, 600);
}

}  // namespace
}  // namespace encore::tests
