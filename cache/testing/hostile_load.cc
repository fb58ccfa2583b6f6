#include "encore/cache/testing/hostile_load.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/cache/key/ingredients.h"
#include "encore/cache/package/package.h"
#include "encore/cache/package/package_graph.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/store/container.h"
#include "encore/cache/store/disk_store.h"
#include "encore/cache/store/entry.h"
#include "encore/cache/testing/bounded_devices.h"
#include "encore/cache/testing/bounded_run.h"
#include "encore/ir/graph/stencil.h"
#include "encore/ir/support/check.h"
#include "encore/runtime/device/thread_pool.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/replay/executable.h"
#include "encore/runtime/replay/weights.h"
#include "encore/runtime/testing/text_law.h"

namespace encore::cache {
namespace {

constexpr int64_t kWork = 1 << 20;

// A status that somebody gets to read.
void CheckClear(const Status& status, std::initializer_list<StatusCode> codes) {
  if (status.ok()) return;
  ENCORE_CHECK(!Message(status).empty());
  ENCORE_CHECK(std::ranges::count(codes, status.code()) > 0) << status;
}
void CheckDamage(const Status& status) {
  CheckClear(status, {StatusCode::kDataLoss});
}
// Of code that is sound: what it computes, and with what, may be wrong.
void CheckRun(const Status& status) {
  CheckClear(status, {StatusCode::kDataLoss, StatusCode::kFailedPrecondition,
                      StatusCode::kNotFound, StatusCode::kResourceExhausted,
                      StatusCode::kInvalidArgument, StatusCode::kOutOfRange,
                      StatusCode::kCancelled, StatusCode::kUnimplemented});
}

runtime::ThreadPool& Threads() {
  static runtime::ThreadPool threads(1);
  return threads;
}

std::shared_ptr<const Container> OpenHostile(std::string bytes) {
  auto container = Container::FromBytes(std::move(bytes));
  CheckClear(container.status(),
             {StatusCode::kDataLoss, StatusCode::kFailedPrecondition});
  if (!container.ok()) return nullptr;
  CheckDamage((*container)->VerifyAll());
  return *std::move(container);
}

// Of a plan that verifies: it is what its bytes and its text say.
void CheckPlanLaws(const runtime::CompiledGraph& graph) {
  const auto bytes = runtime::SerializeCompiledGraph(graph);
  const auto again = runtime::ParseCompiledGraph(bytes, nullptr);
  ENCORE_CHECK_OK(again.status());
  ENCORE_CHECK(runtime::SerializeCompiledGraph(*again) == bytes);
  const std::string broken = runtime::BrokenTextLaw(graph);
  ENCORE_CHECK(broken.empty()) << broken;
}

// What is done with a package whose code is not trusted, up to compiling it.
void CheckGraphLaws(const Package& package) {
  CheckDamage(OptionsOf(package).status());
  for (const bool named : {false, true}) {
    const auto graph = named ? NamedGraphOf(package) : GraphOf(package);
    CheckDamage(graph.status());
    if (!graph.ok()) continue;
    const auto ingredients = DecodeIngredients(package.ingredients);
    ENCORE_CHECK_OK(ingredients.status());
    ENCORE_CHECK(MakeStencil(*graph).bytes == ingredients->stencil);
  }
}

DeviceMaker NewBoundedDevices() {
  auto budget = std::make_shared<WorkBudget>();
  budget->left = kWork;
  return [budget](const runtime::CompiledGraph& graph) {
    return BoundedDevices(graph, budget);
  };
}

Reached Run(const std::shared_ptr<const runtime::Executable>& executable,
            const std::shared_ptr<const runtime::Weights>& weights,
            std::span<const Literal> inputs) {
  CheckRun(RunBriefly(executable, weights, inputs, &Threads()));
  return Reached::kRun;
}

std::shared_ptr<const runtime::Executable> PutOnDevices(
    runtime::CompiledGraph graph) {
  const auto plan =
      std::make_shared<const runtime::CompiledGraph>(std::move(graph));
  auto devices = NewBoundedDevices()(*plan);
  CheckRun(devices.status());
  if (!devices.ok()) return nullptr;
  auto executable =
      runtime::Executable::Load(plan, *std::move(devices), &Threads());
  CheckRun(executable.status());
  return executable.ok() ? *executable : nullptr;
}

// Zeros for parameters, where the program is not too large.
std::shared_ptr<const runtime::Weights> ZeroWeights(
    const std::shared_ptr<const runtime::Executable>& executable) {
  const runtime::CompiledGraph& graph = executable->graph();
  if (!PrepareEndsSoon(graph)) return nullptr;
  const auto parameters = SmallValues(graph, graph.parameters);
  if (!parameters) return nullptr;
  std::vector<runtime::Blob> blobs;
  for (const Literal& value : *parameters) {
    if (value.kind() != ValueKind::kTensor || IsString(value.dtype())) {
      return nullptr;
    }
    blobs.push_back(runtime::Blob::Copy(value.bytes()));
  }
  auto weights = runtime::Weights::Prepare(executable, blobs, &Threads());
  CheckRun(weights.status());
  return weights.ok() ? *weights : nullptr;
}

}  // namespace

Reached LoadHostilePackage(std::string bytes) {
  const auto container = OpenHostile(std::move(bytes));
  if (container == nullptr) return Reached::kNothing;
  const auto package = ReadPackage(container);
  CheckDamage(package.status());
  if (!package.ok()) return Reached::kContainer;
  CheckGraphLaws(*package);
  const Status checked = CheckPackage(*package);
  CheckDamage(checked);
  if (!checked.ok()) return Reached::kContents;
  ENCORE_CHECK_OK(runtime::VerifyPlan(*package->graph));
  CheckPlanLaws(*package->graph);
  if (package->derived.empty() && !PrepareEndsSoon(*package->graph)) {
    return Reached::kPlan;
  }
  const auto loaded = LoadPackage(*package, NewBoundedDevices(), &Threads());
  CheckRun(loaded.status());
  if (!loaded.ok()) return Reached::kPlan;
  const auto& executable = (*loaded)->compiled().executable;
  Reached reached = Reached::kPlan;
  for (size_t i = 0; i < std::min<size_t>(package->calls.size(), 4); ++i) {
    reached = Run(executable, (*loaded)->weights(), package->calls[i].inputs);
  }
  if (reached == Reached::kRun) return reached;
  const auto inputs =
      SmallValues((*loaded)->graph(), (*loaded)->graph().inputs);
  return inputs ? Run(executable, (*loaded)->weights(), *inputs) : reached;
}

Reached LoadHostileEntry(std::string bytes) {
  const auto container = OpenHostile(std::move(bytes));
  if (container == nullptr) return Reached::kNothing;
  const auto ingredients = ReadEntryIngredients(*container);
  const auto table = ReadEntryMeasurements(*container);
  CheckDamage(ingredients.status());
  CheckDamage(table.status());
  if (!ingredients.ok()) return Reached::kContainer;
  ENCORE_CHECK_OK(CheckEntry(*container, *ingredients));
  KeyIngredients others = *ingredients;
  others.stencil += "!";
  CheckClear(CheckEntry(*container, others), {StatusCode::kFailedPrecondition});
  CheckClear(CheckAddress(*container, kGraphKind, KeyOf(*ingredients)),
             {StatusCode::kDataLoss, StatusCode::kNotFound});
  auto plan = ReadEntry(container);
  CheckDamage(plan.status());
  if (!plan.ok() || !table.ok()) return Reached::kContainer;
  const auto executable = PutOnDevices(*std::move(plan));
  if (executable == nullptr) return Reached::kContents;
  const runtime::CompiledGraph& graph = executable->graph();
  ENCORE_CHECK_OK(runtime::VerifyPlan(graph));
  CheckPlanLaws(graph);
  const auto weights = ZeroWeights(executable);
  const auto inputs = SmallValues(graph, graph.inputs);
  if (weights == nullptr || !inputs) return Reached::kPlan;
  return Run(executable, weights, *inputs);
}

Reached ReadHostileContainer(std::string bytes) {
  const auto container = OpenHostile(std::move(bytes));
  if (container == nullptr) return Reached::kNothing;
  for (const Section& section : container->sections()) {
    const Section* found = container->Find(section.type, section.index);
    ENCORE_CHECK(found != nullptr && found->offset == section.offset);
    ENCORE_CHECK(section.index < container->Count(section.type));
    const auto read = container->Read(section.type, section.index);
    CheckDamage(read.status());
    ENCORE_CHECK_EQ(read.ok(), container->Verify(section).ok());
  }
  const Status address = CheckAddress(*container, kGraphKind, Digest());
  CheckClear(address, {StatusCode::kDataLoss, StatusCode::kNotFound});
  return Reached::kContainer;
}

}  // namespace encore::cache
