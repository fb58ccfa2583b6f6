#include "encore/backends/cpu/vendor/efficiency.h"

#include <algorithm>

namespace encore::backends::cpu {
namespace {

struct Profile {
  Isa isa;
  double flops, bytes;  // per second
};
struct Row {
  Isa isa;
  ShapeClass shape;
  double generated, vendor;
};

constexpr Profile kProfiles[] = {
#define ENCORE_PROFILE(isa, gflops, gbytes) \
  {Isa::isa, gflops * 1e9, gbytes * 1e9},
#define ENCORE_EFFICIENCY(isa, shape, generated, vendor)
#include "encore/backends/cpu/vendor/efficiency.def"
#undef ENCORE_PROFILE
#undef ENCORE_EFFICIENCY
};

constexpr Row kRowsOfTable[] = {
#define ENCORE_PROFILE(isa, gflops, gbytes)
#define ENCORE_EFFICIENCY(isa, shape, generated, vendor) \
  {Isa::isa, ShapeClass::shape, generated, vendor},
#include "encore/backends/cpu/vendor/efficiency.def"
#undef ENCORE_PROFILE
#undef ENCORE_EFFICIENCY
};

constexpr std::string_view kNames[kShapeClasses] = {
    "kVector", "kThin", "kMatmul",      "kRows",     "kBatched",
    "kWindow", "kDeep", "kFewChannels", "kDepthwise"};

constexpr double kMatmulLoadSeconds = 0.7e-3;
constexpr double kConvolutionLoadSeconds = 1e-3;

double Elements(const VendorTensor& tensor) {
  double elements = 1;
  for (const int64_t extent : tensor.dims) {
    elements *= static_cast<double>(extent);
  }
  return elements;
}

}  // namespace

std::string_view Name(ShapeClass shape) {
  return kNames[static_cast<int>(shape)];
}

ShapeClass ClassOf(const VendorProgram& program, bool pack) {
  const std::vector<int64_t>& dims = program.result.dims;
  const size_t rank = dims.size();
  if (program.kind == VendorProgram::Kind::kMatmul) {
    if (rank > 2) return ShapeClass::kBatched;
    if (!pack) return ShapeClass::kRows;
    if (dims[0] <= 4) return ShapeClass::kVector;
    return dims[0] < 32 ? ShapeClass::kThin : ShapeClass::kMatmul;
  }
  const int64_t channels = program.weights.dims[1];
  if (channels == 1 && program.groups > 1) return ShapeClass::kDepthwise;
  if (channels < 16) return ShapeClass::kFewChannels;
  int64_t points = dims[0];
  for (size_t d = 2; d < rank; ++d) points *= dims[d];
  return points < 400 ? ShapeClass::kDeep : ShapeClass::kWindow;
}

double RooflineSeconds(const VendorProgram& program, Isa isa) {
  const bool matmul = program.kind == VendorProgram::Kind::kMatmul;
  const double depth = matmul
                           ? static_cast<double>(program.source.dims.back())
                           : Elements(program.weights) /
                                 static_cast<double>(program.weights.dims[0]);
  const double flops = 2 * Elements(program.result) * depth;
  const double bytes =
      4 * (Elements(program.source) + Elements(program.weights) +
           Elements(program.result));
  for (const Profile& profile : kProfiles) {
    if (profile.isa != isa) continue;
    return std::max(flops / profile.flops, bytes / profile.bytes);
  }
  return 0;
}

double Efficiency(KernelFamily family, Isa isa, ShapeClass shape) {
  for (const Row& row : kRowsOfTable) {
    if (row.isa != isa || row.shape != shape) continue;
    return family == KernelFamily::kGenerated ? row.generated : row.vendor;
  }
  return 1;
}

double VendorLoadSeconds(const VendorProgram& program) {
  const bool uneven = program.result.dims[program.split] % program.piece != 0;
  const double seconds = program.kind == VendorProgram::Kind::kMatmul
                             ? kMatmulLoadSeconds
                             : kConvolutionLoadSeconds;
  return uneven ? 2 * seconds : seconds;
}

}  // namespace encore::backends::cpu
