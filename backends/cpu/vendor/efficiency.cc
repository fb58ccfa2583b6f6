#include "encore/backends/cpu/vendor/efficiency.h"

#include <algorithm>

#include "encore/backends/cpu/machine.h"
#include "encore/backends/cpu/profile/strided_reads.h"
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
#define ENCORE_VENDOR_SECOND_FACTORS(machine, gigabytes, crowded)
#include "encore/backends/cpu/vendor/efficiency.def"
#undef ENCORE_VENDOR_SECOND_FACTORS
#undef ENCORE_VENDOR_COSTS
};

struct SecondFactors {
  std::string_view machine;
  double turned_bytes_per_second;
  double crowded;  // what sums take beyond, as a share
};

constexpr SecondFactors kSecondFactors[] = {
#define ENCORE_VENDOR_COSTS(machine, shape, efficiency, gigabytes, us)
#define ENCORE_VENDOR_SECOND_FACTORS(machine, gigabytes, crowded) \
  {machine, (gigabytes) * 1e9, crowded},
#include "encore/backends/cpu/vendor/efficiency.def"
#undef ENCORE_VENDOR_SECOND_FACTORS
#undef ENCORE_VENDOR_COSTS
};

// Rows of a second factor that are used together.
constexpr int64_t kDepthBlock = 64;
// Rows from which on the library copies a second factor that lies turned.
constexpr int64_t kLeastTurningRows = 16;

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

const SecondFactors& SecondFactorsOf(const MachineProfile& machine) {
  for (const SecondFactors& row : kSecondFactors) {
    if (row.machine == machine.costs) return row;
  }
  ENCORE_CHECK(false) << "no costs of " << machine.costs;
  return kSecondFactors[0];
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
  const int64_t block = PaddedTo(isa, matmul);
  const auto padded = [block](int64_t extent) {
    return static_cast<double>(RoundUp(extent, block)) /
           static_cast<double>(extent);
  };
  const double depth = matmul
                           ? static_cast<double>(program.source.dims.back())
                           : Elements(program.weights) /
                                 static_cast<double>(program.weights.dims[0]);
  const std::vector<int64_t>& dims = program.result.dims;
  const double flops = 2 * Elements(program.result) * depth;
  if (matmul) return flops * padded(dims.back());
  const int64_t channels = program.weights.dims[1];
  if (program.groups == 1 || channels == 1) return flops * padded(dims[1]);
  return flops * padded(dims[1] / program.groups) * padded(channels);
}

double MovedBytes(const VendorProgram& program, bool pack) {
  return sizeof(float) * (Elements(program.source) + Elements(program.result) +
                          (pack ? 0 : Elements(program.weights)));
}

double TurnedBytes(const VendorProgram& program, bool pack) {
  if (program.kind != VendorProgram::Kind::kMatmul || pack) return 0;
  const VendorTensor& factor = program.weights;
  const size_t rank = factor.dims.size();
  const bool in_rows = program.split == rank - 2;
  const int64_t rows = in_rows ? program.piece : program.result.dims[rank - 2];
  if (factor.strides[rank - 1] == 1 || factor.dims[rank - 1] == 1 ||
      rows < kLeastTurningRows) {
    return 0;
  }
  const double copies = in_rows ? static_cast<double>(program.pieces()) : 1;
  return copies * sizeof(float) * Elements(factor);
}

bool IsCrowded(const VendorProgram& program, bool pack) {
  if (program.kind != VendorProgram::Kind::kMatmul || pack) return false;
  const VendorTensor& factor = program.weights;
  const size_t rank = factor.dims.size();
  if (factor.strides[rank - 1] != 1) return false;
  const int64_t row = factor.strides[rank - 2] * int64_t{sizeof(float)};
  const int64_t depth = std::min(factor.dims[rank - 2], kDepthBlock);
  const StridedReads reads({{row, depth}}, kLineBytes);
  return reads.LinesPerSet(kFirstWayBytes) > kFirstCacheBytes / kFirstWayBytes;
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
  const SecondFactors& second = SecondFactorsOf(machine);
  const double crowded = IsCrowded(program, pack) ? 1 + second.crowded : 1;
  return crowded * VendorFlops(machine.isa, program) /
             (machine.f32_flops * costs->efficiency) +
         MovedBytes(program, pack) / costs->bytes_per_second +
         TurnedBytes(program, pack) / second.turned_bytes_per_second +
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
