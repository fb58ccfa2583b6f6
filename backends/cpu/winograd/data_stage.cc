#include "encore/backends/cpu/winograd/data_stage.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "encore/backends/cpu/winograd/line_data_stage.h"
#include "encore/backends/cpu/winograd/transform_emitter.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Channels that the places of the data are asked for in advance.
constexpr int64_t kWrittenAhead = 4;

class DataStage {
 public:
  DataStage(const WinogradCode& code, const WinogradSpan& span)
      : c_(code), span_(span), b_(code.b), n_(code.s.lines.points()) {
    for (int i = 0; i < n_; ++i) {
      before_.push_back(b_.NewVariable(code.vector()));
    }
  }

  void Emit();

 private:
  // The transform along columns of one channel's lines.
  void EmitLines(const Value& channel);
  void EmitLine(const Value& channel, const Value& line);
  // Of the columns from vector `number` of a line on, `first` of them all.
  void EmitVector(const Value& number, bool first);
  // The transform along lines of one channel's vectors of tiles.
  void EmitTiles(const Value& channel, const Value& vector);
  // The position of a column in the lines of point `p`; `ahead`: of the copy
  // that is m columns further on.
  Value LinePointer(int p, bool ahead, const Value& column) const;
  // Stores the vector before, number `number`, in the copy, filled up by
  // `next`.
  void StoreAhead(const std::vector<Value>& next, const Value& number);
  // Which columns of a vector are in the image; invalid: all.
  Value MaskOf(int64_t number) const;

  const WinogradCode& c_;
  const WinogradSpan& span_;
  IrBuilder& b_;
  const int n_;
  std::vector<Value> before_;    // by point: the vector before, transformed
  std::vector<Value> pointers_;  // by line of a tile: to its first column
  Value position_;               // of the line's columns in scratch
  Value mask_;
};

void DataStage::Emit() {
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(c_.sum.channels), 1,
          [&](const Value& channel) {
            EmitLines(channel);
            b_.Loop(IrBuilder::I64(0), span_.vectors, 1,
                    [&](const Value& v) { EmitTiles(channel, v); });
          });
}

void DataStage::EmitLines(const Value& channel) {
  b_.Loop(span_.first_line, span_.end_line, 1,
          [&](const Value& line) { EmitLine(channel, line); });
}

Value DataStage::MaskOf(int64_t number) const {
  const int64_t first = number * c_.s.lanes - c_.sum.left;
  if (first >= 0 && first + c_.s.lanes <= c_.sum.width) return {};
  const IrType type{Elem::kI32, c_.s.lanes};
  const Value column =
      b_.Binary("add", IrBuilder::Steps(type, 1), IrBuilder::Int(type, first));
  // Unsigned, so that negative ones are out of the image too.
  return b_.Compare("ult", column, IrBuilder::Int(type, c_.sum.width));
}

void DataStage::EmitLine(const Value& channel, const Value& line) {
  const TileLine place = LineOf(c_, line);
  const Value base =
      b_.Add(ImageOffset(c_, place), b_.Mul(channel, c_.sum.channel_stride));
  const Value zeros = c_.Scratch(c_.layout.zeros);
  pointers_.clear();
  for (int i = 0; i < n_; ++i) {
    const Value y =
        b_.Add(b_.Mul(place.line, c_.s.lines.outputs), i - c_.sum.top);
    const Value inside = b_.Compare("ult", y, IrBuilder::I64(c_.sum.height));
    const Value at = b_.Add(base, b_.Mul(y, c_.sum.line_stride));
    pointers_.push_back(
        b_.Select(inside, b_.Gep(c_.source, Elem::kF32, at), zeros));
  }
  position_ = b_.Mul(b_.Sub(line, span_.first_line), c_.line_columns());
  const int64_t lanes = c_.s.lanes;
  const int64_t needed = c_.line_columns() + c_.s.columns.window - 1;
  const int64_t vectors = CeilDiv(needed, lanes);
  const int64_t whole = (c_.sum.width + c_.sum.left) / lanes;
  mask_ = MaskOf(0);
  EmitVector(IrBuilder::I64(0), /*first=*/true);
  mask_ = {};
  b_.Loop(IrBuilder::I64(1), IrBuilder::I64(std::min(whole, vectors)), 1,
          [&](const Value& i) { EmitVector(i, /*first=*/false); });
  for (int64_t i = std::max<int64_t>(whole, 1); i < vectors; ++i) {
    mask_ = MaskOf(i);
    EmitVector(IrBuilder::I64(i), /*first=*/false);
  }
  if (needed - c_.s.columns.outputs > (vectors - 1) * lanes) {
    // What it is filled up by is behind the last tile.
    const std::vector<Value> next(n_, IrBuilder::Zero(c_.vector()));
    StoreAhead(next, IrBuilder::I64(vectors - 1));
  }
}

void DataStage::EmitVector(const Value& number, bool first) {
  const IrType type = c_.vector();
  const Value column = b_.Mul(number, c_.s.lanes);
  const Value x = b_.Add(column, -c_.sum.left);
  std::vector<Value> d;
  for (const Value& line : pointers_) {
    const Value pointer = b_.Gep(line, Elem::kF32, x);
    d.push_back(mask_.valid() ? b_.MaskedLoad(type, pointer, mask_,
                                              IrBuilder::Zero(type), 4)
                              : b_.Load(type, pointer, 4));
  }
  const std::vector<Value> points = EmitDataTransform(b_, c_.s.lines, d);
  for (int p = 0; p < n_; ++p) {
    b_.Store(points[p], LinePointer(p, /*ahead=*/false, column), 4);
  }
  if (!first) StoreAhead(points, b_.Sub(number, IrBuilder::I64(1)));
  for (int p = 0; p < n_; ++p) b_.Set(before_[p], points[p]);
}

void DataStage::StoreAhead(const std::vector<Value>& next,
                           const Value& number) {
  const int lanes = c_.s.lanes;
  std::vector<int> order(lanes);
  std::iota(order.begin(), order.end(), c_.s.columns.outputs);
  for (int p = 0; p < n_; ++p) {
    const Value before = b_.Get(before_[p], c_.vector());
    b_.Store(b_.Shuffle(before, next[p], order),
             LinePointer(p, /*ahead=*/true, b_.Mul(number, lanes)), 4);
  }
}

Value DataStage::LinePointer(int p, bool ahead, const Value& column) const {
  const int64_t row = (ahead ? n_ : 0) + p;
  return b_.Gep(c_.Scratch(c_.layout.lines + row * c_.layout.line_pitch),
                Elem::kF32, b_.Add(position_, column));
}

void DataStage::EmitTiles(const Value& channel, const Value& vector) {
  const WinogradTransform& t = c_.s.columns;
  const int lanes = c_.s.lanes, m = t.outputs;
  const IrType wide{Elem::kF32, lanes * m};
  position_ = span_.Before(c_);
  const Value column = b_.Mul(vector, int64_t{lanes} * m);
  const Value element =
      b_.Mul(b_.Add(b_.Mul(vector, c_.sum.channels), channel), lanes);
  const Value data = b_.Gep(c_.Scratch(c_.layout.data), Elem::kF32, element);
  for (int p = 0; p < n_; ++p) {
    const Value here =
        b_.Load(wide, LinePointer(p, /*ahead=*/false, column), 4);
    const Value ahead =
        b_.Load(wide, LinePointer(p, /*ahead=*/true, column), 4);
    std::vector<Value> d;
    for (int j = 0; j < t.points(); ++j) {
      d.push_back(EveryLane(b_, j < m ? here : ahead, j % m, m, lanes));
    }
    const std::vector<Value> points = EmitDataTransform(b_, t, d);
    for (int q = 0; q < t.points(); ++q) {
      const int64_t offset =
          (int64_t{p} * t.points() + q) * c_.layout.data_pitch;
      b_.Store(points[q], b_.Gep(data, Elem::kF32, IrBuilder::I64(offset)), 4);
      b_.Prefetch(b_.Gep(data, Elem::kF32,
                         IrBuilder::I64(offset + kWrittenAhead * lanes)));
    }
  }
}

}  // namespace

void EmitData(const WinogradCode& code, const WinogradSpan& span) {
  if (code.s.by_lines()) {
    EmitDataByLines(code, span);
  } else {
    DataStage(code, span).Emit();
  }
}

}  // namespace encore::backends::cpu
