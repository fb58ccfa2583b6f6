#include "encore/tests/gpu/device_tests.h"

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/conformance/bounds.h"
#include "encore/backends/conformance/target_test.h"
#include "encore/backends/cuda/module_file.h"
#include "encore/backends/options.h"
#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/cache/package/package_loader.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/tests/gpu/on_device.h"
#include "encore/tests/gpu/packages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string& PackageFolder() {
  static auto* const folder = new std::string;
  return *folder;
}

std::string TargetHere() { return backends::TargetsUnderTest()[0]; }

std::vector<Literal> InputsOf(const Model& model) {
  std::vector<Literal> inputs;
  const auto& arguments = model.graph.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_parameter) inputs.push_back(model.arguments[i]);
  }
  return inputs;
}

std::vector<backends::Bounds> BoundsOf(const Model& model) {
  auto bounds = backends::EvaluateBounds(model.graph, model.arguments);
  EXPECT_TRUE(bounds.ok()) << bounds.status();
  return bounds.ok() ? *std::move(bounds) : std::vector<backends::Bounds>();
}

// What is recorded once gives what it should for inputs at other addresses, in
// replays that wait and in such that do not, as often as that may be.
TEST(GpuRecordings, InputsElsewhere) {
  constexpr uint64_t kRounds = 8;
  backends::CompileOptions options;
  options.target = TargetHere();
  for (Model& model : Models()) {
    SCOPED_TRACE(model.name);
    auto here = OnDevice::New(model.graph, model.arguments, options);
    ASSERT_TRUE(here.ok()) << here.status();
    runtime::Replayer& replayer = (*here)->replayer();
    const auto queue = (*here)->device().NewQueue();
    ASSERT_TRUE(queue.ok()) << queue.status();
    // The first argument is the input. All stay until the device is done.
    ASSERT_FALSE(model.graph.arguments()[0].is_parameter);
    std::vector<std::unique_ptr<DeviceMemory>> inputs;
    for (uint64_t round = 0; round < kRounds; ++round) {
      model.arguments[0] = RandomArguments(model.graph, 100 + round)[0];
      auto input = DeviceMemory::New((*here)->device(), model.arguments[0]);
      ASSERT_TRUE(input.ok()) << input.status();
      inputs.push_back(*std::move(input));
      ASSERT_EQ(
          replayer.BindInput(0, inputs.back()->data(), inputs.back()->bytes()),
          OkStatus());
      const Status status =
          round % 2 == 0 ? replayer.Replay()
                         : replayer.Enqueue(runtime::DeviceId(0), **queue);
      ASSERT_EQ(status, OkStatus());
      const auto output = replayer.CopyOutput(0);
      ASSERT_TRUE(output.ok()) << output.status();
      EXPECT_EQ(backends::Difference({&*output, 1}, BoundsOf(model)),
                std::nullopt)
          << "round " << round;
    }
    EXPECT_GE(replayer.recordings().recorded, 1);
    ASSERT_EQ(replayer.Synchronize(), OkStatus());
  }
}

struct Product {
  const char* name;
  std::vector<const char*> dtypes;
  // Of the graph, with T for a dtype. The first argument moves.
  const char* text;
  backends::Rewrites rewrites = backends::Rewrites::kReassociate;
};

std::vector<Product> Products() {
  return {{"plain",
           {"f32", "f16", "bf16", "f64"},
           R"(
graph g(%x: T[48,200], %w: T[72,200]) -> T[48,72] {
  %p = dot_general(%x, %w) {contract = [1]x[1]}
  return %p
})"},
          {"batches of the transposed",
           {"f32", "f16", "bf16", "f64"},
           R"(
graph g(%x: T[3,40,24], %w: T[3,56,40]) -> T[3,24,56] {
  %p = dot_general(%x, %w) {batch = [0]x[0], contract = [1]x[2]}
  return %p
})"},
          {"a slice, a tensor and a bias of a slice",
           {"f32", "f16", "bf16"},
           R"(
graph g(%x: T[24,72], %w: T[64,40], %c: T[24,32], %b: T[48]) -> T[24,32] {
  %xs = slice(%x) {starts = [0,8], limits = [24,72], strides = [1,1]}
  %ws = slice(%w) {starts = [0,8], limits = [64,40], strides = [1,1]}
  %p = dot_general(%xs, %ws) {contract = [1]x[0]}
  %q = add(%p, %c)
  %bs = slice(%b) {starts = [8], limits = [40], strides = [1]}
  %d = broadcast(%bs) {shape = [24,32], axes = [1]}
  %y = add(%q, %d)
  return %y
})"},
          {"a bias and relu",
           {"f32", "f16", "bf16"},
           R"(
graph g(%x: T[24,64], %w: T[64,32], %b: T[32]) -> T[24,32] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %d = broadcast(%b) {shape = [24,32], axes = [1]}
  %q = add(%p, %d)
  %y = relu(%q)
  return %y
})",
           backends::Rewrites::kFast}};
}

// The first argument at addresses that the recipe's algorithm takes and at one
// that it does not: replayed, recorded, recorded again.
void CheckAtAddresses(const Graph& graph, std::vector<Literal> arguments,
                      OnDevice& here) {
  runtime::Replayer& replayer = here.replayer();
  std::vector<std::unique_ptr<DeviceMemory>> others;
  for (size_t i = 1; i < arguments.size(); ++i) {
    auto memory = DeviceMemory::New(here.device(), arguments[i]);
    ASSERT_TRUE(memory.ok()) << memory.status();
    others.push_back(*std::move(memory));
    ASSERT_EQ(
        replayer.BindInput(i, others.back()->data(), others.back()->bytes()),
        OkStatus());
  }
  const auto bytes = static_cast<int64_t>(arguments[0].bytes().size());
  const auto room = DeviceMemory::New(here.device(), bytes + 4096);
  ASSERT_TRUE(room.ok()) << room.status();
  for (const int64_t offset : {0, 0, 0, 512, 8, 8, 16}) {
    auto* const x = static_cast<std::byte*>((*room)->data()) + offset;
    arguments[0] = RandomArguments(graph, static_cast<uint64_t>(offset))[0];
    ASSERT_EQ(here.device().CopyFromHost(x, arguments[0].bytes().data(), bytes,
                                         nullptr),
              OkStatus());
    ASSERT_EQ(replayer.BindInput(0, x, bytes), OkStatus());
    ASSERT_EQ(replayer.Replay(), OkStatus());
    const auto output = replayer.CopyOutput(0);
    ASSERT_TRUE(output.ok()) << output.status();
    const auto bounds = backends::EvaluateBounds(graph, arguments);
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    EXPECT_EQ(backends::Difference({&*output, 1}, *bounds), std::nullopt)
        << "offset " << offset;
  }
}

// Products by recipe (--cuda-kernels library): by cuBLASLt where it is there,
// which the output says.
TEST(GpuLibraries, ProductsByRecipe) {
  for (const Product& product : Products()) {
    for (const char* const dtype : product.dtypes) {
      SCOPED_TRACE(StrCat(product.name, " of ", dtype));
      std::string text = product.text;
      for (size_t at; (at = text.find('T')) != std::string::npos;) {
        text.replace(at, 1, dtype);
      }
      const Graph graph = ParsedGraph(text);
      backends::CompileOptions options;
      options.target = TargetHere();
      options.cuda_kernels = backends::CudaKernels::kLibrary;
      options.rewrites = product.rewrites;
      const std::vector<Literal> arguments = RandomArguments(graph, 1);
      auto here = OnDevice::New(graph, arguments, options);
      ASSERT_TRUE(here.ok()) << here.status();
      const auto notes = (*here)->replayer().executable().Notes();
      ASSERT_EQ(notes.size(), 1u);
      std::cout << product.name << " of " << dtype << ": " << notes[0] << "\n";
      CheckAtAddresses(graph, arguments, **here);
    }
  }
}

class GpuPackages : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = PackageFolder();
    if (!folder_.empty()) return;
    folder_ = testing::TempDir();
    const Status written = WritePackages(folder_, TargetHere());
    ASSERT_EQ(written, OkStatus());
  }

  std::string folder_;
};

// Whatever device they were written for.
TEST_F(GpuPackages, ComputeWhatTheirSeedsSay) {
  runtime::ThreadPool threads(1);
  for (const Model& model : Models()) {
    for (const std::string& target : PackageTargets(TargetHere())) {
      const std::string path = PackagePath(folder_, model, target);
      SCOPED_TRACE(path);
      const auto package = cache::ReadPackage(path);
      ASSERT_TRUE(package.ok()) << package.status();
      const auto loaded = cache::LoadPackage(*package, DevicesOf, &threads);
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      const auto outputs = (*loaded)->Run(InputsOf(model));
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_EQ(backends::Difference(*outputs, BoundsOf(model)), std::nullopt);
    }
  }
}

// The package with its kernels said to be for that architecture and driver.
cache::Package For(const backends::cuda::Architecture& architecture,
                   uint32_t driver, cache::Package package) {
  auto graph = std::make_shared<runtime::CompiledGraph>(*package.graph);
  int modules = 0;
  for (runtime::Blob& blob : graph->blobs) {
    if (!blob.executable) continue;
    auto images = backends::cuda::DecodeModule(blob.bytes);
    if (!images.ok()) continue;
    ++modules;
    for (backends::cuda::ModuleImage& image : *images) {
      image.architecture = architecture;
      image.driver = driver;
    }
    blob = runtime::Blob::Copy(backends::cuda::EncodeModule(*images),
                               /*executable=*/true);
  }
  EXPECT_GT(modules, 0);
  package.graph = std::move(graph);
  return package;
}

// By the status upon which tools compile the graph in the file instead.
TEST_F(GpuPackages, CodeThatDoesNotFitTheDeviceIsRefused) {
  runtime::ThreadPool threads(1);
  const auto package = cache::ReadPackage(
      PackagePath(folder_, Models()[0], PackageTargets(TargetHere())[0]));
  ASSERT_TRUE(package.ok()) << package.status();
  const auto error = [&](const cache::Package& changed) {
    const Status status =
        cache::LoadPackage(changed, DevicesOf, &threads).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    return Message(status);
  };
  constexpr backends::cuda::Architecture kOther = {99, 9, true}, kLowest = {8};
  EXPECT_THAT(error(For(kOther, /*driver=*/13000, *package)),
              AllOf(HasSubstr("the device is sm_"), HasSubstr("sm_999a")));
  EXPECT_THAT(error(For(kLowest, /*driver=*/99000, *package)),
              HasSubstr("under a driver of CUDA "));
  // As it is, it fits.
  const auto same = cache::LoadPackage(For(kLowest, /*driver=*/13000, *package),
                                       DevicesOf, &threads);
  EXPECT_TRUE(same.ok()) << same.status();
}

}  // namespace

void SetPackageFolder(std::string folder) {
  PackageFolder() = std::move(folder);
}

}  // namespace encore::gpu
