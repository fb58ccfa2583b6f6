#include "encore/backends/cpu/vendor/kernel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/plan.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

using runtime::LaunchContext;

constexpr size_t kMostBuffers = 64;

constexpr int64_t kLine = 64;

int64_t SumBytes(const VendorProgram& program) {
  return program.sums_in_scratch ? RoundUp(BytesNeeded(program.result), kLine)
                                 : 0;
}

// `plan_bytes`: what the primitives want.
int64_t ScratchBytes(const VendorProgram& program, int64_t plan_bytes) {
  const int64_t copies = program.epilogue_steps.empty() ? 1 : program.pieces();
  return SumBytes(program) + plan_bytes +
         copies * RoundUp(program.epilogue_scratch, kLine);
}

// What the library computes of a program, as bytes.
std::vector<std::byte> PlanKey(const VendorProgram& program, bool pack) {
  VendorProgram key = program;
  key.source.buffer = key.weights.buffer = key.result.buffer = 0;
  key.packed_bytes = pack ? 1 : 0;
  key.packed_layout = 0;
  key.scratch_bytes = 0;
  key.sums_in_scratch = false;
  key.epilogue.reset();
  return Encode(key, false);
}

// What the library wants for a program.
struct Needs {
  int64_t packed_bytes = 0;
  uint64_t packed_layout = 0;
  int64_t scratch_bytes = 0;
};

// The primitives of the process that are alive, by what they compute; what
// those that were ever asked for need, and which of them there are.
class Plans {
 public:
  StatusOr<Needs> Ask(const VendorProgram& program, bool pack) {
    const std::vector<std::byte> key = PlanKey(program, pack);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto known = needs_.find(key);
      if (known != needs_.end()) return known->second;
    }
    const auto plan = Get(program, pack);
    const auto needs = [&]() -> StatusOr<Needs> {
      if (!plan.ok()) return plan.status();
      return Needs{(*plan)->packed_bytes(), (*plan)->packed_layout(),
                   (*plan)->scratch_bytes()};
    };
    const auto found = needs();
    if (found.status().code() == StatusCode::kResourceExhausted) return found;
    const std::lock_guard<std::mutex> lock(mutex_);
    return needs_.emplace(key, found).first->second;
  }

  // Not under the lock, which others need to launch what packs weights: the
  // library may be asked by several threads at once, and says the same to all.
  Status Check(const VendorProgram& program, bool pack) {
    const std::vector<std::byte> key = PlanKey(program, pack);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto known = checks_.find(key);
      if (known != checks_.end()) return known->second;
    }
    ENCORE_ASSIGN_OR_RETURN(const VendorLibrary* const library,
                            LoadVendorLibrary());
    const Status checked = VendorPlan::Check(*library, program, pack);
    // Memory may be there the next time.
    if (checked.code() == StatusCode::kResourceExhausted) return checked;
    const std::lock_guard<std::mutex> lock(mutex_);
    return checks_.emplace(key, checked).first->second;
  }

  StatusOr<std::shared_ptr<const VendorPlan>> Get(const VendorProgram& program,
                                                  bool pack) {
    const std::vector<std::byte> bytes = PlanKey(program, pack);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::weak_ptr<const VendorPlan>& known = plans_[bytes];
    if (std::shared_ptr<const VendorPlan> plan = known.lock()) return plan;
    ENCORE_ASSIGN_OR_RETURN(const VendorLibrary* const library,
                            LoadVendorLibrary());
    ENCORE_ASSIGN_OR_RETURN(std::unique_ptr<VendorPlan> made,
                            VendorPlan::Make(*library, program, pack));
    std::shared_ptr<const VendorPlan> plan = std::move(made);
    known = plan;
    ++made_;
    return plan;
  }

  VendorCounts Count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    VendorCounts counts{made_, 0};
    for (const auto& [key, plan] : plans_) counts.alive += !plan.expired();
    return counts;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<std::byte>, std::weak_ptr<const VendorPlan>> plans_;
  std::map<std::vector<std::byte>, StatusOr<Needs>> needs_;
  std::map<std::vector<std::byte>, Status> checks_;
  int64_t made_ = 0;
};

Plans& ThePlans() {
  static auto* const plans = new Plans;
  return *plans;
}

// The plan of a program that was completed earlier, if the library still means
// the same by it.
StatusOr<std::shared_ptr<const VendorPlan>> PlanOf(
    const VendorProgram& program) {
  ENCORE_ASSIGN_OR_RETURN(const std::shared_ptr<const VendorPlan> plan,
                          ThePlans().Get(program, program.packed_bytes > 0));
  if (plan->packed_bytes() != program.packed_bytes ||
      plan->packed_layout() != program.packed_layout ||
      ScratchBytes(program, plan->scratch_bytes()) > program.scratch_bytes) {
    return FailedPreconditionError(
        "oneDNN wants other layouts on this machine than where the program was "
        "compiled");
  }
  return plan;
}

// The first error of work on several threads.
class FirstError {
 public:
  void Add(Status status) {
    if (status.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first_.ok()) first_ = std::move(status);
  }
  Status Take() { return std::move(first_); }

 private:
  std::mutex mutex_;
  Status first_;
};

class VendorKernel : public runtime::Kernel {
 public:
  VendorKernel(VendorProgram program, std::shared_ptr<const VendorPlan> plan,
               uint32_t reads, uint32_t writes, KernelFunction epilogue,
               std::shared_ptr<const void> image)
      : program_(std::move(program)),
        plan_(std::move(plan)),
        reads_(reads),
        buffers_(reads + writes),
        epilogue_(epilogue),
        image_(std::move(image)) {}

  Status Launch(const LaunchContext& context) const override {
    ENCORE_RETURN_IF_ERROR(CheckBufferSizes(context));
    const auto buffer = [&](uint32_t number) {
      return static_cast<std::byte*>(context.buffers[number]);
    };
    std::byte* scratch = nullptr;
    if (program_.scratch_bytes > 0) scratch = buffer(buffers_ - 1);
    std::byte* const sums =
        program_.sums_in_scratch ? scratch : buffer(program_.result.buffer);
    std::byte* const own = scratch + SumBytes(program_);
    const std::byte* const source = buffer(program_.source.buffer);
    const std::byte* const weights = buffer(program_.weights.buffer);
    FirstError error;
    context.threads->ParallelFor(plan_->source_parts(), [&](int64_t part) {
      error.Add(plan_->RunSourcePart(part, source, own));
    });
    const bool sliced = !program_.epilogue_steps.empty();
    context.threads->ParallelFor(program_.pieces(), [&](int64_t piece) {
      error.Add(plan_->RunPiece(piece, source, weights, sums, own));
      if (!sliced) return;
      for (int64_t i = 0; i < program_.epilogue->partitions; ++i) {
        RunEpilogue(context, sums, own, piece, i);
      }
    });
    if (epilogue_ != nullptr && !sliced) {
      context.threads->ParallelFor(
          program_.epilogue->partitions,
          [&](int64_t i) { RunEpilogue(context, sums, own, 0, i); });
    }
    return error.Take();
  }

 private:
  Status CheckBufferSizes(const LaunchContext& context) const {
    const auto fits = [&](uint32_t number, int64_t bytes) {
      return context.sizes[number] >= bytes;
    };
    if (fits(program_.source.buffer, BytesNeeded(program_.source)) &&
        fits(program_.weights.buffer, program_.packed_bytes > 0
                                          ? program_.packed_bytes
                                          : BytesNeeded(program_.weights)) &&
        (program_.sums_in_scratch ||
         fits(program_.result.buffer, BytesNeeded(program_.result))) &&
        (program_.scratch_bytes == 0 ||
         fits(buffers_ - 1, program_.scratch_bytes))) {
      return OkStatus();
    }
    return DataLossError("a vendor kernel's buffers are too small for it");
  }

  void RunEpilogue(const LaunchContext& context, std::byte* sums,
                   std::byte* own, int64_t piece, int64_t partition) const {
    std::array<void*, kMostBuffers + 2> buffers;
    size_t count = 0;
    const auto add = [&](void* address) {
      const std::vector<int64_t>& steps = program_.epilogue_steps;
      const int64_t step = count < steps.size() ? steps[count] : 0;
      buffers[count++] = static_cast<std::byte*>(address) + piece * step;
    };
    const uint32_t outputs = buffers_ - (program_.scratch_bytes > 0 ? 1 : 0);
    for (uint32_t b = 0; b < reads_; ++b) add(context.buffers[b]);
    add(sums);
    for (uint32_t b = reads_; b < outputs; ++b) add(context.buffers[b]);
    buffers[count] =
        own == nullptr ? nullptr
                       : own + plan_->scratch_bytes() +
                             piece * RoundUp(program_.epilogue_scratch, kLine);
    epilogue_(buffers.data(), context.args, partition, &Helpers());
  }

  VendorProgram program_;
  std::shared_ptr<const VendorPlan> plan_;
  uint32_t reads_, buffers_;
  KernelFunction epilogue_;
  std::shared_ptr<const void> image_;
};

// Packs weights, rarely: its primitives are made at the launch.
class PackKernel : public runtime::Kernel {
 public:
  explicit PackKernel(VendorProgram program) : program_(std::move(program)) {}

  Status Launch(const LaunchContext& context) const override {
    if (context.sizes[0] < BytesNeeded(program_.weights) ||
        context.sizes[1] < program_.packed_bytes) {
      return DataLossError("a vendor kernel's weights are too small for it");
    }
    ENCORE_ASSIGN_OR_RETURN(const auto plan, PlanOf(program_));
    return plan->Pack(static_cast<const std::byte*>(context.buffers[0]),
                      static_cast<std::byte*>(context.buffers[1]));
  }

 private:
  VendorProgram program_;
};

Status CheckBuffers(const VendorProgram& program,
                    const runtime::KernelBinary& loaded) {
  const uint64_t buffers = uint64_t{loaded.reads} + loaded.writes;
  const uint64_t outputs = buffers - (program.scratch_bytes > 0 ? 1 : 0);
  if (buffers <= kMostBuffers && loaded.writes > 0 &&
      program.source.buffer < loaded.reads &&
      program.weights.buffer < loaded.reads && outputs > loaded.reads &&
      (program.sums_in_scratch || (program.result.buffer >= loaded.reads &&
                                   program.result.buffer < outputs)) &&
      (!program.sums_in_scratch || program.scratch_bytes > 0) &&
      (program.epilogue_steps.empty() ||
       program.epilogue_steps.size() == outputs + 1)) {
    return OkStatus();
  }
  return DataLossError("a vendor kernel does not fit its buffers");
}

}  // namespace

StatusOr<std::unique_ptr<runtime::Kernel>> LoadVendor(
    const DecodedVendor& decoded, const runtime::KernelBinary& program,
    KernelFunction epilogue, std::shared_ptr<const void> image) {
  if (decoded.packs) {
    if (program.reads != 1 || program.writes != 1) {
      return DataLossError("a vendor kernel does not fit its buffers");
    }
    return std::make_unique<PackKernel>(decoded.program);
  }
  ENCORE_RETURN_IF_ERROR(CheckBuffers(decoded.program, program));
  if (decoded.program.epilogue.has_value() != (epilogue != nullptr)) {
    return DataLossError("a vendor kernel without its epilogue");
  }
  ENCORE_ASSIGN_OR_RETURN(std::shared_ptr<const VendorPlan> plan,
                          PlanOf(decoded.program));
  return std::make_unique<VendorKernel>(decoded.program, std::move(plan),
                                        program.reads, program.writes, epilogue,
                                        std::move(image));
}

Status CompleteVendor(bool pack, VendorProgram* program) {
  ENCORE_ASSIGN_OR_RETURN(const Needs needs, ThePlans().Ask(*program, pack));
  program->packed_bytes = needs.packed_bytes;
  program->packed_layout = needs.packed_layout;
  program->scratch_bytes = ScratchBytes(*program, needs.scratch_bytes);
  return OkStatus();
}

Status CheckVendor(bool pack, const VendorProgram& program) {
  return ThePlans().Check(program, pack);
}

VendorCounts CountVendorPrimitives() { return ThePlans().Count(); }

}  // namespace encore::backends::cpu
