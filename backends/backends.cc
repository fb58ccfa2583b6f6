#include "encore/backends/backends.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "encore/backends/cpu/cpu_backend.h"
#include "encore/backends/cuda/cuda_backend.h"
#include "encore/backends/cuda/device.h"
#include "encore/backends/cuda/fake/emulated_device.h"
#include "encore/backends/find_target.h"
#include "encore/backends/host/device.h"
#include "encore/backends/host/program.h"
#include "encore/backends/ref/ref.h"
#include "encore/backends/target_text.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::backends {

std::span<const Backend* const> AllBackends() {
  static const Backend* const backends[] = {
      cpu::CpuBackend(),
      cuda::NewCudaBackend(cuda::NewDevice).release(),
      cuda::NewCudaBackend(cuda::NewEmulatedDevice, cuda::kEmulatedBackend)
          .release(),
      &ref::RefBackend(),
  };
  return backends;
}

StatusOr<const Backend*> FindBackend(std::string_view name,
                                     std::span<const Backend* const> backends) {
  ENCORE_ASSIGN_OR_RETURN(const FoundTarget found, FindTarget(name, backends));
  return found.backend;
}

StatusOr<std::vector<const Backend*>> FindBackends(
    std::string_view text, std::span<const Backend* const> backends) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string_view> targets,
                          ParseTargets(text));
  std::vector<const Backend*> found;
  for (const std::string_view target : targets) {
    ENCORE_ASSIGN_OR_RETURN(const Backend* backend,
                            FindBackend(target, backends));
    if (std::ranges::find(found, backend) == found.end()) {
      found.push_back(backend);
    }
  }
  return found;
}

StatusOr<std::vector<std::shared_ptr<runtime::Device>>> NewDevices(
    const runtime::CompiledGraph& graph,
    std::span<const Backend* const> backends) {
  std::vector<std::shared_ptr<runtime::Device>> devices;
  for (const runtime::DeviceInfo& info : graph.devices) {
    std::unique_ptr<runtime::Device> device;
    if (info.backend == host::kHostBackend) {
      ENCORE_ASSIGN_OR_RETURN(device, host::NewDevice(info.ordinal));
    } else {
      ENCORE_ASSIGN_OR_RETURN(const Backend* backend,
                              FindBackend(info.backend, backends));
      ENCORE_ASSIGN_OR_RETURN(device, backend->NewDevice(info.ordinal));
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

namespace {

// The value's text where values have names.
template <typename Value>
std::string TextOf(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(Name(value));
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "false";
  } else {
    return StrCat(value);
  }
}

// Calls visit(const OptionInfo&, field of options, default) for each option
// that is not at its default and that no backend of such a compile uses.
template <typename Options, typename Visit>
void ForEachUnused(Options& options, std::span<const Backend* const> backends,
                   const Visit& visit) {
  const auto own = FindBackends(options.target, backends);
  if (!own.ok()) return;
  // With a placement, parts may be on any of them.
  if (options.placement.empty()) backends = *own;
  const CompileOptions defaults;
  const auto fallbacks = [&](std::string_view name, auto&& use) {
    VisitOptions(defaults, [&](const OptionInfo& info, const auto& value) {
      if (info.name == name) use(value);
    });
  };
  VisitOptions(options, [&](const OptionInfo& info, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    fallbacks(info.name, [&](const auto& fallback) {
      if constexpr (std::is_same_v<std::decay_t<decltype(fallback)>, Value>) {
        if (value == fallback) return;
        if (std::ranges::any_of(backends, [&](const Backend* backend) {
              return backend->Uses(info.name);
            })) {
          return;
        }
        visit(info, value, fallback);
      }
    });
  });
}

}  // namespace

CompileOptions UsedOptions(const CompileOptions& options,
                           std::vector<std::string>* unused,
                           std::span<const Backend* const> backends) {
  CompileOptions used = options;
  ForEachUnused(used, backends,
                [&](const OptionInfo& info, auto& value, const auto& fallback) {
                  value = fallback;
                  // What has no flag nobody asked for by name.
                  if (!info.flag.empty()) unused->emplace_back(info.name);
                });
  return used;
}

Status CheckUsed(const CompileOptions& options,
                 std::span<const Backend* const> backends) {
  Status status;
  ForEachUnused(
      options, backends,
      [&](const OptionInfo& info, const auto& value, const auto& fallback) {
        if (info.unused != Unused::kRefused || !status.ok()) return;
        status = InvalidArgumentError(
            StrCat(info.flag, " ", TextOf(value), ": target ", options.target,
                   " would ignore it; it accepts ", TextOf(fallback)));
      });
  return status;
}

}  // namespace encore::backends
