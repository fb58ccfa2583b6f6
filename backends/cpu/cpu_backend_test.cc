#include "encore/backends/cpu/cpu_backend.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/kernel_binary.h"
#include "encore/backends/options.h"
#include "encore/backends/region/region.h"
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
