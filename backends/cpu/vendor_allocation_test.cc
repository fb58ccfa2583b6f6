// Counts what a replay of vendor kernels asks of the system's allocator, the
// library's own requests included.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "encore/backends/backends.h"
#include "encore/backends/compile.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/parser.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/replayer.h"
#include "encore/runtime/replay/weights.h"
#include "gtest/gtest.h"

namespace {
std::atomic<int64_t> allocations = 0;
}  // namespace

// Sanitizers bring an allocator of their own, which stays.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* data, size_t bytes) {
  ++allocations;
  return __libc_realloc(data, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** data, size_t alignment, size_t bytes) {
  ++allocations;
  *data = __libc_memalign(alignment, bytes);
  return 0;
}
}
#endif

namespace encore::backends::cpu {
namespace {

// A convolution in the library's own layout, with an epilogue, and a
// product: four kinds of primitives.
constexpr int kKinds = 4;
constexpr char kGraph[] =
    R"(graph g(%x: f32[1,32,14,14], %w: param f32[48,32,3,3], %v: param f32[196,64]) -> f32[1,48,64] {
  %c = convolution(%x, %w) {strides = [1,1], padding_low = [1,1], padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = 1}
  %t = tanh(%c)
  %f = reshape(%t) {shape = [1,48,196]}
  %d = dot_general(%f, %v) {contract = [2]x[0]}
  %y = relu(%d)
  return %y
})";

std::unique_ptr<runtime::Replayer> Load(const Graph& graph,
                                        const std::vector<Literal>& arguments,
                                        runtime::ThreadPool* pool) {
  CompileOptions options;
  options.cpu_kernels = CpuKernels::kVendor;
  auto compiled = *Compile(graph, options, AllBackends());
  int vendor = 0;
  for (const auto& program : compiled.kernel_binaries) {
    vendor += IsVendor(program.params) && program.writes > 0;
  }
  EXPECT_GE(vendor, 2);
  std::vector<std::shared_ptr<runtime::Device>> devices;
  for (const runtime::DeviceInfo& info : compiled.devices) {
    devices.push_back(
        *(*FindBackend(info.backend, AllBackends()))->NewDevice(info.ordinal));
  }
  const auto executable = *runtime::Executable::Load(
      std::make_shared<runtime::CompiledGraph>(std::move(compiled)), devices,
      pool);
  const std::vector<runtime::Blob> parameters = {
      runtime::Blob::Copy(arguments[1].bytes()),
      runtime::Blob::Copy(arguments[2].bytes())};
  return *runtime::Replayer::Create(
      executable, *runtime::Weights::Prepare(executable, parameters, pool),
      pool);
}

// A thread's first call of a kind may allocate. The calling thread makes its
// own in the first replays; when another thread of the pool first gets work is
// up to the system. Nothing else allocates, however long replays go on.
TEST(VendorAllocation, ReplayingAllocatesNothing) {
  const Graph graph = *ParseGraph(kGraph);
  const std::vector<Literal> arguments = RandomArguments(graph, 5);
  for (const int threads : {1, 3}) {
    runtime::ThreadPool pool(threads);
    const auto replayer = Load(graph, arguments, &pool);
    const auto input = arguments[0].bytes();
    ASSERT_TRUE(replayer->BindInput(0, input.data(), input.size()).ok());
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(replayer->Replay().ok());
    int allocating = 0;
    for (int i = 0; i < 1000; ++i) {
      const int64_t before = allocations;
      ASSERT_TRUE(replayer->Replay().ok());
      allocating += allocations != before ? 1 : 0;
    }
    EXPECT_LE(allocating, kKinds * (threads - 1));
  }
}

}  // namespace
}  // namespace encore::backends::cpu
