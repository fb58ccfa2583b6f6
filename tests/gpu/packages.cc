#include "encore/tests/gpu/packages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "encore/backends/options.h"
#include "encore/cache/package/package.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/runtime/device/thread_pool.h"

namespace encore::gpu {
namespace {

constexpr std::string_view kTexts[][2] = {
    {"layers", R"(
graph layers(%x: f32[24,64], %w: param f32[64,96], %b: param f32[96],
             %v: param f32[96,40]) -> f32[24,40] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %c = broadcast(%b) {shape = [24,96], axes = [1]}
  %s = add(%p, %c)
  %r = relu(%s)
  %q = dot_general(%r, %v) {contract = [1]x[0]}
  %y = softmax(%q) {axis = 1}
  return %y
})"},
    {"halves", R"(
graph halves(%x: f16[40,72], %w: param f16[72,80], %s: param f16[80],
             %b: param f16[80]) -> f16[40,80] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %y = layer_norm(%p, %s, %b) {axis = 1}
  return %y
})"},
    {"image", R"(
graph image(%x: f32[2,8,14,14], %w: param f32[16,8,3,3],
            %v: param f32[16,1,3,3]) -> f32[2,16,14,14] {
  %c = convolution(%x, %w) {strides = [1,1], padding_low = [1,1],
    padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1]}
  %r = relu(%c)
  %d = convolution(%r, %v) {strides = [1,1], padding_low = [1,1],
    padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1],
    feature_groups = 16}
  %y = tanh(%d)
  return %y
})"},
};

}  // namespace

std::vector<Model> Models() {
  std::vector<Model> models;
  uint64_t seed = 1;
  for (const auto& [name, text] : kTexts) {
    Model model{std::string(name), ParsedGraph(std::string(text)), {}};
    model.arguments = RandomArguments(model.graph, seed++);
    const auto& arguments = model.graph.arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].is_parameter) continue;
      model.graph.set_parameter_data(static_cast<int>(i), model.arguments[i]);
    }
    models.push_back(std::move(model));
  }
  return models;
}

std::vector<std::string> PackageTargets(std::string_view backend) {
  if (backend != "cuda") return {std::string(backend)};
  return {"cuda:a100", "cuda:h100", "cuda:b200"};
}

std::string PackagePath(const std::string& folder, const Model& model,
                        const std::string& target) {
  std::string name = target;
  std::ranges::replace(name, ':', '_');
  return StrCat(folder, "/", model.name, ".", name, ".encore");
}

Status WritePackages(const std::string& folder, std::string_view backend) {
  runtime::ThreadPool threads(1);
  for (const std::string& target : PackageTargets(backend)) {
    backends::CompileOptions options;
    options.target = target;
    cache::Session session(cache::StandardSessionOptions(options, "", 0),
                           &threads);
    for (const Model& model : Models()) {
      ENCORE_ASSIGN_OR_RETURN(const cache::Package package,
                              cache::Export(session, model.graph, {}));
      ENCORE_RETURN_IF_ERROR(
          WritePackage(package, PackagePath(folder, model, target)));
    }
  }
  return OkStatus();
}

}  // namespace encore::gpu
