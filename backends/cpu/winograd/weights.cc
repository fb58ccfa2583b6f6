#include "encore/backends/cpu/winograd/weights.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/backends/cpu/winograd/transform_emitter.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

constexpr int64_t kMostPartitions = 16;

class WeightsGenerator {
 public:
  WeightsGenerator(const WindowedSum& sum, const WinogradSchedule& schedule)
      : sum_(sum),
        s_(schedule),
        lanes_(static_cast<int>(
            std::bit_ceil(static_cast<unsigned>(schedule.rows)))) {
    const Value buffers = IrBuilder::Parameter("buffers", Elem::kPtr);
    const auto load = [&](int64_t i) {
      return b_.Load({Elem::kPtr, 1},
                     b_.Gep(buffers, Elem::kPtr, IrBuilder::I64(i)), 8);
    };
    weights_ = load(0);
    packed_ = load(1);
  }

  GeneratedKernel Generate(std::string_view name, int vector_bits) {
    const int64_t partitions = std::min(s_.groups, kMostPartitions);
    PartitionLoop(b_, s_.groups, partitions, [&](const Value& group) {
      b_.Loop(IrBuilder::I64(0), IrBuilder::I64(sum_.channels), 1,
              [&](const Value& channel) { EmitWindows(group, channel); });
    });
    return FinishKernel(b_, name, partitions, vector_bits);
  }

 private:
  // Of all rows of the group, along lanes.
  void EmitWindows(const Value& group, const Value& channel);
  // G of the transform by `x`, [taps][columns], along its first dim.
  std::vector<Value> TransformColumns(const WinogradTransform& transform,
                                      const std::vector<Value>& x);

  const WindowedSum& sum_;
  const WinogradSchedule& s_;
  const int lanes_;
  IrBuilder b_;
  Value weights_, packed_;
};

std::vector<Value> WeightsGenerator::TransformColumns(
    const WinogradTransform& transform, const std::vector<Value>& x) {
  const std::vector<double> matrix = MatrixG(transform);
  const size_t columns = x.size() / transform.window;
  std::vector<Value> results(columns * transform.points());
  for (size_t column = 0; column < columns; ++column) {
    std::vector<Value> taps;
    for (int s = 0; s < transform.window; ++s)
      taps.push_back(x[s * columns + column]);
    const std::vector<Value> points = EmitProduct(b_, matrix, taps);
    // Transposed, so that the other dim is the first one next.
    for (size_t p = 0; p < points.size(); ++p) {
      results[column * points.size() + p] = points[p];
    }
  }
  return results;
}

void WeightsGenerator::EmitWindows(const Value& group, const Value& channel) {
  const IrType f32{Elem::kF32, lanes_};
  const Value row = b_.Mul(group, s_.rows);
  const Value steps = IrBuilder::Steps({Elem::kI64, lanes_}, 1);
  const Value left = b_.Intrinsic(
      "smin",
      {b_.Sub(IrBuilder::I64(sum_.rows), row), IrBuilder::I64(s_.rows)});
  const Value exists = b_.Compare("slt", steps, b_.Splat(left, lanes_));
  const Value first = b_.Add(b_.Add(b_.Mul(row, sum_.weights_row),
                                    b_.Mul(channel, sum_.weights_channel)),
                             sum_.weights_offset);
  const Value at =
      b_.Binary("add", b_.Splat(first, lanes_),
                IrBuilder::Steps({Elem::kI64, lanes_}, sum_.weights_row));
  std::vector<Value> taps;
  const int64_t columns = s_.columns.window;
  for (int64_t i = 0; i < s_.lines.window * columns; ++i) {
    const int64_t tap = i / columns * sum_.weights_line +  //
                        i % columns * sum_.weights_column;
    const Value pointers = b_.Gep(
        b_.Gep(weights_, Elem::kF32, IrBuilder::I64(tap)), Elem::kF32, at);
    taps.push_back(b_.Convert(
        "fpext", b_.Gather(f32, pointers, exists, IrBuilder::Zero(f32), 4),
        Elem::kF64));
  }
  const std::vector<Value> points =
      TransformColumns(s_.columns, TransformColumns(s_.lines, taps));
  const Value element =
      b_.Mul(b_.Add(b_.Mul(group, sum_.channels), channel), s_.rows);
  const int64_t pitch = s_.weights_pitch(sum_);
  for (size_t p = 0; p < points.size(); ++p) {
    const Value pointer =
        b_.Gep(b_.Gep(packed_, Elem::kF32, element), Elem::kF32,
               IrBuilder::I64(static_cast<int64_t>(p) * pitch));
    b_.MaskedStore(b_.Convert("fptrunc", points[p], Elem::kF32), pointer,
                   IrBuilder::PrefixMask(lanes_, s_.rows), 4);
  }
}

}  // namespace

GeneratedKernel GenerateWinogradWeights(const WindowedSum& sum,
                                        const WinogradSchedule& schedule,
                                        std::string_view name,
                                        int vector_bits) {
  return WeightsGenerator(sum, schedule).Generate(name, vector_bits);
}

}  // namespace encore::backends::cpu
