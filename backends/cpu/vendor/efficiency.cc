#include "encore/backends/cpu/vendor/efficiency.h"

#include <algorithm>

#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

struct Row {
  std::string_view machine;
  ShapeClass shape;
  VendorCosts costs;
};

constexpr Row kRowsOfTable[] = {
#define ENCORE_VENDOR_COSTS(machine, shape, efficiency, gigabytes, us) \
  {machine, ShapeClass::shape, {efficiency, (gigabytes) * 1e9, (us) * 1e-6}},
#include "encore/backends/cpu/vendor/efficiency.def"
#undef ENCORE_VENDOR_COSTS
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

// What the library pads the last dim of a product's result to, and the channels
// of a convolution's.
int64_t PaddedTo(Isa isa, bool matmul) {
  if (isa == Isa::kAvx512) return 16;
  return matmul ? 24 : 8;
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

double VendorFlops(Isa isa, const VendorProgram& program) {
  const bool matmul = program.kind == VendorProgram::Kind::kMatmul;
  const double depth = matmul
                           ? static_cast<double>(program.source.dims.back())
                           : Elements(program.weights) /
                                 static_cast<double>(program.weights.dims[0]);
  const std::vector<int64_t>& dims = program.result.dims;
  const int64_t channels = matmul ? 1 : program.weights.dims[1];
  // Each group's channels are padded, but for those of one channel.
  const int64_t groups = channels > 1 ? program.groups : 1;
  const int64_t extent = matmul ? dims.back() : dims[1] / groups;
  const int64_t computed = RoundUp(extent, PaddedTo(isa, matmul));
  return 2 * Elements(program.result) * depth * static_cast<double>(computed) /
         static_cast<double>(extent);
}

double MovedBytes(const VendorProgram& program, bool pack) {
  return sizeof(float) * (Elements(program.source) + Elements(program.result) +
                          (pack ? 0 : Elements(program.weights)));
}

const VendorCosts* FindVendorCosts(const MachineProfile& machine,
                                   ShapeClass shape) {
  for (const Row& row : kRowsOfTable) {
    if (row.machine == machine.costs && row.shape == shape) return &row.costs;
  }
  return nullptr;
}

double VendorSeconds(const MachineProfile& machine,
                     const VendorProgram& program, bool pack) {
  const VendorCosts* const costs =
      FindVendorCosts(machine, ClassOf(program, pack));
  ENCORE_CHECK(costs != nullptr) << "no costs of " << machine.costs;
  return VendorFlops(machine.isa, program) /
             (machine.f32_flops * costs->efficiency) +
         MovedBytes(program, pack) / costs->bytes_per_second +
         static_cast<double>(program.pieces()) * costs->piece_seconds;
}

double VendorLoadSeconds(const VendorProgram& program) {
  const bool uneven = program.result.dims[program.split] % program.piece != 0;
  const double seconds = program.kind == VendorProgram::Kind::kMatmul
                             ? kMatmulLoadSeconds
                             : kConvolutionLoadSeconds;
  return uneven ? 2 * seconds : seconds;
}

}  // namespace encore::backends::cpu
