#include "encore/backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/profile/machine_profile.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/kernel_binary.h"
#include "encore/backends/options.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

ExprId Load(Region* region, uint32_t input, std::vector<Index> indices) {
  Access access;
  access.number = input;
  access.indices = std::move(indices);
  Expr expr;
  expr.kind = Expr::Kind::kLoad;
  expr.number = AddAccess(region, std::move(access));
  return AddExpr(region, expr);
}

ExprId Apply(Region* region, Op op, ExprId a, ExprId b = {}) {
  Expr expr;
  expr.kind = Expr::Kind::kOp;
  expr.op = op;
  expr.operands = {a, b, ExprId()};
  return AddExpr(region, expr);
}

Index Variable(uint32_t v) {
  Index index;
  index.terms.push_back({v, 1});
  return index;
}

// out[i, j] = exp(a[i, j]) + b[j].
Region Elementwise(int64_t rows, int64_t columns) {
  Region region;
  region.extents = {rows, columns};
  region.outer = 2;
  region.inputs = {{DType::kF32, {rows, columns}, {}},
                   {DType::kF32, {columns}, {}}};
  region.outputs = {{DType::kF32, {rows, columns}, {}}};
  const ExprId a = Load(&region, 0, {Variable(0), Variable(1)});
  const ExprId b = Load(&region, 1, {Variable(1)});
  const ExprId sum = Apply(&region, Op::kAdd, Apply(&region, Op::kExp, a), b);
  Stage stage;
  stage.stores = {{0, sum, {Variable(0), Variable(1)}, false, Update::kSet}};
  region.stages.push_back(stage);
  return region;
}

// Compiles, loads and launches.
void RunRegion(const Region& region, std::vector<void*> buffers, int threads) {
  const Backend& backend = *CpuBackend();
  KernelRequest request{&region, std::vector<bool>(region.inputs.size()), {}};
  const std::vector<Candidate> candidates = backend.Candidates(request, {});
  ASSERT_FALSE(candidates.empty());
  const CompileRequest compile{request, candidates[0]};
  const auto module = backend.Compile({&compile, 1}, {}, nullptr);
  ASSERT_TRUE(module.ok()) << module.status();
  const CompiledKernel& kernel = module->kernels[0];
  const auto device = backend.NewDevice(0);
  ASSERT_TRUE(device.ok());
  runtime::ThreadPool pool(threads);
  const auto loaded = LoadKernel(**device, *module, kernel.code,
                                 ShapeOfLaunch(region, kernel), &pool);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::vector<std::byte> scratch(kernel.scratch.constant() + 64);
  buffers.push_back(scratch.data());
  const std::vector<int64_t> sizes(buffers.size());
  runtime::LaunchContext context;
  context.buffers = buffers.data();
  context.sizes = sizes.data();
  context.threads = &pool;
  ASSERT_TRUE((*loaded)->Launch(context).ok());
}

using Target = std::map<std::string, std::string>;

Target TargetFor(std::string target, int64_t threads,
                 bool deterministic = false) {
  CompileOptions options;
  options.target = std::move(target);
  options.threads = threads;
  options.deterministic = deterministic;
  Target ingredients;
  for (auto& [name, value] : CpuBackend()->Target(options)) {
    EXPECT_TRUE(ingredients.emplace(name, value).second) << name;
  }
  return ingredients;
}

// What plans depend on: instruction set, caches, oneDNN, threads.
TEST(CpuBackend, TargetSaysWhatPlansDependOn) {
  const Target here = TargetFor("cpu", 2);
  EXPECT_EQ(here.at("cpu"), HostCpu().Fingerprint());
  EXPECT_EQ(here.at("onednn"), VendorVersion());
  EXPECT_EQ(TargetFor("cpu:" + std::string(Name(HostCpu().isa)), 2), here);
  // Another machine's plans are without oneDNN.
  const Isa other = HostCpu().isa == Isa::kAvx2 ? Isa::kAvx512 : Isa::kAvx2;
  const Target there = TargetFor("cpu:" + std::string(Name(other)), 2);
  EXPECT_NE(there.at("cpu"), here.at("cpu"));
  EXPECT_EQ(there.at("onednn"), "none");
  EXPECT_NE(TargetFor("cpu", 1), here);
  EXPECT_EQ(TargetFor("cpu", 1, true), TargetFor("cpu", 2, true));
  EXPECT_NE(TargetFor("cpu", 2, true), here);
}

// Of a machine that is named, whatever runs the compile; its numbers too.
TEST(CpuBackend, TargetSaysWhichMachineKernelsAreChosenFor) {
  const Target here = TargetFor("cpu", 2);
  EXPECT_EQ(here.at("machine"), ToLine(NearestClass(HostCpu(), HostCpu().isa)));
  for (const MachineProfile& machine : MachineClasses()) {
    CompileOptions options;
    options.machine = machine.name;
    EXPECT_TRUE(CpuBackend()->Check(options).ok());
    Target named;
    for (auto& pair : CpuBackend()->Target(options)) named.insert(pair);
    EXPECT_EQ(named.at("machine"), ToLine(machine));
    EXPECT_TRUE(named.at("cpu").starts_with(Name(machine.isa)));
    if (!machine.Covers(HostCpu())) EXPECT_EQ(named.at("onednn"), "none");
    // The same numbers as this machine's own, so with its library.
    options.machine = ToText(AsIf(machine, HostCpu()));
    named.clear();
    for (auto& pair : CpuBackend()->Target(options)) named.insert(pair);
    EXPECT_EQ(named.at("onednn"),
              machine.isa == HostCpu().isa ? VendorVersion() : "none");
  }
}

TEST(CpuBackend, AMachineThatIsNoneIsAnError) {
  CompileOptions options;
  options.machine = "abacus";
  const Status unknown = CpuBackend()->Check(options);
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(unknown).find("zen4-avx2"), std::string::npos) << unknown;
  options.machine = "zen4-avx512";
  options.target = "cpu:avx2";
  const Status other = CpuBackend()->Check(options);
  EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(other).find("cpu:avx2"), std::string::npos) << other;
  options.machine = "machine x\nfrequency 3";
  EXPECT_EQ(CpuBackend()->Check(options).code(), StatusCode::kInvalidArgument);
}

TEST(CpuBackend, EveryFieldOfACpuIsInItsFingerprint) {
  CpuInfo cpu;
  std::set<std::string> fingerprints;
  for (const Isa isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512}) {
    cpu.isa = isa;
    EXPECT_TRUE(fingerprints.insert(cpu.Fingerprint()).second);
    for (int64_t* size : {&cpu.l1_bytes, &cpu.l2_bytes, &cpu.l3_bytes}) {
      *size *= 2;
      EXPECT_TRUE(fingerprints.insert(cpu.Fingerprint()).second);
    }
  }
}

// out[i, j] = sum over k of a[i, k] * b[k, j], with b known at prepare.
struct Product {
  Region region;
  KernelRequest request;

  Product(int64_t m, int64_t k, int64_t n) {
    region.extents = {m, n, k};
    region.outer = 2;
    region.inputs = {{DType::kF32, {m, k}, {}}, {DType::kF32, {k, n}, {}}};
    region.outputs = {{DType::kF32, {m, n}, {}}};
    const ExprId a = Load(&region, 0, {Variable(0), Variable(2)});
    const ExprId b = Load(&region, 1, {Variable(2), Variable(1)});
    Stage sum;
    sum.kind = Stage::Kind::kReduce;
    sum.reduced = {2};
    sum.value = Apply(&region, Op::kMul, a, b);
    Access total;
    total.source = Access::Source::kStage;
    Expr load;
    load.kind = Expr::Kind::kLoad;
    load.number = AddAccess(&region, total);
    Stage store;
    store.stores = {{0,
                     AddExpr(&region, load),
                     {Variable(0), Variable(1)},
                     false,
                     Update::kSet}};
    region.stages = {sum, store};
    request = {&region, {false, true}, {}};
  }
};

std::vector<Candidate> CandidatesHere(const KernelRequest& request,
                                      CompileOptions options) {
  options.machine =
      ToText(AsIf(*FindMachineClass("zen4-" + std::string(Name(HostCpu().isa))),
                  HostCpu()));
  options.threads = 1;
  return CpuBackend()->Candidates(request, options);
}

TEST(CpuBackend, CandidatesAreInTheOrderOfWhatACallPays) {
  for (const int64_t calls : {1, 100, 1000000}) {
    for (const double memory : {0.0, 1000.0}) {
      CompileOptions options;
      options.expect_calls = calls;
      options.memory = memory;
      for (const int64_t n : {16, 256, 1024}) {
        const Product product(64, n, n);
        const auto candidates = CandidatesHere(product.request, options);
        EXPECT_GE(candidates.size(), 2u);
        EXPECT_TRUE(std::ranges::is_sorted(
            candidates, {}, [&](const Candidate& candidate) {
              return CallSeconds(candidate, options);
            }));
      }
    }
  }
}

// A library's kernel pays its load back in many calls only.
TEST(CpuBackend, FewCallsPayForNoLoad) {
  const Product product(64, 512, 512);
  CompileOptions options;
  options.expect_calls = 1;
  for (const Candidate& candidate : CandidatesHere(product.request, options)) {
    const double price = CallSeconds(candidate, options);
    EXPECT_DOUBLE_EQ(price, candidate.seconds + candidate.load_seconds);
  }
  EXPECT_EQ(CandidatesHere(product.request, options)[0].load_seconds, 0);
}

// Panels of weights are a copy of them: not where memory is dear.
TEST(CpuBackend, DearMemoryHasNoPackedWeights) {
  const Product product(64, 512, 512);
  CompileOptions options;
  EXPECT_GE(CandidatesHere(product.request, options)[0].memory_bytes,
            512 * 512 * 4);
  options.memory = 1e6;
  EXPECT_EQ(CandidatesHere(product.request, options)[0].memory_bytes, 0);
}

TEST(CpuBackend, Elementwise) {
  for (const auto& [rows, columns] :
       {std::pair{3, 37}, {1, 1}, {64, 64}, {500, 1001}, {0, 5}}) {
    const Region region = Elementwise(rows, columns);
    std::vector<float> a(rows * columns), b(columns), out(a.size(), -1);
    for (size_t i = 0; i < a.size(); ++i) a[i] = 0.001f * (i % 7919) - 4;
    for (size_t i = 0; i < b.size(); ++i) b[i] = i;
    RunRegion(region, {a.data(), b.data(), out.data()}, 2);
    for (size_t i = 0; i < a.size(); ++i) {
      const float want = std::exp(a[i]) + b[i % columns];
      ASSERT_NEAR(out[i], want, 1e-6 * std::abs(want) + 1e-7) << i;
    }
  }
}

// A softmax over the last dim: three stages with a buffer between.
TEST(CpuBackend, Softmax) {
  for (const auto& [rows, columns] : {std::pair{5, 13}, {7, 128}, {3, 1000}}) {
    Region region;
    region.extents = {rows, columns};
    region.outer = 1;
    region.inputs = {{DType::kF32, {rows, columns}, {}}};
    region.outputs = region.inputs;
    const ExprId x = Load(&region, 0, {Variable(0), Variable(1)});
    const auto stage_value = [&](uint32_t stage, bool buffer) {
      Access access;
      access.source = Access::Source::kStage;
      access.number = stage;
      if (buffer) access.indices = {Variable(1)};
      Expr expr;
      expr.kind = Expr::Kind::kLoad;
      expr.number = AddAccess(&region, access);
      return AddExpr(&region, expr);
    };
    Stage max;
    max.kind = Stage::Kind::kReduce;
    max.reduced = {1};
    max.combiner = RegionCombiner::kMax;
    max.value = x;
    region.stages.push_back(max);
    Stage e;
    e.loops = {1};
    e.value = Apply(&region, Op::kExp,
                    Apply(&region, Op::kSub, x, stage_value(0, false)));
    region.stages.push_back(e);
    Stage sum;
    sum.kind = Stage::Kind::kReduce;
    sum.reduced = {1};
    sum.value = stage_value(1, true);
    region.stages.push_back(sum);
    Stage quotient;
    quotient.loops = {1};
    quotient.stores = {
        {0,
         Apply(&region, Op::kDiv, stage_value(1, true), stage_value(2, false)),
         {Variable(0), Variable(1)},
         false,
         Update::kSet}};
    region.stages.push_back(quotient);
    std::vector<float> in(rows * columns), out(in.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = std::sin(i * 1.7f) * 9;
    RunRegion(region, {in.data(), out.data()}, 1);
    for (int r = 0; r < rows; ++r) {
      double total = 0;
      for (int c = 0; c < columns; ++c) {
        total += std::exp(double{in[r * columns + c]});
      }
      for (int c = 0; c < columns; ++c) {
        const double want = std::exp(double{in[r * columns + c]}) / total;
        ASSERT_NEAR(out[r * columns + c], want, 2e-6 * want);
      }
    }
  }
}

}  // namespace
}  // namespace encore::backends::cpu
