#include "encore/backends/cuda/cuda_backend.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cuda/codegen/cubin.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/backends/cuda/profile.h"
#include "encore/backends/map_store.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

std::unique_ptr<Backend> Cuda() {
  return NewCudaBackend(
      [](uint32_t) -> StatusOr<std::unique_ptr<runtime::Device>> {
        return NotFoundError("no device here");
      });
}

CompileOptions For(std::string target) {
  CompileOptions options;
  options.target = std::move(target);
  return options;
}

TEST(CudaBackend, TargetsByArchitectureAndByDevice) {
  const auto cuda = Cuda();
  for (const char* name : {"a100", "h100", "h200", "b200"}) {
    EXPECT_THAT(cuda->variants(), Contains(name));
  }
  for (const char* name : {"sm_80", "sm_90", "sm_90a", "sm_100a", "sm_120"}) {
    EXPECT_EQ(cuda->CheckOtherVariant(name), OkStatus()) << name;
  }
  EXPECT_EQ(cuda->CheckOtherVariant("sm_97")->code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(cuda->CheckOtherVariant("/nowhere.json")->code(),
            StatusCode::kNotFound);
  EXPECT_EQ(cuda->CheckOtherVariant("h1000"), std::nullopt);
  EXPECT_THAT(cuda->Target(For("cuda")),
              Contains(Pair("architecture", "sm_80")));
  EXPECT_THAT(cuda->Target(For("cuda:h200")),
              Contains(Pair("architecture", "sm_90a")));
  EXPECT_THAT(cuda->Target(For("cuda:h200")),
              Contains(Pair("profile", HasSubstr("h200 sm_90a 132"))));
  EXPECT_THAT(cuda->Target(For("cpu,cuda:sm_90")),
              Contains(Pair("architecture", "sm_90")));
  EXPECT_THAT(cuda->Target(For("cuda:sm_100a")),
              Contains(Pair("architecture", "sm_100a")));
  EXPECT_EQ(cuda->NewDevice(0).status().code(), StatusCode::kNotFound);
}

// Versions that the code wants of a machine, and the compiler that made it.
TEST(CudaBackend, TargetsNameVersions) {
  const auto cuda = Cuda();
  CompileOptions options = For("cuda:h100");
  EXPECT_THAT(cuda->Target(options), Contains(Pair("driver", "13.0")));
  EXPECT_THAT(
      cuda->Target(options),
      Contains(Pair("nvrtc", ::testing::MatchesRegex("13\\.0 [0-9a-f]{40}"))));
  EXPECT_THAT(cuda->Target(options),
              ::testing::Not(Contains(Pair("cublaslt", ::testing::_))));
  options.cuda_kernels = CudaKernels::kLibrary;
  EXPECT_THAT(cuda->Target(options), Contains(Pair("cublaslt", "13")));
}

// The rates that NVIDIA states: 2.0, 3.35, 4.8 and 8 TB/s; 19.5 and 67 Tflop/s
// of f32.
TEST(CudaBackend, Profiles) {
  const auto profile = [](const char* target) {
    return ProfileOf(For(target));
  };
  EXPECT_NEAR(profile("cuda:a100").bandwidth, 2.04e12, 1e10);
  EXPECT_NEAR(profile("cuda:h100").bandwidth, 3.35e12, 1e10);
  EXPECT_NEAR(profile("cuda:h200").bandwidth, 4.8e12, 1e10);
  EXPECT_NEAR(profile("cuda:b200").bandwidth, 8.18e12, 1e10);
  EXPECT_NEAR(profile("cuda:a100").flops(), 19.5e12, 1e11);
  EXPECT_NEAR(profile("cuda:h100").flops(), 66.9e12, 1e11);
  // 1 GB read and written is bound by memory.
  const Work work{.read_bytes = 5e8, .written_bytes = 5e8};
  EXPECT_NEAR(LaunchSeconds(profile("cuda:h100"), work), 1e9 / 3.35e12, 5e-6);
}

TEST(CudaBackend, CompilesWithoutADevice) {
  const auto graph = ParseGraph(R"(graph g(%x: f32[300,40]) -> f32[300,40] {
  %y = exp(%x)
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const BuiltRegion built = BuildWhole(*graph);
  const KernelRequest request{&built.region, {false}, {}};
  const auto cuda = Cuda();
  const CompileOptions options = For("cuda:h100");
  const auto candidates = cuda->Candidates(request, options);
  ASSERT_FALSE(candidates.empty());
  MapStore store;
  const MapStore::Kind& kept = store[kKernelKind];
  const std::vector<CompileRequest> requests(2, {request, candidates[0]});
  const auto module = cuda->Compile(requests, options, &store);
  ASSERT_TRUE(module.ok()) << module.status();
  // Equal kernels are one function of one artifact.
  ASSERT_EQ(module->kernels.size(), 2u);
  EXPECT_EQ(module->kernels[0].code.entry, module->kernels[1].code.entry);
  ASSERT_EQ(module->artifacts.size(), 1u);
  EXPECT_THAT(module->kernels[0].code.requirements,
              ::testing::ElementsAre("sm_80", "driver=13.0"));
  const auto params =
      DecodeKernelParams(module->kernels[0].code.params, /*args=*/0);
  ASSERT_TRUE(params.ok()) << params.status();
  EXPECT_EQ(params->launches.size(), 1u);
  const auto images = DecodeModule(module->artifacts[0].bytes);
  ASSERT_TRUE(images.ok()) << images.status();
  ASSERT_EQ(images->size(), 3u);
  for (const ModuleImage& image : *images) {
    if (image.kind == ModuleImage::Kind::kPtx) {
      EXPECT_EQ(Name(image.architecture), "sm_80");
      continue;
    }
    const auto resources = ReadResources(image.bytes);
    ASSERT_TRUE(resources.ok()) << resources.status();
    EXPECT_EQ(resources->count(params->launches[0].entry), 1u);
  }
  EXPECT_EQ(kept.gets, 1);
  EXPECT_EQ(kept.puts, 1);
  const auto again = cuda->Compile(requests, options, &store);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(kept.gets, 2);
  EXPECT_EQ(kept.puts, 1);
  EXPECT_EQ(again->artifacts[0].bytes, module->artifacts[0].bytes);
}

// By the roofline: where a device has many more multiprocessors than there are
// tiles, and there is much to sum.
TEST(CudaBackend, SplitsSumsOfFewTiles) {
  const auto first = [](std::string_view m, std::string_view k,
                        std::string_view dtype, const char* target) {
    const auto graph = ParseGraph(
        StrCat("graph g(%x: ", dtype, "[", m, ",", k, "], %y: ", dtype, "[", k,
               ",64]) -> ", dtype, "[", m,
               ",64] {\n  %p = dot_general(%x, %y) {contract = [1]x[0]}\n"
               "  return %p\n}"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const BuiltRegion built = BuildWhole(*graph);
    const KernelRequest request{&built.region, {false, false}, {}};
    return Cuda()->Candidates(request, For(target))[0].kernel;
  };
  EXPECT_EQ(first("32", "16384", "f32", "cuda:h100"), "split_tiles");
  EXPECT_EQ(first("32", "16384", "f16", "cuda:h100"), "split_tensor_tiles");
  EXPECT_EQ(first("65536", "256", "f32", "cuda:h100"), "tiles");
  EXPECT_EQ(first("65536", "256", "f16", "cuda:h100"), "tensor_tiles");
}

// The least and the largest numbers that a profile may have.
TEST(CudaBackend, AnyProfileGivesCosts) {
  constexpr std::pair<const char*, const char*> kProfiles[] = {
      {"least.json",
       R"({"name": "x", "architecture": "sm_120", "multiprocessors": 1,
           "memory_bytes": 1, "l2_bytes": 1, "shared_bytes": 1, "clock_khz": 1,
           "memory_khz": 1, "bus_bits": 1, "lanes": 1})"},
      {"most.json",
       R"({"name": "x", "architecture": "sm_120", "multiprocessors": 100000,
           "memory_bytes": 1125899906842624, "l2_bytes": 1099511627776,
           "shared_bytes": 1073741824, "clock_khz": 100000000,
           "memory_khz": 1000000000, "bus_bits": 1000000, "lanes": 4096})"}};
  const auto graph = ParseGraph(
      "graph g(%x: f16[40,4096], %y: f16[4096,64]) -> f16[40,64] {\n"
      "  %p = dot_general(%x, %y) {contract = [1]x[0]}\n  return %p\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const BuiltRegion built = BuildWhole(*graph);
  const KernelRequest request{&built.region, {false, false}, {}};
  for (const auto& [name, text] : kProfiles) {
    const std::string path = testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    ASSERT_EQ(Cuda()->CheckOtherVariant(path), OkStatus());
    const CompileOptions options = For("cuda:" + path);
    const auto candidates = Cuda()->Candidates(request, options);
    ASSERT_FALSE(candidates.empty());
    for (const Candidate& one : candidates) {
      EXPECT_TRUE(std::isfinite(one.seconds) && one.seconds > 0)
          << name << " " << one.kernel;
    }
    const CompileRequest chosen{request, candidates[0]};
    const auto module = Cuda()->Compile({&chosen, 1}, options, nullptr);
    EXPECT_TRUE(module.ok()) << module.status();
  }
}

// What has no elements, and what sums none, costs a launch.
TEST(CudaBackend, EmptyProductsHaveCosts) {
  for (const auto& [m, k] : {std::pair(0, 300), std::pair(40, 0)}) {
    const auto graph = ParseGraph(StrCat(
        "graph g(%x: f16[", m, ",", k, "], %y: f16[", k, ",64]) -> f16[", m,
        ",64] {\n  %p = dot_general(%x, %y) {contract = [1]x[0]}\n"
        "  return %p\n}"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const BuiltRegion built = BuildWhole(*graph);
    const KernelRequest request{&built.region, {false, false}, {}};
    for (const Candidate& one : Cuda()->Candidates(request, For("cuda"))) {
      EXPECT_GT(one.seconds, 0) << one.kernel;
      EXPECT_LT(one.seconds, 1e-4) << one.kernel;
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
