// Programs with recipes, from the graph to recorded replays, on the driver that
// executes and a library in the place of cuBLASLt that computes there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/compile.h"
#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/replay.h"
#include "encore/backends/cuda/cuda_backend.h"
#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/driver/types.h"
#include "encore/backends/cuda/fake/fake_driver.h"
#include "encore/backends/cuda/library/cublaslt_types.h"
#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/cuda/library/testing/emulated_library.h"
#include "encore/backends/options.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using fake::FakeDriver;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Leaks = std::vector<std::string>;

struct Case {
  const char* name;
  const char* text;
  Rewrites rewrites = Rewrites::kReassociate;
};

constexpr Case kCases[] = {
    {"F32", R"(
graph g(%x: f32[6,20], %w: param f32[20,9]) -> f32[6,9] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})"},
    // Two launches of the library's, with sums in the workspace.
    {"Long", R"(
graph g(%x: f32[5,130], %w: f32[7,130]) -> f32[5,7] {
  %p = dot_general(%x, %w) {contract = [1]x[1]}
  return %p
})"},
    {"TransposedBatches", R"(
graph g(%x: f16[3,20,6], %w: f16[3,9,20]) -> f16[3,6,9] {
  %p = dot_general(%x, %w) {batch = [0]x[0], contract = [1]x[2]}
  return %p
})"},
    {"BF16", R"(
graph g(%x: bf16[6,72], %w: param bf16[72,16]) -> bf16[6,16] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})"},
    {"F64", R"(
graph g(%x: f64[6,70], %w: f64[70,16]) -> f64[6,16] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})"},
    {"BiasAndTensor", R"(
graph g(%x: f32[6,20], %w: f32[20,8], %b: f32[8], %c: f32[6,8]) -> f32[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %q = add(%p, %d)
  %y = add(%c, %q)
  return %y
})"},
    // A bias that is aligned to 16 bytes and to no more.
    {"BiasOfASlice", R"(
graph g(%x: f32[6,20], %w: f32[20,8], %all: f32[20]) -> f32[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %b = slice(%all) {starts = [4], limits = [12], strides = [1]}
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %y = add(%p, %d)
  return %y
})"},
    {"BiasRelu",
     R"(
graph g(%x: f16[6,80], %w: param f16[80,8], %b: param f16[8]) -> f16[6,8] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %d = broadcast(%b) {shape = [6,8], axes = [1]}
  %q = add(%p, %d)
  %y = relu(%q)
  return %y
})",
     Rewrites::kFast},
};

constexpr std::string_view kFunctions[] = {
#define ENCORE_CUBLASLT_FUNCTION(result, name, parameters) #name,
#include "encore/backends/cuda/library/cublaslt_functions.def"
#undef ENCORE_CUBLASLT_FUNCTION
};

// Whose devices the backend gives, and by which library.
FakeDriver* present = nullptr;
std::string* library = nullptr;

class LibraryBase {
 protected:
  LibraryBase() : fake_(FakeDriver::New({.seed = 3})) {
    present = fake_.get();
    library = &path_;
    control_.set_version(130100);
    for (const std::string_view function : kFunctions) {
      control_.fail(function.data(), -1, LtStatus::kSuccess);
    }
  }
  ~LibraryBase() {
    EXPECT_EQ(fake_->leaks(), Leaks());
    EXPECT_EQ(control_.handles(), 0);
    present = nullptr;
    library = nullptr;
  }

  runtime::CompiledGraph Compiled(const Graph& graph, const Case& c) const {
    CompileOptions options;
    options.target = "cuda";
    options.cuda_kernels = CudaKernels::kLibrary;
    options.rewrites = c.rewrites;
    options.ports = ports_;
    const Backend* const backends[] = {cuda_.get()};
    auto compiled = Compile(graph, options, backends);
    ENCORE_CHECK_OK(compiled.status());
    return *std::move(compiled);
  }
  StatusOr<std::vector<Literal>> Compute(
      const Graph& graph, const runtime::CompiledGraph& compiled,
      const std::vector<Literal>& arguments) const {
    const Backend* const backends[] = {cuda_.get()};
    return Replay(graph, compiled, backends, arguments);
  }
  // How the kernels of a graph are loaded here.
  std::vector<std::string> NotesOf(const runtime::CompiledGraph& compiled) {
    auto device = cuda_->NewDevice(0);
    ENCORE_CHECK_OK(device.status());
    runtime::ThreadPool threads(1);
    const auto executable = runtime::Executable::Load(
        std::make_shared<runtime::CompiledGraph>(compiled),
        {*std::move(device)}, &threads);
    ENCORE_CHECK_OK(executable.status());
    return (*executable)->Notes();
  }

  std::string path_ = EmulatedLibraryPath();
  Ports ports_ = Ports::kHost;
  const std::shared_ptr<FakeDriver> fake_;
  const EmulatedCublasLtControl& control_ = EmulatedLibrary();
  const std::unique_ptr<Backend> cuda_ = NewCudaBackend([](uint32_t ordinal) {
    return NewDevice(present->driver(), ordinal, "cuda",
                     {.cublaslt = *library});
  });
};

class LibraryCases : public LibraryBase, public testing::TestWithParam<Case> {};

int RecipesOf(const runtime::CompiledGraph& compiled) {
  return static_cast<int>(std::ranges::count_if(
      compiled.kernel_binaries,
      [](const auto& binary) { return HasRecipe(binary.params); }));
}

TEST_P(LibraryCases, ComputesWithAndWithoutTheLibrary) {
  const Graph graph = ParsedGraph(GetParam().text);
  const std::vector<Literal> arguments = RandomArguments(graph, 1);
  const auto bounds = EvaluateBounds(graph, arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  const runtime::CompiledGraph compiled = Compiled(graph, GetParam());
  ASSERT_EQ(RecipesOf(compiled), 1);
  EXPECT_THAT(NotesOf(compiled), ElementsAre(HasSubstr("cuBLASLt 13.1.0")));

  const auto outputs = Compute(graph, compiled, arguments);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(Difference(*outputs, *bounds), std::nullopt);
  // Replayed, recorded, and launched as it was recorded.
  EXPECT_EQ(control_.calls("cublasLtMatmul"), 2);

  path_ = "/nowhere/libcublasLt.so.13";
  EXPECT_THAT(NotesOf(compiled),
              ElementsAre(AllOf(HasSubstr("generated kernel "),
                                HasSubstr(" in place of cublaslt 13: "),
                                HasSubstr(path_))));
  const auto generated = Compute(graph, compiled, arguments);
  ASSERT_TRUE(generated.ok()) << generated.status();
  EXPECT_EQ(Difference(*generated, *bounds), std::nullopt);
  EXPECT_EQ(control_.calls("cublasLtMatmul"), 2);
}

// What fails when a kernel is loaded is a note, what fails at a launch an
// error; nothing is left, and the next load is right.
TEST_P(LibraryCases, AnyCallMayFail) {
  constexpr int64_t kMostCalls = 20;  // of each function
  const Graph graph = ParsedGraph(GetParam().text);
  const std::vector<Literal> arguments = RandomArguments(graph, 1);
  const auto bounds = EvaluateBounds(graph, arguments);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  const runtime::CompiledGraph compiled = Compiled(graph, GetParam());
  ASSERT_TRUE(Compute(graph, compiled, arguments).ok());
  std::vector<int64_t> counts;
  for (const std::string_view function : kFunctions) {
    counts.push_back(std::min(control_.calls(function.data()), kMostCalls));
  }
  int64_t made = 0, errors = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const char* const function = kFunctions[i].data();
    for (int64_t k = 0; k < counts[i]; ++k, ++made) {
      control_.fail(
          function, k,
          k % 2 == 0 ? LtStatus::kNotSupported : LtStatus::kAllocFailed);
      const auto outputs = Compute(graph, compiled, arguments);
      errors += !outputs.ok();
      if (outputs.ok()) {
        EXPECT_EQ(Difference(*outputs, *bounds), std::nullopt)
            << function << " " << k;
      } else {
        EXPECT_THAT(Message(outputs.status()), HasSubstr("cublasLt"));
      }
      EXPECT_EQ(fake_->leaks(), Leaks()) << function << " " << k;
      EXPECT_EQ(control_.handles(), 0) << function << " " << k;
      control_.fail(function, -1, LtStatus::kSuccess);
    }
    const auto again = Compute(graph, compiled, arguments);
    ASSERT_TRUE(again.ok()) << function << ": " << again.status();
    ASSERT_EQ(Difference(*again, *bounds), std::nullopt) << function;
  }
  std::cout << made << " calls made to fail, " << errors << " were errors\n";
  // Both calls of the product.
  EXPECT_GE(errors, 2);
}

INSTANTIATE_TEST_SUITE_P(Products, LibraryCases, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(info.param.name);
                         });

class Library : public LibraryBase, public testing::Test {};

TEST_F(Library, StandInsAreNamedWithTheReason) {
  const Graph graph = ParsedGraph(kCases[0].text);
  const runtime::CompiledGraph compiled = Compiled(graph, kCases[0]);
  const auto expect = [&](const char* reason) {
    EXPECT_THAT(NotesOf(compiled),
                ElementsAre(AllOf(
                    HasSubstr("generated kernel loops in place of cublaslt"),
                    HasSubstr(reason))));
  };
  control_.fail("cublasLtCreate", 0, LtStatus::kNotInitialized);
  expect("cublasLtCreate: CUBLAS_STATUS_OTHER (1)");
  control_.fail("cublasLtMatmulAlgoCheck", 0, LtStatus::kNotSupported);
  control_.fail("cublasLtMatmulAlgoGetHeuristic", 0, LtStatus::kNotSupported);
  // An algorithm of an earlier test may be known.
  expect("cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED (15)");
  path_.clear();
  expect("device cuda has no libraries");
  runtime::CompiledGraph other = compiled;
  for (runtime::KernelBinary& binary : other.kernel_binaries) {
    if (!HasRecipe(binary.params)) continue;
    auto params =
        DecodeLibraryParams(binary.params, binary.reads, binary.writes);
    ASSERT_TRUE(params.ok());
    params->recipe.library = "another";
    binary.params = Encode(*params);
  }
  EXPECT_THAT(NotesOf(other),
              ElementsAre(HasSubstr("in place of another 13: this release has "
                                    "no such library")));
}

// It is beside the step that it was compiled for, or no memory is touched.
TEST_F(Library, RecipesReachNoFurtherThanBuffers) {
  const Graph graph = ParsedGraph(kCases[0].text);
  const runtime::CompiledGraph compiled = Compiled(graph, kCases[0]);
  const std::vector<Literal> arguments = RandomArguments(graph, 1);
  const auto error = [&](const auto& change) {
    runtime::CompiledGraph other = compiled;
    for (runtime::KernelBinary& binary : other.kernel_binaries) {
      if (!HasRecipe(binary.params)) continue;
      auto params =
          DecodeLibraryParams(binary.params, binary.reads, binary.writes);
      ENCORE_CHECK_OK(params.status());
      change(&params->recipe);
      binary.params = Encode(*params);
    }
    return std::string(Message(Compute(graph, other, arguments).status()));
  };
  EXPECT_THAT(error([](LibraryRecipe* recipe) { ++recipe->columns; }),
              HasSubstr("a recipe reaches to byte "));
  EXPECT_THAT(error([](LibraryRecipe* recipe) { recipe->b.offset += 4; }),
              HasSubstr("a recipe reaches to byte "));
  EXPECT_THAT(
      error([](LibraryRecipe* recipe) { recipe->workspace_bytes += 1024; }),
      HasSubstr("a recipe's workspace of "));
  EXPECT_THAT(error([](LibraryRecipe* recipe) { recipe->d.pitch = 1; }),
              HasSubstr("not sound: d.pitch"));
  EXPECT_EQ(control_.calls("cublasLtMatmul"), 0);
}

// Chosen once for a recipe and an architecture, and checked for each device.
TEST_F(Library, AlgorithmsAreKeptInTheProcess) {
  constexpr Case kOnce = {"Once", R"(
graph g(%x: f32[11,20], %w: f32[20,13]) -> f32[11,13] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  return %p
})"};
  const runtime::CompiledGraph compiled =
      Compiled(ParsedGraph(kOnce.text), kOnce);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(NotesOf(compiled), ElementsAre(HasSubstr("cuBLASLt 13.1.0")));
  }
  EXPECT_EQ(control_.calls("cublasLtMatmulAlgoGetHeuristic"), 1);
  EXPECT_EQ(control_.calls("cublasLtMatmulAlgoCheck"), 2);
  // The device of now may not have it.
  control_.fail("cublasLtMatmulAlgoCheck", 0, LtStatus::kArchMismatch);
  EXPECT_THAT(NotesOf(compiled), ElementsAre(HasSubstr("cuBLASLt 13.1.0")));
  EXPECT_EQ(control_.calls("cublasLtMatmulAlgoGetHeuristic"), 2);
}

TEST_F(Library, GeneratedKernelsAreTheDefault) {
  const Graph graph = ParsedGraph(kCases[0].text);
  CompileOptions options;
  options.target = "cuda";
  const Backend* const backends[] = {cuda_.get()};
  const auto compiled = Compile(graph, options, backends);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(RecipesOf(*compiled), 0);
}

// Recorded again where an input lies elsewhere, by the library where that is
// aligned as the recipe says and by the generated kernel where it is not.
TEST_F(Library, InputsElsewhere) {
  ports_ = Ports::kDevice;
  constexpr Case kCase = {"Elsewhere", R"(
graph g(%x: f32[6,20], %w: f32[20,9]) -> f32[6,9], f32[6] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %m = reduce(%x) {axes = [1], combiner = max}
  return %p, %m
})"};
  const Graph graph = ParsedGraph(kCase.text);
  const runtime::CompiledGraph compiled = Compiled(graph, kCase);
  ASSERT_EQ(RecipesOf(compiled), 1);
  std::vector<Literal> arguments = RandomArguments(graph, 1);
  runtime::ThreadPool threads(1);
  auto made = cuda_->NewDevice(0);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::shared_ptr<runtime::Device> device = *std::move(made);
  const auto executable = runtime::Executable::Load(
      std::make_shared<runtime::CompiledGraph>(compiled), {device}, &threads);
  ASSERT_TRUE(executable.ok()) << executable.status();
  const auto weights = runtime::Weights::Prepare(*executable, {}, &threads);
  auto replayer = runtime::Replayer::Create(*executable, *weights, &threads);
  ASSERT_TRUE(replayer.ok()) << replayer.status();
  constexpr int64_t kBytes = 4 * 6 * 20, kRoom = 3 * 512;
  auto* const room = static_cast<std::byte*>(*device->Allocate(kRoom));
  const auto w = arguments[1].bytes();
  void* const w_here = *device->Allocate(static_cast<int64_t>(w.size()));
  ASSERT_EQ(device->CopyFromHost(w_here, w.data(),
                                 static_cast<int64_t>(w.size()), nullptr),
            OkStatus());
  ASSERT_EQ((*replayer)->BindInput(1, w_here, static_cast<int64_t>(w.size())),
            OkStatus());
  int64_t by_library = 0;
  for (const int64_t offset : {0, 0, 0, 512, 4, 4, 516, 16, 16}) {
    SCOPED_TRACE(offset);
    arguments[0] = RandomArguments(graph, static_cast<uint64_t>(offset))[0];
    ASSERT_EQ(device->CopyFromHost(room + offset, arguments[0].bytes().data(),
                                   kBytes, nullptr),
              OkStatus());
    ASSERT_EQ((*replayer)->BindInput(0, room + offset, kBytes), OkStatus());
    ASSERT_EQ((*replayer)->Replay(), OkStatus());
    std::vector<Literal> outputs;
    for (size_t i = 0; i < 2; ++i) {
      const auto output = (*replayer)->CopyOutput(i);
      ASSERT_TRUE(output.ok()) << output.status();
      outputs.push_back(*output);
    }
    const auto bounds = EvaluateBounds(graph, arguments);
    EXPECT_EQ(Difference(outputs, *bounds), std::nullopt);
    const int64_t calls = control_.calls("cublasLtMatmul");
    if (offset % 16 != 0) {
      EXPECT_EQ(calls, by_library);
    }
    by_library = calls;
  }
  EXPECT_GE(by_library, 3);
  EXPECT_GE((*replayer)->recordings().recorded, 2);
  replayer->reset();
  device->Deallocate(room, kRoom);
  device->Deallocate(w_here, static_cast<int64_t>(w.size()));
}

}  // namespace
}  // namespace encore::backends::cuda
