#include "encore/backends/cuda/codegen/region_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "encore/backends/cuda/codegen/attention_emitter.h"
#include "encore/backends/cuda/codegen/combiner_code.h"
#include "encore/backends/cuda/codegen/expr_emitter.h"
#include "encore/backends/cuda/codegen/launch_emitter.h"
#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/backends/cuda/codegen/size_code.h"
#include "encore/backends/cuda/codegen/tile_emitter.h"
#include "encore/backends/cuda/codegen/tiles/tile_groups.h"
#include "encore/backends/region/flat/in_place.h"
#include "encore/backends/region/layout.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

// Indices and their parts stay below this where they are i32.
constexpr int64_t kMostNarrow = int64_t{1} << 30;
constexpr int64_t kScratchAlignment = 256;
constexpr int kHelperThreads = 256;
// What combine.cuh keeps, at most.
constexpr int kMostCombinerBytes = 24;

Dim Elements(const Operand& operand) {
  Dim count = 1;
  for (const Dim& dim : MemoryDims(operand.dims, operand.layout)) {
    count = count * dim;
  }
  return count;
}

Dim BlocksFor(const Dim& count, int64_t of) {
  return FloorDiv(count + Dim(of - 1), Dim(of));
}

// Whether an affine form and its parts stay narrow.
bool IsNarrow(const FlatRegion& flat, const Affine& affine) {
  if (!affine.offset.is_constant()) return false;
  int64_t reach = std::abs(int64_t{affine.offset});
  for (const auto& [v, coefficient] : affine.terms) {
    if (!coefficient.is_constant() || !flat.extents[v].is_constant()) {
      return false;
    }
    const int64_t extent = std::max<int64_t>(flat.extents[v], 1);
    const int64_t stride = std::abs(int64_t{coefficient});
    if (stride >= kMostNarrow / extent) return false;
    reach += stride * extent;
  }
  return reach < kMostNarrow;
}

// Counters run over all points; those of tiles and of attention over what is
// reduced, `apart`, and the other points.
bool IsNarrow(const FlatRegion& flat, bool apart) {
  if (flat.is_symbolic()) return false;
  const auto narrow = [&](const Affine& affine) {
    return IsNarrow(flat, affine);
  };
  const auto few = [](const Dim& count) {
    return count.is_constant() && count.constant() < kMostNarrow;
  };
  const auto operand = [&](const Operand& of) { return few(Elements(of)); };
  const auto access = [&](const FlatAccess& of) {
    return narrow(of.address) &&
           std::ranges::all_of(of.dynamic, [&](const DynamicIndex& dynamic) {
             return narrow(dynamic.index);
           });
  };
  const auto points = [&](const std::vector<uint32_t>& variables) {
    return std::max(1.0, TypicalPoints(flat, variables)) < kMostNarrow;
  };
  std::vector<uint32_t> all(flat.extents.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<uint32_t> inner(all.begin() + flat.region->outer,
                                    all.end());
  const bool counted =
      apart ? points(flat.outer) && points(inner) : points(all);
  return counted && std::ranges::all_of(flat.region->inputs, operand) &&
         std::ranges::all_of(flat.region->outputs, operand) &&
         std::ranges::all_of(flat.loads, access) &&
         std::ranges::all_of(flat.results, narrow) &&
         std::ranges::all_of(flat.stores, [&](const auto& stores) {
           return std::ranges::all_of(stores, access);
         });
}

// What of the templates that are not loops a kernel is made by: one, or none.
struct Template {
  const TilePlan* tile = nullptr;
  const TransposePlan* transpose = nullptr;
  const AttentionRegion* attention = nullptr;
  const AttentionPlan* attention_plan = nullptr;
  bool atomic = false;  // of loops: with atomic stores
};

class KernelGenerator {
 public:
  KernelGenerator(const FlatRegion& flat, KernelPlan plan, const Template& by)
      : flat_(flat),
        region_(*flat.region),
        plan_(std::move(plan)),
        tile_(by.tile),
        transpose_(by.transpose),
        attention_(by.attention),
        attention_plan_(by.attention_plan) {
    context_ = {&flat_, &plan_, !IsNarrow(flat, by.tile || by.attention),
                by.atomic};
  }

  std::optional<GeneratedKernel> Generate() {
    const std::string signature = Signature();
    const std::string scratch = PlaceScratch();
    for (uint32_t o = 0; o < region_.outputs.size(); ++o) {
      if (HasPadding(region_.outputs[o].dims, region_.outputs[o].layout)) {
        AddHelper(signature + scratch, Elements(region_.outputs[o]),
                  StrCat("out", o, "[i] = 0;\n"));
      }
    }
    for (const LaunchPlan& launch : plan_.launches) {
      std::string text = StrCat(Head(launch.threads), signature, scratch);
      LaunchEmitter(context_, launch, &text).Emit();
      Add(text + "}\n",
          {BlocksFor(Points(launch.points) * Dim(launch.pieces()),
                     launch.points_of_block()),
           1, 1},
          launch.threads);
    }
    if (tile_ != nullptr) AddTiles(signature + scratch);
    if (transpose_ != nullptr) AddTranspose(signature + scratch);
    if (attention_ != nullptr) AddAttention(signature + scratch);
    for (uint32_t o = 0; o < region_.outputs.size(); ++o) {
      const Operand& output = region_.outputs[o];
      if (!IsPacked(output.dtype)) continue;
      const Dim count = Elements(output);
      const int each = 8 / BitWidth(output.dtype);
      AddHelper(signature + scratch, BlocksFor(count, each),
                StrCat("Pack<", BitWidth(output.dtype), ">(packed", o, ", out",
                       o, ", i, ", DimCode(count), ");\n"));
    }
    for (const IndexCheck& check : region_.checks) {
      kernel_.params.checks.push_back(
          {check.node, check.component, check.axis, check.op});
    }
    kernel_.scratch = scratch_;
    if (kernel_.params.launches.size() == 1) {
      kernel_.in_place = InPlacePairs(flat_);
    }
    if (!valid_ || !scratch_.valid()) return std::nullopt;
    return std::move(kernel_);
  }

 private:
  // With `blocks`, of as many registers as let so many blocks share a
  // multiprocessor. One: of as many as a thread may have, whatever others then
  // lack: a compiler that saves some for other blocks spills.
  static std::string Head(int threads, int blocks = 0) {
    return StrCat("extern \"C\" __global__ void __launch_bounds__(", threads,
                  blocks > 0 ? StrCat(", ", blocks) : "", ") ",
                  kEntryPlaceholder, "(");
  }

  // The parameters, and the opening of the body.
  std::string Signature() const {
    std::string code;
    const auto add = [&code](auto... pieces) {
      StrAppend(&code, code.empty() ? "" : ", ", pieces...);
    };
    for (size_t i = 0; i < region_.inputs.size(); ++i) {
      add("const mem_", region_.inputs[i].dtype, "* in", i);
    }
    for (size_t o = 0; o < region_.outputs.size(); ++o) {
      const DType dtype = region_.outputs[o].dtype;
      add("mem_", dtype, "* ", IsPacked(dtype) ? "packed" : "out", o);
    }
    if (NeedsScratch()) add("u8* scratch");
    for (uint32_t a = 0; a < region_.symbols; ++a) add("i64 a", a);
    if (!region_.checks.empty()) add("Fault* fault");
    return code + ") {\n";
  }

  bool IsSplit() const { return tile_ != nullptr && tile_->pieces > 1; }
  bool IsSplitAttention() const {
    return attention_ != nullptr && attention_plan_->pieces > 1;
  }

  bool NeedsScratch() const {
    return IsSplit() || IsSplitAttention() ||
           std::ranges::find(plan_.results, Storage::kScratch) !=
               plan_.results.end() ||
           std::ranges::any_of(region_.outputs, [](const Operand& output) {
             return IsPacked(output.dtype);
           });
  }

  // Room for `bytes` of scratch, as an address.
  std::string Place(const Dim& bytes) {
    const std::string code = StrCat("scratch + ", DimCode(scratch_));
    const Dim unit(kScratchAlignment);
    scratch_ = scratch_ + BlocksFor(bytes, kScratchAlignment) * unit;
    return code;
  }

  // Declares the arrays in scratch: t<k>_<c> of a stage, out<k> of an output
  // whose elements share bytes.
  std::string PlaceScratch() {
    std::string code;
    const Dim rows = Points(flat_.outer);
    for (uint32_t s = 0; s < region_.stages.size(); ++s) {
      if (plan_.results[s] != Storage::kScratch) continue;
      const DType dtype = ResultType(region_, s);
      for (int c = 0; c < ComponentCount(region_.stages[s].combiner); ++c) {
        StrAppend(
            &code, CType(dtype), "* const t", s, "_", c, " = (", CType(dtype),
            "*)(",
            Place(rows * flat_.result_sizes[s].dim() * Dim(CTypeBytes(dtype))),
            ");\n");
      }
    }
    for (const LaunchPlan& launch : plan_.launches) {
      if (launch.pieces() == 1) continue;
      // The second launch of a scan has those of the first.
      const StagePlan& stage = launch.stages[0];
      const bool scans = region_.stages[stage.stage].kind == Stage::Kind::kScan;
      if (scans && !stage.totals) continue;
      const uint32_t s = launch.stages[0].stage;
      const std::string type = CombinerOf(region_, s).type;
      StrAppend(&code, type, "* const parts", s, " = (", type, "*)(",
                Place(Points(launch.points) *
                      Dim(launch.pieces() * kMostCombinerBytes)),
                ");\n");
    }
    if (IsSplit()) {
      const CombinerCode combiner = CombinerOf(region_, tile_->stage);
      const int64_t bytes = CTypeBytes(combiner.kept);
      StrAppend(&code, combiner.value, "* const parts = (", combiner.value,
                "*)(", Place(Points(flat_.outer) * Dim(tile_->pieces * bytes)),
                ");\n");
    }
    if (IsSplitAttention()) {
      const int64_t bytes =
          AttentionEmitter::PartElements(*attention_, *attention_plan_) *
          int64_t{sizeof(float)};
      StrAppend(&code, "f32* const parts = (f32*)(", Place(Dim(bytes)), ");\n");
    }
    for (size_t o = 0; o < region_.outputs.size(); ++o) {
      if (!IsPacked(region_.outputs[o].dtype)) continue;
      StrAppend(&code, "u8* const out", o, " = ",
                Place(Elements(region_.outputs[o])), ";\n");
    }
    return code;
  }

  Dim Points(const std::vector<uint32_t>& variables) const {
    Dim points = 1;
    for (const uint32_t v : variables) points = points * flat_.extents[v].dim();
    return points;
  }

  void AddTiles(const std::string& begin) {
    std::string text = StrCat(
        Head(tile_->threads(), tile_->tensor   ? 1
                               : context_.wide ? 0
                                               : LeastBlocks(flat_, *tile_)),
        begin);
    TileEmitter(context_, *tile_, &text).Emit();
    Add(text + "}\n",
        {BlocksFor(Points(tile_->m.rows), tile_->tile_m) *
             BlocksFor(Points(tile_->n.rows), tile_->tile_n) *
             Points(tile_->batch) * Dim(tile_->pieces),
         1, 1},
        tile_->threads(), tile_->tensor ? tile_->shared_bytes() : 0);
    if (IsSplit()) AddMerge(begin);
  }

  void AddMerge(const std::string& begin) {
    constexpr int kThreads = TileEmitter::kMergeThreads;
    std::string text = StrCat(Head(kThreads), begin);
    TileEmitter(context_, *tile_, &text).EmitMerge();
    Add(text + "}\n", {BlocksFor(Points(flat_.outer), kThreads), 1, 1},
        kThreads);
  }

  void AddTranspose(const std::string& begin) {
    const int threads = transpose_->threads();
    std::string text = StrCat(Head(threads), begin);
    EmitTranspose(context_, *transpose_, &text);
    Add(text + "}\n",
        {BlocksFor(Points({transpose_->m}), transpose_->tile()) *
             BlocksFor(Points({transpose_->n}), transpose_->tile()) *
             Points(transpose_->others),
         1, 1},
        threads);
  }

  void AddAttention(const std::string& begin) {
    const AttentionPlan& plan = *attention_plan_;
    std::string text = StrCat(Head(plan.threads(), /*blocks=*/1), begin);
    AttentionEmitter(context_, *attention_, plan, &text).Emit();
    const int64_t heads = attention_->head_count();
    Add(text + "}\n", {Dim(plan.blocks(*attention_)), 1, 1}, plan.threads());
    if (!IsSplitAttention()) return;
    constexpr int kThreads = AttentionEmitter::kMergeThreads;
    text = StrCat(Head(kThreads), begin);
    AttentionEmitter(context_, *attention_, plan, &text).EmitMerge();
    const Dim points =
        Dim(heads) * Dim(attention_->row_count()) * Dim(attention_->columns());
    Add(text + "}\n", {BlocksFor(points, kThreads), 1, 1}, kThreads);
  }

  // A launch that does `statement` for each i below `count`.
  void AddHelper(const std::string& begin, const Dim& count,
                 const std::string& statement) {
    Add(StrCat(Head(kHelperThreads), begin, "const i64 i = (i64)blockIdx.x * ",
               kHelperThreads, " + threadIdx.x;\nif (i >= ", DimCode(count),
               ") return;\n", statement, "}\n"),
        {BlocksFor(count, kHelperThreads), 1, 1}, kHelperThreads);
  }

  // Of so many bytes of dynamic shared memory.
  void Add(std::string text, std::array<Dim, 3> grid, int threads,
           int64_t shared_bytes = 0) {
    valid_ &= std::ranges::all_of(grid, &Dim::valid);
    KernelParams::Launch& launch = kernel_.params.launches.emplace_back();
    launch.grid = std::move(grid);
    launch.block = {static_cast<uint32_t>(threads), 1, 1};
    launch.shared_bytes = Dim(shared_bytes);
    kernel_.functions.push_back(std::move(text));
  }

  const FlatRegion& flat_;
  const Region& region_;
  KernelPlan plan_;
  const TilePlan* tile_;
  const TransposePlan* transpose_;
  const AttentionRegion* attention_;
  const AttentionPlan* attention_plan_;
  EmitContext context_;
  GeneratedKernel kernel_;
  Dim scratch_ = 0;
  bool valid_ = true;
};

// Of a template that keeps what stages make in registers.
KernelPlan InRegisters(const Region& region) {
  KernelPlan plan;
  for (const Stage& stage : region.stages) {
    plan.results.push_back(stage.value.valid() ? Storage::kRegister
                                               : Storage::kNone);
  }
  return plan;
}

}  // namespace

std::optional<GeneratedKernel> GenerateKernel(const FlatRegion& flat,
                                              const PlanLimits& limits) {
  return KernelGenerator(flat, MakePlan(flat, limits), {}).Generate();
}

std::optional<GeneratedKernel> GenerateAtomics(const FlatRegion& flat,
                                               const PlanLimits& limits) {
  Template by;
  by.atomic = true;
  return KernelGenerator(flat, MakeAtomicPlan(flat, limits), by).Generate();
}

std::optional<GeneratedKernel> GenerateTranspose(const FlatRegion& flat,
                                                 const TransposePlan& plan) {
  KernelPlan stages;
  stages.results.push_back(Storage::kNone);
  Template by;
  by.transpose = &plan;
  return KernelGenerator(flat, std::move(stages), by).Generate();
}

std::optional<GeneratedKernel> GenerateTiles(const FlatRegion& flat,
                                             const TilePlan& tile) {
  Template by;
  by.tile = &tile;
  return KernelGenerator(flat, InRegisters(*flat.region), by).Generate();
}

std::optional<GeneratedKernel> GenerateAttention(
    const AttentionRegion& attention, const AttentionPlan& plan) {
  Template by;
  by.attention = &attention;
  by.attention_plan = &plan;
  return KernelGenerator(attention.flat(), InRegisters(attention.region()), by)
      .Generate();
}

}  // namespace encore::backends::cuda
