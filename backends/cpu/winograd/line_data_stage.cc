#include "encore/backends/cpu/winograd/line_data_stage.h"

#include <cstdint>
#include <vector>

#include "encore/backends/cpu/winograd/transform_emitter.h"

namespace encore::backends::cpu {
namespace {

class LineDataStage {
 public:
  LineDataStage(const WinogradCode& code, const WinogradSpan& span)
      : c_(code), span_(span), b_(code.b) {}

  void Emit();

 private:
  // Where the lines of a vector of tiles are read.
  struct Line {
    Value pointer;         // to the first column, of the first channel
    Value channel_stride;  // 0 of lines of padding
  };
  void EmitVector(const Value& vector);
  std::vector<Line> LinesAt(const Value& line, const Value& column) const;
  // Which of the columns from `column` on are in the image, of a vector each.
  std::vector<Value> MasksAt(const Value& column, int count) const;
  // What the transform takes: of lines, or the phases of columns.
  std::vector<Value> LoadLines(const std::vector<Line>& lines,
                               const Value& channel, const Value& mask) const;
  std::vector<Value> LoadColumns(const Line& line, const Value& channel,
                                 const std::vector<Value>& masks) const;

  const WinogradCode& c_;
  const WinogradSpan& span_;
  IrBuilder& b_;
};

void LineDataStage::Emit() {
  b_.Loop(IrBuilder::I64(0), span_.vectors, 1,
          [&](const Value& vector) { EmitVector(vector); });
}

std::vector<LineDataStage::Line> LineDataStage::LinesAt(
    const Value& line, const Value& column) const {
  const TileLine place = LineOf(c_, line);
  const Value base = b_.Add(ImageOffset(c_, place), column);
  const Value zeros = c_.Scratch(c_.layout.zeros);
  const Value stride = IrBuilder::I64(c_.sum.channel_stride);
  std::vector<Line> lines;
  for (int i = 0; i < c_.s.lines.points(); ++i) {
    const Value y =
        b_.Add(b_.Mul(place.line, c_.s.lines.outputs), i - c_.sum.top);
    const Value inside = b_.Compare("ult", y, IrBuilder::I64(c_.sum.height));
    const Value at = b_.Add(base, b_.Mul(y, c_.sum.line_stride));
    lines.push_back(
        {b_.Select(inside, b_.Gep(c_.source, Elem::kF32, at), zeros),
         b_.Select(inside, stride, IrBuilder::I64(0))});
  }
  return lines;
}

std::vector<Value> LineDataStage::MasksAt(const Value& column,
                                          int count) const {
  const int lanes = c_.s.lanes;
  std::vector<Value> masks;
  for (int i = 0; i < count; ++i) {
    const Value first = b_.Add(column, int64_t{i} * lanes);
    const Value columns = b_.Binary("add", b_.Splat(first, lanes),
                                    IrBuilder::Steps({Elem::kI64, lanes}, 1));
    // Unsigned, so that negative ones are out of the image too.
    masks.push_back(b_.Compare("ult", columns,
                               b_.Splat(IrBuilder::I64(c_.sum.width), lanes)));
  }
  return masks;
}

std::vector<Value> LineDataStage::LoadLines(const std::vector<Line>& lines,
                                            const Value& channel,
                                            const Value& mask) const {
  std::vector<Value> d;
  for (const Line& line : lines) {
    const Value pointer =
        b_.Gep(line.pointer, Elem::kF32, b_.Mul(channel, line.channel_stride));
    d.push_back(b_.MaskedLoad(c_.vector(), pointer, mask,
                              IrBuilder::Zero(c_.vector()), 4));
  }
  return d;
}

std::vector<Value> LineDataStage::LoadColumns(
    const Line& line, const Value& channel,
    const std::vector<Value>& masks) const {
  const int m = c_.s.columns.outputs, lanes = c_.s.lanes;
  const Value first = b_.Mul(channel, line.channel_stride);
  // The columns of the vector's tiles, and those m further on.
  std::vector<Value> wide;
  for (int ahead = 0; ahead < 2; ++ahead) {
    std::vector<Value> parts;
    for (int i = 0; i < m; ++i) {
      const Value pointer =
          b_.Gep(line.pointer, Elem::kF32,
                 b_.Add(first, int64_t{i} * lanes + ahead * m));
      parts.push_back(b_.MaskedLoad(c_.vector(), pointer, masks[ahead * m + i],
                                    IrBuilder::Zero(c_.vector()), 4));
    }
    wide.push_back(Joined(b_, parts));
  }
  std::vector<Value> d;
  for (int j = 0; j < c_.s.columns.points(); ++j) {
    d.push_back(EveryLane(b_, wide[j / m], j % m, m, lanes));
  }
  return d;
}

void LineDataStage::EmitVector(const Value& vector) {
  const int lanes = c_.s.lanes;
  const Value tile = b_.Add(span_.first_tile, b_.Mul(vector, lanes));
  const Value tiles = IrBuilder::I64(c_.s.tile_columns);
  const int64_t m = c_.s.columns.outputs;
  const Value column =
      b_.Add(b_.Mul(b_.Binary("urem", tile, tiles), m), -c_.sum.left);
  const std::vector<Line> lines =
      LinesAt(b_.Binary("udiv", tile, tiles), column);
  const bool along_lines = c_.s.columns.is_identity();
  std::vector<Value> masks =
      MasksAt(column, along_lines ? 1 : static_cast<int>(m));
  if (!along_lines) {
    const auto ahead = MasksAt(b_.Add(column, m), static_cast<int>(m));
    masks.insert(masks.end(), ahead.begin(), ahead.end());
  }
  const WinogradTransform& t = along_lines ? c_.s.lines : c_.s.columns;
  const Value begin = b_.Mul(vector, c_.sum.channels);
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(c_.sum.channels), 1,
          [&](const Value& channel) {
            const std::vector<Value> points = EmitDataTransform(
                b_, t,
                along_lines ? LoadLines(lines, channel, masks[0])
                            : LoadColumns(lines[0], channel, masks));
            const Value data = b_.Gep(c_.Scratch(c_.layout.data), Elem::kF32,
                                      b_.Mul(b_.Add(begin, channel), lanes));
            for (int p = 0; p < t.points(); ++p) {
              const Value offset = IrBuilder::I64(p * c_.layout.data_pitch);
              b_.Store(points[p], b_.Gep(data, Elem::kF32, offset), 4);
            }
          });
}

}  // namespace

void EmitDataByLines(const WinogradCode& code, const WinogradSpan& span) {
  LineDataStage(code, span).Emit();
}

}  // namespace encore::backends::cpu
