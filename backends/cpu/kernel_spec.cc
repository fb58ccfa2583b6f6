#include "encore/backends/cpu/kernel_spec.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/region/codec.h"
#include "encore/ir/support/bytes.h"

namespace encore::backends::cpu {

std::string Encode(const KernelSpec& spec) {
  ByteWriter out;
  const auto region = EncodeRegion(*spec.kernel.region);
  out.Varint(region.size());
  out.Raw(region);
  out.Varint(spec.kernel.weights.size());
  for (const bool weight : spec.kernel.weights) out.Byte(weight ? 1 : 0);
  out.Varint(spec.kernel.symbols.size());
  for (const Symbol& symbol : spec.kernel.symbols) {
    out.Signed(symbol.lower);
    out.Signed(symbol.upper);
    out.Byte(symbol.at_run_time ? 1 : 0);
  }
  out.String(spec.candidate);
  out.String(Name(spec.isa));
  const auto features = RequiredFeatures(spec.isa);
  out.Varint(features.size());
  for (const std::string_view feature : features) out.String(feature);
  out.Varint(VectorBits(spec.isa));
  out.Varint(kHelperVersion);
  out.String(CodegenId());
  if (spec.candidate == kVendor) {
    // Which layouts and how much scratch the library wants.
    out.String(VendorVersion());
    out.String(HostCpu().Fingerprint());
  }
  return out.Take();
}

}  // namespace encore::backends::cpu
