// Backend: what turns regions into programs for one kind of device.
//
// Lowering asks a backend which kernels it has for a region, takes the cheapest
// candidate of each, and hands all that it chose to Compile at once, so that
// generated code can share one image. The programs run on the devices of
// devices.h under the same name.
//
// Implementations are thread-safe and keep no state that results depend on.
#ifndef ENCORE_BACKENDS_BACKEND_H_
#define ENCORE_BACKENDS_BACKEND_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/artifact_store.h"
#include "encore/backends/options.h"
#include "encore/backends/region/region.h"
#include "encore/ir/support/status.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/device/device.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::backends {

// A region that is to become a kernel.
struct KernelRequest {
  const Region* region = nullptr;
  // Per input: its value depends on parameters and constants only, so the
  // kernel may have it in a form of its own, made once by the prepare plan.
  std::vector<bool> weights;
  // Bounds of the region's symbols.
  std::span<const Symbol> symbols;
};

// A way to compute a region.
struct Candidate {
  std::string kernel;  // the backend's name of template and schedule
  double seconds = 0;  // estimate for a launch, launch overhead included
  // What a process that loads it pays once.
  double load_seconds = 0;
  // What it needs beside the region's tensors: packed inputs, scratch.
  int64_t memory_bytes = 0;
  // Layouts that this candidate wants for the region's inputs and outputs, one
  // for each; empty: as they are in the region. Otherwise it says what the
  // first candidate for WithLayouts(region, inputs, outputs) is estimated to
  // take, and is not compiled itself (lowering/layouts.h).
  std::vector<Layout> inputs, outputs;
};

// How many calls share what is paid once: at least one.
inline double CallsPerLoad(const CompileOptions& options) {
  return static_cast<double>(std::max<int64_t>(options.expect_calls, 1));
}

// What so many bytes of memory count as, in seconds of a call.
inline double MemorySeconds(double bytes, const CompileOptions& options) {
  return options.memory * 1e-6 * bytes / (1 << 20);
}

// What a call pays for a candidate: a launch, its share of what is paid at
// load, and its memory.
inline double CallSeconds(const Candidate& candidate,
                          const CompileOptions& options) {
  return candidate.seconds + candidate.load_seconds / CallsPerLoad(options) +
         MemorySeconds(static_cast<double>(candidate.memory_bytes), options);
}

// Candidates that are estimated to take longer than the cheapest by this factor
// are not measured, and need not be offered.
inline constexpr double kWorthTiming = 4;

// The code of one kernel of a compiled module; KernelBinaryOf
// (kernel_binary.h) makes a runtime::KernelBinary of it.
struct KernelCode {
  // Number of the artifact in CompiledModule::artifacts; -1: none.
  int artifact = -1;
  std::string entry;
  std::vector<std::byte> params;
  std::vector<std::string> requirements;
  // runtime::KernelBinary::identity.
  std::vector<std::byte> identity = {};
};

// An input in the kernel's own form. The prepare plan launches `code` with
// one read, the input, and one write of `bytes`; at run the kernel gets that
// instead of the input.
struct PackedInput {
  uint32_t input = 0;  // REQUIRES KernelRequest::weights[input]
  int64_t bytes = 0;
  KernelCode code;
};

// A compiled region. Its launch reads the region's inputs in order (packed
// where `packed` says so), writes its outputs in order and then `scratch` bytes
// if there are any, and gets the values of the region's symbols as args.
struct CompiledKernel {
  KernelCode code;
  std::vector<PackedInput> packed;
  Dim scratch;  // bytes, over the region's symbols
  // Pairs of input and output that may be the same memory.
  std::vector<runtime::Launch::InPlace> in_place;
};

struct Artifact {
  std::vector<std::byte> bytes;
  bool executable = false;
};

struct CompiledModule {
  std::vector<Artifact> artifacts;
  std::vector<CompiledKernel> kernels;  // one per request
};

struct CompileRequest {
  KernelRequest kernel;
  Candidate candidate;  // one that Candidates gave for it
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;

  // Everything that compiled code depends on beside graph and options: name and
  // value of each ingredient ("isa", "x86-64-v3"), for the cache key.
  virtual std::vector<std::pair<std::string, std::string>> Target(
      const CompileOptions& options) const = 0;

  // Whether what it compiles may depend on the option called `option`, a row of
  // options.def; on `ports` where its devices do not work on host memory.
  // UsedOptions (backends.h) leaves the others at their defaults.
  virtual bool Uses(std::string_view option) const = 0;

  // InvalidArgument for a value of an option that Uses says it looks at and
  // that names nothing it knows (`machine`). Whoever compiles asks before
  // anything else.
  virtual Status Check(const CompileOptions& options) const {
    static_cast<void>(options);
    return OkStatus();
  }

  // What may follow its name and a colon in a target, beside a device's number:
  // "cpu:avx2".
  virtual std::vector<std::string> variants() const { return {}; }

  // What it says of a variant that is none of these, a file's name for one: ok,
  // or what is wrong with it. Nothing where it can be none of the backend's.
  virtual std::optional<Status> CheckOtherVariant(std::string_view) const {
    return std::nullopt;
  }

  // dtypes that its kernels compute with.
  virtual std::span<const DType> dtypes() const = 0;

  // Whether kernels take sizes that are known only at a launch. Otherwise the
  // graph is specialized before it is compiled.
  virtual bool supports_symbolic_sizes() const = 0;

  // The kernels that compute `request`, each under another name; the first is
  // the cheapest by estimate and the one to take where nothing is measured.
  // Empty where there is none: fusion then tries smaller regions. A region of
  // one node whose dtypes are all in dtypes() always has one, in whatever
  // layouts it is. Each compiles, unless a library that the target names cannot
  // be loaded.
  virtual std::vector<Candidate> Candidates(
      const KernelRequest& request, const CompileOptions& options) const = 0;

  // Programs for `requests`. May use `store`, which may be null. Errors:
  // Internal, or whatever a library that fails says; never for lack of a
  // candidate that came first or that compiled before.
  virtual StatusOr<CompiledModule> Compile(
      std::span<const CompileRequest> requests, const CompileOptions& options,
      ArtifactStore* store) const = 0;

  // The device with that ordinal; NotFound where there is none.
  virtual StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const = 0;

  // Whether its devices work on host memory, so that host tensors need no Copy.
  virtual bool uses_host_memory() const = 0;

  // Whether its devices have queues (Device::queue_count), so that memory is
  // planned for steps that run beside one another.
  virtual bool has_queues() const { return false; }
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_BACKEND_H_
