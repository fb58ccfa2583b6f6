// libFuzzer target: reads, checks and runs any bytes as a program, within
// small limits.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "encore/ir/support/testing/fuzz_target.h"
#include "encore/ir/support/testing/text_mutations.h"
#include "encore/opt/egraph/program/driver.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  encore::opt::program::ExecutorOptions options;
  options.max_nodes = 500;
  options.max_seconds = 0.05;
  encore::opt::program::RunProgramFile(
      "fuzz.egg",
      [&](const std::string& path) -> std::optional<std::string> {
        if (path != "fuzz.egg") return std::nullopt;
        return text;
      },
      options, [](std::string_view) {});
  return 0;
}

ENCORE_FUZZ_MUTATORS(encore::MutateText, encore::CrossTexts)
