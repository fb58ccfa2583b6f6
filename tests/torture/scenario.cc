#include "encore/tests/torture/scenario.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <utility>

#include "encore/cache/package/loaded.h"
#include "encore/cache/package/package.h"
#include "encore/cache/package/package_loader.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/import/import.h"
#include "encore/ir/import/onnx/test_models.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::torture {
namespace {

namespace fs = std::filesystem;
using onnx::Proto;

// y = x * w, with w in weights.bin.
constexpr int64_t kRows = 4, kColumns = 3;

std::vector<float> WeightValues() {
  std::vector<float> values;
  for (int i = 0; i < kRows * kColumns; ++i) {
    values.push_back(static_cast<float>(i % 5) - 2);
  }
  return values;
}

std::string ModelBytes() {
  Proto weights;
  weights.Int(1, kRows).Int(1, kColumns).Int(2, 1).Bytes(8, "w").Int(14, 1);
  weights.Sub(13, Proto().Bytes(1, "location").Bytes(2, "weights.bin"));
  Proto graph;
  graph.Sub(1, onnx::Node("MatMul", {"x", "w"}, {"y"})).Bytes(2, "g");
  graph.Sub(5, weights).Sub(11, onnx::TensorInput("x", {"2", "4"}));
  graph.Sub(12, Proto().Bytes(1, "y"));
  return Proto()
      .Int(1, 8)
      .Sub(8, Proto().Bytes(1, "").Int(2, 21))
      .Sub(7, graph)
      .bytes();
}

void WriteFile(const std::string& path, const void* bytes, size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(bytes),
             static_cast<std::streamsize>(size));
  file.close();
  ENCORE_CHECK(file.good()) << path;
}

}  // namespace

Scenario::Scenario(std::string folder, std::string target, int threads)
    : folder_(std::move(folder)),
      target_(std::move(target)),
      x_(DType::kF32, {2, kRows}),
      expected_(DType::kF32, {2, kColumns}),
      threads_(threads) {
  const std::vector<float> w = WeightValues();
  for (int64_t i = 0; i < 2 * kRows; ++i) {
    x_.SetDouble(i, static_cast<double>(i + 1));
  }
  // Small integers: exact in any order.
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kRows; ++k) {
        sum += x_.AsDouble(i * kRows + k) * w[k * kColumns + j];
      }
      expected_.SetDouble(i * kColumns + j, sum);
    }
  }
}

bool CodeCannotRun(const Status& status) {
  return (status.code() == StatusCode::kResourceExhausted ||
          status.code() == StatusCode::kFailedPrecondition) &&
         Message(status).find("generated code") != std::string::npos;
}

std::string ToText(const Scenario::Outcome& outcome) {
  return StrCat(outcome.is_wrong ? "wrong; " : "", "import: ", outcome.import,
                ", load: ", outcome.load, ", package: ", outcome.package);
}

void Scenario::Reset() const {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  const std::string model = ModelBytes();
  WriteFile(this->model(), model.data(), model.size());
  const std::vector<float> values = WeightValues();
  WriteFile(weights(), values.data(), values.size() * sizeof(float));
}

void Scenario::Check(const StatusOr<std::vector<Literal>>& outputs,
                     Status* status, Outcome* outcome) const {
  *status = outputs.status();
  if (!status->ok()) return;
  outcome->is_wrong |= outputs->size() != 1 || (*outputs)[0] != expected_;
}

Status Scenario::RunPackage(Outcome* outcome) const {
  ENCORE_ASSIGN_OR_RETURN(const cache::Package package,
                          cache::ReadPackage(this->package()));
  ENCORE_ASSIGN_OR_RETURN(
      const auto loaded,
      cache::LoadPackage(package, cache::StandardCompiler().devices,
                         &threads_));
  Status status;
  Check(loaded->Run({&x_, 1}), &status, outcome);
  return status;
}

Scenario::Outcome Scenario::Go(bool with_package) const {
  Outcome outcome;
  std::mutex log_mutex;  // what is written behind logs from its own thread
  const auto model = ImportModel(this->model());
  outcome.import = model.status();
  if (!model.ok()) return outcome;
  backends::CompileOptions compile;
  compile.target = target_;
  cache::SessionOptions options = cache::StandardSessionOptions(
      compile, store(), uint64_t{8} << 30, [&](std::string_view line) {
        const std::lock_guard lock(log_mutex);
        outcome.log.emplace_back(line);
      });
  options.write_behind = write_behind_;
  options.max_wait = std::chrono::milliseconds(20);
  cache::Session session(options, &threads_);
  cache::LoadOptions load;
  load.source = this->model();
  load.files = model->files;
  session.Anticipate(load.source);
  const auto loaded = session.Load(model->graph, load);
  outcome.load = loaded.status();
  outcome.statistics = session.statistics();
  if (!loaded.ok()) return outcome;
  Check((*loaded)->Run({&x_, 1}), &outcome.load, &outcome);
  if (!outcome.load.ok() || !with_package) return outcome;
  const cache::Package::Call call{{x_}, {}};
  outcome.package =
      cache::Record(session, package(), model->graph, {&call, 1}, load);
  if (outcome.package.ok()) outcome.package = RunPackage(&outcome);
  return outcome;
}

Scenario::Outcome Scenario::LoadPackage() const {
  Outcome outcome;
  outcome.package = RunPackage(&outcome);
  return outcome;
}

std::vector<std::string> LeftoversIn(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (!entry.is_regular_file()) continue;
    if (path.extension() == ".tmp" || path.parent_path().filename() == "bad" ||
        path.parent_path().filename() == "locks") {
      found.push_back(path);
    }
  }
  return found;
}

std::string Scenario::RunWithFault() const {
  const Outcome outcome = Run();
  if (outcome.is_wrong) return ToText(outcome);
  if (!outcome.load.ok() && !CodeCannotRun(outcome.load)) {
    return ToText(outcome);
  }
  for (const Status* status : {&outcome.import, &outcome.package}) {
    if (!status->ok() && !CodeCannotRun(*status) &&
        Message(*status).find(folder_) == std::string::npos) {
      return StrCat("names no path: ", ToText(outcome));
    }
  }
  return "";
}

std::string Scenario::Heal() const {
  const Outcome healed = Run();
  if (!healed.ok()) return StrCat("not healed: ", ToText(healed));
  const Outcome recalled = Run();
  if (!recalled.ok()) return StrCat("not recalled: ", ToText(recalled));
  const cache::SessionStatistics& statistics = recalled.statistics;
  if (statistics.misses != 0 || statistics.weights_prepared != 0) {
    return StrCat("not kept: ", statistics.misses, " misses, ",
                  statistics.weights_prepared, " weights prepared");
  }
  if (!recalled.log.empty()) return StrCat("logged: ", recalled.log[0]);
  const std::vector<std::string> left = LeftoversIn(folder_);
  return left.empty() ? "" : StrCat("left behind: ", left[0]);
}

}  // namespace encore::torture
