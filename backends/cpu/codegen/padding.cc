#include "encore/backends/cpu/codegen/padding.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "encore/backends/cpu/codegen/lane_memory.h"
#include "encore/backends/cpu/codegen/scalar_ops.h"
#include "encore/backends/region/flat/size.h"

namespace encore::backends::cpu {
namespace {

// Runs of more vectors than this are loops.
constexpr int64_t kMostUnrolled = 8;

// The padding behind the extent of one blocked dim: in each of the blocks that
// are the last along it, `rows` runs of neighbours.
struct Padding {
  uint32_t output = 0;
  int dim = 0;
  int64_t first = 0;  // element of the block at which the first run begins
  int64_t run = 0;
  int64_t rows = 1;
  int64_t pitch = 0;  // from one run to the next
};

std::vector<Padding> PaddingOf(const Region& region) {
  std::vector<Padding> list;
  for (uint32_t i = 0; i < region.outputs.size(); ++i) {
    const Operand& output = region.outputs[i];
    const std::vector<Layout::Block>& blocks = output.layout.blocks;
    int64_t inner = 1;  // elements of the blocks behind
    for (size_t b = blocks.size(); b-- > 0;) {
      const auto& [dim, size] = blocks[b];
      const int64_t rest = output.dims[dim].constant() % size;
      if (rest != 0) {
        Padding padding{.output = i, .dim = dim};
        padding.first = rest * inner;
        padding.run = (size - rest) * inner;
        padding.pitch = size * inner;
        for (size_t a = 0; a < b; ++a) padding.rows *= blocks[a].size;
        list.push_back(padding);
      }
      inner *= size;
    }
  }
  return list;
}

// Extents of the dims in memory, blocked ones in blocks; outermost first.
std::vector<Size> BlockCounts(const Operand& operand) {
  std::vector<Size> counts;
  for (const Dim& dim : MemoryDims(operand.dims, operand.layout)) {
    if (counts.size() == operand.dims.size()) break;
    // Code is made of the expression alone.
    counts.push_back(dim.is_constant() ? Size(dim.constant()) : Size(dim, 1));
  }
  return counts;
}

class PaddingEmitter {
 public:
  PaddingEmitter(RegionEmitter& e, const Region& region, int lanes)
      : e_(e), b_(e.builder()), region_(region), lanes_(lanes) {}

  void Emit(const Padding& padding, const Value& partition,
            const Value& partitions) {
    const Operand& output = region_.outputs[padding.output];
    const std::vector<Size> extents = BlockCounts(output);
    Value units = IrBuilder::I64(1);
    for (size_t i = 0; i < extents.size(); ++i) {
      if (output.layout.DimAt(i) != padding.dim) {
        units = b_.Mul(units, e_.SizeValue(extents[i]));
      }
    }
    const Value begin = b_.Binary("udiv", b_.Mul(partition, units), partitions);
    const Value end =
        b_.Binary("udiv", b_.Mul(b_.Add(partition, 1), units), partitions);
    b_.Loop(begin, end, 1, [&](const Value& unit) {
      const Value block = BlockOf(padding, extents, unit);
      b_.Loop(IrBuilder::I64(0), IrBuilder::I64(padding.rows), 1,
              [&](const Value& row) {
                EmitRun(padding, b_.Add(block, b_.Mul(row, padding.pitch)));
              });
    });
  }

 private:
  // The first element of block `unit` of those that are last along the dim.
  Value BlockOf(const Padding& padding, const std::vector<Size>& extents,
                const Value& unit) {
    const Layout& layout = region_.outputs[padding.output].layout;
    Size stride = 1;
    for (const Layout::Block& block : layout.blocks) stride *= block.size;
    Value rest = unit, element = IrBuilder::I64(0);
    for (size_t i = extents.size(); i-- > 0;) {
      if (layout.DimAt(i) == padding.dim) {
        element = b_.Add(element, e_.SizeValue((extents[i] - 1) * stride));
      } else {
        const Value extent = e_.SizeValue(extents[i]);
        element = b_.Add(element, b_.Mul(b_.Binary("urem", rest, extent),
                                         e_.SizeValue(stride)));
        rest = b_.Binary("udiv", rest, extent);
      }
      stride *= extents[i];
    }
    return element;
  }

  // Zeros in the run of the row that begins at `element`.
  void EmitRun(const Padding& padding, const Value& element) {
    const DType dtype = region_.outputs[padding.output].dtype;
    const Elem elem = MemoryElem(dtype);
    const int align = std::max(ElemBits(elem) / 8, 1);
    const Value& base = e_.output(padding.output);
    const auto zeros = [&](const Value& at, int count) {
      b_.Store(IrBuilder::Zero({elem, count}), b_.Gep(base, elem, at), align);
    };
    const Value first = b_.Add(element, padding.first);
    if (IsPacked(dtype)) {
      LaneMemory memory(lanes_, b_);
      b_.Loop(IrBuilder::I64(0), IrBuilder::I64(padding.run), 1,
              [&](const Value& i) {
                memory.StorePacked(IrBuilder::Zero({Elem::kI8, 1}), base,
                                   b_.Add(first, i), PackedBits(dtype));
              });
      return;
    }
    int64_t done = 0;
    if (padding.run > kMostUnrolled * lanes_) {
      done = padding.run / lanes_ * lanes_;
      b_.Loop(IrBuilder::I64(0), IrBuilder::I64(done), lanes_,
              [&](const Value& i) { zeros(b_.Add(first, i), lanes_); });
    }
    for (int count = lanes_; count > 0; count /= 2) {
      for (; padding.run - done >= count; done += count) {
        zeros(b_.Add(first, done), count);
      }
    }
  }

  RegionEmitter& e_;
  IrBuilder& b_;
  const Region& region_;
  int lanes_;
};

}  // namespace

void EmitPadding(RegionEmitter& e, const Region& region, int lanes,
                 const Value& partition, const Value& partitions) {
  PaddingEmitter emitter(e, region, lanes);
  for (const Padding& padding : PaddingOf(region)) {
    emitter.Emit(padding, partition, partitions);
  }
}

}  // namespace encore::backends::cpu
