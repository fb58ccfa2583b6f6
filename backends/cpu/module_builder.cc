#include "encore/backends/cpu/module_builder.h"

#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/elf/image_linker.h"
#include "encore/backends/cpu/image.h"
#include "encore/backends/cpu/kernel_generator.h"
#include "encore/backends/cpu/kernel_params.h"
#include "encore/backends/cpu/kernel_spec.h"
#include "encore/backends/cpu/relocatable_kernel.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/region/codec.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/each_on_threads.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

// Texts by their number, equal ones once.
class TextSet {
 public:
  size_t Add(const std::string& text) {
    const auto [at, is_new] = numbers_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> texts_;
};

// Kernels that are generated or found first, then compiled, kept and linked.
class ModuleBuilder {
 public:
  ModuleBuilder(Isa isa, int threads, ArtifactStore* store)
      : isa_(isa), threads_(threads), store_(store) {}

  StatusOr<CompiledModule> Build(std::span<const CompileRequest> requests) {
    module_.kernels.resize(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].candidate.kernel == kInterpreter) continue;
      Add(i, requests[i]);
    }
    ENCORE_RETURN_IF_ERROR(GenerateNew(requests));
    ENCORE_RETURN_IF_ERROR(CompileNew());
    KeepNew();
    ENCORE_RETURN_IF_ERROR(Link());
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].candidate.kernel == kInterpreter) {
        AddInterpreted(*requests[i].kernel.region, &module_.kernels[i]);
      }
    }
    return std::move(module_);
  }

 private:
  struct Entry {
    size_t number = 0;  // of the request
    // What it is kept under; empty: there is no store.
    std::string key;
    bool is_new = false;
    RelocatableKernel kernel;
  };

  KernelSpec SpecOf(const CompileRequest& request) const {
    return {request.kernel, request.candidate.kernel, isa_};
  }

  void Add(size_t number, const CompileRequest& request) {
    Entry entry;
    entry.number = number;
    entry.is_new = true;
    if (store_ != nullptr) {
      entry.key = Encode(SpecOf(request));
      if (auto known = Recall(entry.key, request.kernel)) {
        entry.kernel = *std::move(known);
        entry.is_new = false;
      }
    }
    entries_.push_back(std::move(entry));
  }

  // The texts of kernels that were not found.
  Status GenerateNew(std::span<const CompileRequest> requests) {
    std::vector<Entry*> generated;
    for (Entry& entry : entries_) {
      if (entry.is_new) generated.push_back(&entry);
    }
    std::vector<Status> statuses(generated.size(), NoMemoryToCompile());
    const auto generate = [&](size_t i) {
      auto kernel = GenerateKernel(SpecOf(requests[generated[i]->number]));
      if (kernel.ok()) generated[i]->kernel = *std::move(kernel);
      statuses[i] = kernel.status();
    };
    ForEachOnThreads(generated.size(), threads_, [&](size_t i) {
      try {
        generate(i);
      } catch (const std::bad_alloc&) {
        // It stays without memory.
      }
    });
    for (Status& status : statuses) ENCORE_RETURN_IF_ERROR(std::move(status));
    return OkStatus();
  }

  std::optional<RelocatableKernel> Recall(const std::string& key,
                                          const KernelRequest& request) const {
    const auto bytes = store_->Get(kKernelKind, key);
    if (!bytes) return std::nullopt;
    auto kernel = DecodeRelocatable(*bytes, key, request);
    if (!kernel.ok()) return std::nullopt;
    return *std::move(kernel);
  }

  // Puts objects in the place of texts.
  Status CompileNew() {
    TextSet texts;
    for (const Entry& entry : entries_) {
      if (!entry.is_new) continue;
      for (const std::string& text : entry.kernel.functions) texts.Add(text);
    }
    if (texts.texts().empty()) return OkStatus();
    ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string> objects,
                            CompileObjects(texts.texts(), isa_, threads_));
    for (Entry& entry : entries_) {
      if (!entry.is_new) continue;
      for (std::string& text : entry.kernel.functions) {
        text = objects[texts.Add(text)];
      }
    }
    return OkStatus();
  }

  void KeepNew() const {
    if (store_ == nullptr) return;
    for (const Entry& entry : entries_) {
      if (!entry.is_new) continue;
      const std::string bytes = Encode(entry.kernel, entry.key);
      store_->Put(kKernelKind, entry.key, std::as_bytes(std::span(bytes)));
    }
  }

  // The image depends on the objects alone, wherever they came from.
  Status Link() {
    TextSet objects;
    for (const Entry& entry : entries_) {
      for (const std::string& object : entry.kernel.functions) {
        objects.Add(object);
      }
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < objects.texts().size(); ++i) {
      names.push_back(StrCat("k", i));
    }
    uint64_t digest = 0;
    if (!names.empty()) {
      ENCORE_ASSIGN_OR_RETURN(std::vector<std::byte> image,
                              LinkImage(objects.texts(), names));
      ENCORE_RETURN_IF_ERROR(Image::Verify(image));
      digest = ImageDigest(image);
      module_.artifacts.push_back({std::move(image), /*executable=*/true});
    }
    for (const Entry& entry : entries_) {
      const RelocatableKernel& from = entry.kernel;
      const auto linked = [&](const RelocatableKernel::Code& code) {
        const std::string* name =
            code.function ? &names[objects.Add(from.functions[*code.function])]
                          : nullptr;
        KernelCode made = CodeOf(code, name, digest);
        made.identity = IdentityOf(from, code);
        return made;
      };
      CompiledKernel& to = module_.kernels[entry.number];
      to.code = linked(from.code);
      for (const RelocatableKernel::Packing& packing : from.packed) {
        to.packed.push_back(
            {packing.input, packing.bytes, linked(packing.code)});
      }
      to.scratch = from.scratch;
      to.in_place = from.in_place;
    }
    return OkStatus();
  }

  // `name`: of its function in the image, which has that digest; null: it has
  // none.
  KernelCode CodeOf(const RelocatableKernel::Code& from,
                    const std::string* name, uint64_t digest) const {
    KernelCode code;
    code.params = from.params;
    if (IsVendor(from.params)) {
      code.requirements.emplace_back(VendorRequirement());
    }
    for (const std::string_view feature : RequiredFeatures(isa_)) {
      code.requirements.emplace_back(feature);
    }
    if (name == nullptr) return code;
    code.artifact = 0;
    code.entry = *name;
    if (IsVendor(from.params)) {
      StatusOr<DecodedVendor> vendor = DecodeVendor(from.params);
      ENCORE_CHECK_OK(vendor.status());
      vendor->program.epilogue->image_digest = digest;
      code.params = Encode(vendor->program, /*packs=*/false);
    } else {
      StatusOr<GeneratedParams> params = DecodeGenerated(from.params);
      ENCORE_CHECK_OK(params.status());
      params->image_digest = digest;
      code.params = Encode(*params);
    }
    return code;
  }

  // Params without an image's digest, and code where there is some.
  static std::vector<std::byte> IdentityOf(
      const RelocatableKernel& kernel, const RelocatableKernel::Code& code) {
    Sha256 hash;
    hash.Update(code.params);
    if (code.function) hash.Update(kernel.functions[*code.function]);
    return hash.Finish().ToBytes();
  }

  void AddInterpreted(const Region& region, CompiledKernel* kernel) {
    kernel->code.entry = kInterpretedEntry;
    kernel->code.artifact = static_cast<int>(module_.artifacts.size());
    module_.artifacts.push_back({EncodeRegion(region), /*executable=*/false});
    kernel->code.identity = Sha256Of(module_.artifacts.back().bytes).ToBytes();
  }

  const Isa isa_;
  const int threads_;
  ArtifactStore* const store_;
  std::vector<Entry> entries_;
  CompiledModule module_;
};

}  // namespace

StatusOr<CompiledModule> BuildModule(std::span<const CompileRequest> requests,
                                     Isa isa, int threads,
                                     ArtifactStore* store) {
  return ModuleBuilder(isa, threads, store).Build(requests);
}

}  // namespace encore::backends::cpu
