// WrappedBackend: another backend, of which a test changes a part.
#ifndef ENCORE_BACKENDS_CONFORMANCE_WRAPPED_BACKEND_H_
#define ENCORE_BACKENDS_CONFORMANCE_WRAPPED_BACKEND_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"

namespace encore::backends {

class WrappedBackend : public Backend {
 public:
  // `inner` outlives this.
  explicit WrappedBackend(const Backend& inner) : inner_(inner) {}

  std::string_view name() const override { return inner_.name(); }
  std::vector<std::pair<std::string, std::string>> Target(
      const CompileOptions& options) const override {
    return inner_.Target(options);
  }
  bool Uses(std::string_view option) const override {
    return inner_.Uses(option);
  }
  Status Check(const CompileOptions& options) const override {
    return inner_.Check(options);
  }
  std::span<const DType> dtypes() const override { return inner_.dtypes(); }
  bool supports_symbolic_sizes() const override {
    return inner_.supports_symbolic_sizes();
  }
  bool uses_host_memory() const override { return inner_.uses_host_memory(); }
  bool has_queues() const override { return inner_.has_queues(); }
  std::vector<Candidate> Candidates(
      const KernelRequest& request,
      const CompileOptions& options) const override {
    return inner_.Candidates(request, options);
  }
  StatusOr<CompiledModule> Compile(std::span<const CompileRequest> requests,
                                   const CompileOptions& options,
                                   ArtifactStore* store) const override {
    return inner_.Compile(requests, options, store);
  }
  StatusOr<std::unique_ptr<runtime::Device>> NewDevice(
      uint32_t ordinal) const override {
    return inner_.NewDevice(ordinal);
  }

 protected:
  const Backend& inner() const { return inner_; }

 private:
  const Backend& inner_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_WRAPPED_BACKEND_H_
