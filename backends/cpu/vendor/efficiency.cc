#include "encore/backends/cpu/vendor/efficiency.h"

#include <algorithm>

#include "encore/backends/cpu/machine.h"

namespace encore::backends::cpu {
namespace {

struct Profile {
  Isa isa;
  double peak;          // flops per second
  double bandwidth[2];  // bytes per second, by family
  int64_t columns[2];   // what the library pads products and convolutions to
};
struct Row {
  Isa isa;
  ShapeClass shape;
  double efficiency[2];  // by family
};

constexpr Profile kProfiles[] = {
#define ENCORE_PROFILE(isa, gflops, generated, onednn, product, convolution) \
  {Isa::isa,                                                                 \
   (gflops) * 1e9,                                                           \
   {(generated) * 1e9, (onednn) * 1e9},                                      \
   {product, convolution}},
#define ENCORE_EFFICIENCY(isa, shape, generated, onednn)
#include "encore/backends/cpu/vendor/efficiency.def"
#undef ENCORE_PROFILE
#undef ENCORE_EFFICIENCY
};

constexpr Row kRowsOfTable[] = {
#define ENCORE_PROFILE(isa, gflops, generated, onednn, product, convolution)
#define ENCORE_EFFICIENCY(isa, shape, generated, onednn) \
  {Isa::isa, ShapeClass::shape, {generated, onednn}},
#include "encore/backends/cpu/vendor/efficiency.def"
#include "encore/ir/support/integers.h"
#undef ENCORE_PROFILE
#undef ENCORE_EFFICIENCY
};

constexpr std::string_view kNames[kShapeClasses] = {"kVector",
                                                    "kThin",
                                                    "kMatmul",
                                                    "kRows",
                                                    "kBatched",
                                                    "kWindow",
                                                    "kDeep",
                                                    "kLine",
                                                    "kPoint",
                                                    "kFewChannels",
                                                    "kStridedFewChannels",
                                                    "kFewResults",
                                                    "kDepthwise",
                                                    "kStridedDepthwise"};

const Profile& ProfileOf(Isa isa) {
  for (const Profile& profile : kProfiles) {
    if (profile.isa == isa) return profile;
  }
  return kProfiles[0];
}

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
  if (channels == 1 && program.groups > 1) {
    return program.strides.back() > 1 ? ShapeClass::kStridedDepthwise
                                      : ShapeClass::kDepthwise;
  }
  if (dims[1] / program.groups < 4) return ShapeClass::kFewResults;
  if (channels < 16) {
    return program.strides.back() > 1 ? ShapeClass::kStridedFewChannels
                                      : ShapeClass::kFewChannels;
  }
  int64_t points = dims[0], window = 1;
  for (size_t d = 2; d < rank; ++d) {
    points *= dims[d];
    window *= program.weights.dims[d];
  }
  if (window == 1) return ShapeClass::kPoint;
  if (rank == 3) return ShapeClass::kLine;
  return points < 400 ? ShapeClass::kDeep : ShapeClass::kWindow;
}

double Flops(KernelFamily family, Isa isa, const VendorProgram& program) {
  const bool matmul = program.kind == VendorProgram::Kind::kMatmul;
  const double depth = matmul
                           ? static_cast<double>(program.source.dims.back())
                           : Elements(program.weights) /
                                 static_cast<double>(program.weights.dims[0]);
  const double flops = 2 * Elements(program.result) * depth;
  const auto padded = [flops](int64_t extent, int64_t unit) {
    const int64_t computed = RoundUp(extent, unit);
    return flops * static_cast<double>(computed) / static_cast<double>(extent);
  };
  const std::vector<int64_t>& dims = program.result.dims;
  if (family == KernelFamily::kVendor) {
    return matmul ? padded(dims.back(), ProfileOf(isa).columns[0])
                  : padded(dims[1], ProfileOf(isa).columns[1]);
  }
  int64_t points = dims.back();
  if (!matmul && program.groups == 1) {
    for (size_t d = 2; d + 1 < dims.size(); ++d) points *= dims[d];
  }
  return padded(points, isa == Isa::kAvx512 ? 16 : 8);
}

double MovedBytes(const VendorProgram& program, bool pack) {
  return sizeof(float) * (Elements(program.source) + Elements(program.result) +
                          (pack ? 0 : Elements(program.weights)));
}

double PeakFlops(Isa isa) { return ProfileOf(isa).peak; }

double Bandwidth(KernelFamily family, Isa isa) {
  return ProfileOf(isa).bandwidth[static_cast<int>(family)];
}

double Efficiency(KernelFamily family, Isa isa, ShapeClass shape) {
  for (const Row& row : kRowsOfTable) {
    if (row.isa != isa || row.shape != shape) continue;
    return row.efficiency[static_cast<int>(family)];
  }
  return 1;
}

double LaunchSeconds(KernelFamily family, Isa isa, const VendorProgram& program,
                     bool pack) {
  return Flops(family, isa, program) /
             (PeakFlops(isa) *
              Efficiency(family, isa, ClassOf(program, pack))) +
         MovedBytes(program, pack) / Bandwidth(family, isa);
}

double VendorLoadSeconds(const VendorProgram& program) {
  const bool uneven = program.result.dims[program.split] % program.piece != 0;
  const double seconds = program.kind == VendorProgram::Kind::kMatmul
                             ? kMatmulLoadSeconds
                             : kConvolutionLoadSeconds;
  return uneven ? 2 * seconds : seconds;
}

}  // namespace encore::backends::cpu
