#include "encore/backends/cuda/module_builder.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/codegen/device_compiler.h"
#include "encore/backends/cuda/codegen/region_kernel.h"
#include "encore/backends/cuda/kernel_params.h"
#include "encore/backends/cuda/library/recipe.h"
#include "encore/backends/cuda/requirements.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends::cuda {
namespace {

// Everything that a module depends on.
std::string KeyOf(const std::vector<Architecture>& architectures,
                  const std::string& text) {
  std::string key = StrCat("cuda, nvrtc ", NvrtcVersion(), "\n");
  for (const Architecture& architecture : architectures) {
    StrAppend(&key, Name(architecture), "\n");
  }
  return key + Sha256Of(text).ToHex();
}

// Of what a kernel computes: its code by its key, and its params.
std::vector<std::byte> IdentityOf(std::string_view key,
                                  std::span<const std::byte> params) {
  Sha256 hash;
  hash.Update(Sha256Of(key).view());
  hash.Update(params);
  return hash.Finish().ToBytes();
}

// What is kept is behind a digest of it and of its key: other bytes are as if
// nothing were there.
std::vector<std::byte> Kept(std::string_view key,
                            std::span<const std::byte> file) {
  std::vector<std::byte> bytes = IdentityOf(key, file);
  bytes.insert(bytes.end(), file.begin(), file.end());
  return bytes;
}

std::optional<std::vector<std::byte>> Recall(const std::string& key,
                                             ArtifactStore* store) {
  const auto kept = store->Get(kKernelKind, key);
  if (!kept || kept->size() < sizeof(Digest)) return std::nullopt;
  const auto file = std::span(*kept).subspan(sizeof(Digest));
  if (*kept != Kept(key, file) || !DecodeModule(file).ok()) {
    return std::nullopt;
  }
  return std::vector<std::byte>(file.begin(), file.end());
}

// The module file of each program, found or compiled and then kept.
StatusOr<std::vector<std::vector<std::byte>>> FilesOf(
    std::span<const std::string> texts,
    const std::vector<Architecture>& architectures, int threads,
    ArtifactStore* store) {
  std::vector<std::vector<std::byte>> files(texts.size());
  std::vector<size_t> missing;
  std::vector<std::string> missing_texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::optional<std::vector<std::byte>> known;
    if (store != nullptr) known = Recall(KeyOf(architectures, texts[i]), store);
    if (known) {
      files[i] = *std::move(known);
      continue;
    }
    missing.push_back(i);
    missing_texts.push_back(texts[i]);
  }
  ENCORE_ASSIGN_OR_RETURN(
      auto made, CompilePrograms(missing_texts, architectures, threads));
  for (size_t i = 0; i < missing.size(); ++i) {
    if (store != nullptr) {
      const std::string key = KeyOf(architectures, missing_texts[i]);
      store->Put(kKernelKind, key, Kept(key, made[i]));
    }
    files[missing[i]] = std::move(made[i]);
  }
  return files;
}

// The generated kernel beside the recipe, as that has it.
StatusOr<CompiledKernel> AddLibraryKernel(const CompileRequest& request,
                                          const CompileOptions& options,
                                          const PlanLimits& limits,
                                          KernelProgram* program) {
  const auto found = FindLibraryCandidate(request.kernel, options);
  if (!found) {
    return InternalError(StrCat("no cuda kernel called ",
                                request.candidate.kernel, " for the region"));
  }
  CompileRequest beside = request;
  beside.candidate = found->generated;
  ENCORE_ASSIGN_OR_RETURN(CompiledKernel kernel,
                          AddKernel(beside, options, limits, program));
  const LibraryRecipe& recipe = found->recipe;
  const int64_t generated = kernel.scratch.constant();
  kernel.code.params = Encode(
      LibraryParams{.recipe = recipe,
                    .generated = found->generated.kernel,
                    .generated_writes = recipe.d.buffer + 1 + (generated > 0),
                    .params = std::move(kernel.code.params)});
  if (recipe.workspace_bytes > 0) {
    kernel.scratch =
        Dim(std::max(generated, recipe.workspace_bytes + kWorkspaceAlignment -
                                    runtime::kAlignment));
  }
  // The library reads factors while it writes.
  std::erase_if(kernel.in_place, [&](const auto& pair) {
    return !recipe.c || pair.read != recipe.c->buffer ||
           pair.read == recipe.a.buffer || pair.read == recipe.b.buffer ||
           recipe.c->offset != recipe.d.offset ||
           recipe.c->pitch != recipe.d.pitch ||
           recipe.c->batch_stride != recipe.d.batch_stride;
  });
  return kernel;
}

}  // namespace

StatusOr<CompiledKernel> AddKernel(const CompileRequest& request,
                                   const CompileOptions& options,
                                   const PlanLimits& limits,
                                   KernelProgram* program) {
  if (request.candidate.kernel == kCublasLtKernel) {
    return AddLibraryKernel(request, options, limits, program);
  }
  std::optional<GeneratedKernel> generated = GenerateCandidate(
      request.kernel, request.candidate.kernel, options, limits);
  if (!generated) {
    return InternalError(StrCat("no cuda kernel called ",
                                request.candidate.kernel, " for the region"));
  }
  const Region& region = *request.kernel.region;
  const size_t arguments =
      region.inputs.size() + region.outputs.size() + region.symbols + 2;
  if (arguments > kMostArguments) {
    return InternalError(StrCat("a cuda kernel with ", arguments,
                                " arguments, at most ", kMostArguments));
  }
  CompiledKernel kernel;
  KernelParams& params = generated->params;
  for (size_t i = 0; i < generated->functions.size(); ++i) {
    params.launches[i].entry = program->Add(generated->functions[i]);
  }
  if (!params.launches.empty()) kernel.code.entry = params.launches[0].entry;
  kernel.code.params = Encode(params);
  kernel.scratch = generated->scratch;
  kernel.in_place = std::move(generated->in_place);
  return kernel;
}

StatusOr<CompiledModule> BuildModule(
    std::span<const CompileRequest> requests, const CompileOptions& options,
    const std::vector<Architecture>& architectures, int threads,
    ArtifactStore* store) {
  CompiledModule module;
  std::vector<std::string> texts;  // of programs, each once
  std::map<std::string, size_t> numbers;
  const std::vector<std::string> requirements =
      RequirementsOf(architectures[0], NvrtcDriver());
  for (const CompileRequest& request : requests) {
    KernelProgram program;
    ENCORE_ASSIGN_OR_RETURN(
        CompiledKernel kernel,
        AddKernel(request, options, PlanLimits(), &program));
    const auto [at, is_new] = numbers.emplace(program.Text(), texts.size());
    if (is_new) texts.push_back(at->first);
    kernel.code.artifact = static_cast<int>(at->second);
    kernel.code.requirements = requirements;
    kernel.code.identity =
        IdentityOf(KeyOf(architectures, at->first), kernel.code.params);
    module.kernels.push_back(std::move(kernel));
  }
  ENCORE_ASSIGN_OR_RETURN(auto files,
                          FilesOf(texts, architectures, threads, store));
  for (std::vector<std::byte>& file : files) {
    module.artifacts.push_back({std::move(file), /*executable=*/true});
  }
  return module;
}

}  // namespace encore::backends::cuda
