#include "encore/backends/cpu/winograd/result_stage.h"

#include <algorithm>

#include "encore/backends/cpu/codegen/staging.h"
#include "encore/backends/cpu/winograd/transform_emitter.h"
#include "encore/ir/support/check.h"

namespace encore::backends::cpu {

ResultStage::ResultStage(const WinogradCode& code, const SumRegion& sum,
                         const FlatRegion& epilogue, RegionEmitter& e)
    : c_(code),
      sum_(sum),
      epilogue_(epilogue),
      b_(code.b),
      e_(e),
      column_variable_(static_cast<uint32_t>(code.sum.column_variable)) {}

void ResultStage::Emit(const WinogradSpan& span, const Value& row,
                       const Value& end) {
  b_.Loop(row, end, 1, [&](const Value& r) {
    const Value of_chunk = b_.Sub(r, row);
    b_.Loop(IrBuilder::I64(0), span.vectors, 1,
            [&](const Value& v) { EmitTiles(span, of_chunk, v); });
    EmitEpilogue(span, r);
  });
}

void ResultStage::EmitTiles(const WinogradSpan& span, const Value& row,
                            const Value& vector) {
  const WinogradTransform &t = c_.s.lines, &u = c_.s.columns;
  const int n = u.points(), lanes = c_.s.lanes;
  const Value first = b_.Mul(b_.Add(b_.Mul(row, c_.s.span_vectors), vector),
                             c_.s.points() * lanes);
  const Value products =
      b_.Gep(c_.Scratch(c_.layout.products), Elem::kF32, first);
  // By line of results: its points.
  std::vector<std::vector<Value>> lines(t.outputs);
  for (int q = 0; q < n; ++q) {
    std::vector<Value> column;
    for (int p = 0; p < t.points(); ++p) {
      const Value offset = IrBuilder::I64((int64_t{p} * n + q) * lanes);
      column.push_back(
          b_.Load(c_.vector(), b_.Gep(products, Elem::kF32, offset), 4));
    }
    const std::vector<Value> results = EmitResultTransform(b_, t, column);
    for (int i = 0; i < t.outputs; ++i) lines[i].push_back(results[i]);
  }
  const Value column =
      b_.Add(span.Before(c_), b_.Mul(vector, int64_t{lanes} * u.outputs));
  for (int i = 0; i < t.outputs; ++i) {
    const Value pointer =
        b_.Gep(c_.Scratch(c_.layout.results + i * c_.layout.result_pitch),
               Elem::kF32, column);
    b_.Store(Interleaved(b_, EmitResultTransform(b_, u, lines[i])), pointer, 4);
  }
}

void ResultStage::SetPoint(const std::vector<Value>& batches, const Value& row,
                           const Value& line) {
  const auto value_of = [&](uint32_t variable) {
    const auto v = static_cast<int>(variable);
    if (v == c_.sum.row_variable) return row;
    if (v == c_.sum.line_variable) return line;
    const auto at =
        std::ranges::find(c_.sum.batches, v, &WindowedSum::Batch::variable);
    ENCORE_CHECK(at != c_.sum.batches.end());
    return batches[at - c_.sum.batches.begin()];
  };
  for (const uint32_t v : epilogue_.outer) {
    if (v == column_variable_) continue;
    Value value = IrBuilder::I64(0);
    for (const uint32_t u : OriginalVariables(sum_.flat(), epilogue_, v)) {
      value = b_.Add(b_.Mul(value, sum_.flat().extents[u]), value_of(u));
    }
    e_.SetVariable(v, value);
  }
}

void ResultStage::EmitEpilogue(const WinogradSpan& span, const Value& row) {
  const int64_t m = c_.s.lines.outputs, columns = c_.s.columns.outputs;
  b_.Loop(span.first_line, span.end_line, 1, [&](const Value& number) {
    const auto [batches, tile_line] = LineOf(c_, number);
    const Value first = b_.Mul(tile_line, m);
    const Value lines = b_.Intrinsic(
        "smin", {b_.Sub(IrBuilder::I64(c_.sum.result_height), first),
                 IrBuilder::I64(m)});
    const Value tile = b_.Mul(number, c_.s.tile_columns);
    const Value begin = b_.Mul(b_.Sub(span.first_tile, tile), columns);
    const Value end = b_.Mul(b_.Sub(span.end_tile, tile), columns);
    const Value place =
        b_.Mul(b_.Sub(number, span.first_line), c_.line_columns());
    b_.Loop(IrBuilder::I64(0), lines, 1, [&](const Value& i) {
      e_.SetInput(epilogue_.region->inputs.size() - 1,
                  b_.Gep(c_.Scratch(c_.layout.results), Elem::kF32,
                         b_.Add(b_.Mul(i, c_.layout.result_pitch), place)));
      SetPoint(batches, row, b_.Add(first, i));
      if (c_.s.spans == 1) return EmitWholeLine();
      const Value whole = b_.Binary(
          "and", b_.Compare("sle", begin, IrBuilder::I64(0)),
          b_.Compare("sge", end, IrBuilder::I64(c_.sum.result_width)));
      b_.If(whole, [&] { EmitWholeLine(); }, [&] { EmitPart(begin, end); });
    });
  });
}

void ResultStage::EmitWholeLine() {
  const int64_t lanes = c_.s.lanes, width = c_.sum.result_width;
  const int64_t full = width / lanes * lanes;
  b_.Loop(IrBuilder::I64(0), IrBuilder::I64(full), lanes,
          [&](const Value& column) { EmitVector(column, {}); });
  if (full == width) return;
  EmitVector(IrBuilder::I64(full),
             IrBuilder::PrefixMask(c_.s.lanes, width - full));
}

void ResultStage::EmitPart(const Value& begin, const Value& end) {
  const int lanes = c_.s.lanes;
  const Value width = IrBuilder::I64(c_.sum.result_width);
  const Value last = b_.Intrinsic("smin", {end, width});
  const Value low = b_.Intrinsic("smax", {begin, IrBuilder::I64(0)});
  // Vectors begin where those of a whole line do.
  const Value first =
      b_.Sub(low, b_.Binary("urem", low, IrBuilder::I64(lanes)));
  b_.Loop(first, last, lanes, [&](const Value& column) {
    const Value columns = b_.Binary("add", b_.Splat(column, lanes),
                                    IrBuilder::Steps({Elem::kI64, lanes}, 1));
    const Value active =
        b_.Binary("and", b_.Compare("sge", columns, b_.Splat(begin, lanes)),
                  b_.Compare("slt", columns, b_.Splat(last, lanes)));
    EmitVector(column, active);
  });
}

void ResultStage::EmitVector(const Value& column, const Value& active) {
  e_.SetVariable(column_variable_, column);
  e_.SetLanes(static_cast<int>(column_variable_), active);
  const Region& region = *epilogue_.region;
  for (size_t s = 0; s < region.stages.size(); ++s) {
    const Stage& stage = region.stages[s];
    if (stage.value.valid()) e_.SetResult(s, 0, e_.EvalLanes(stage.value));
    // Every load comes before every store.
    for (const Store& store : stage.stores) e_.Eval(store.value);
    for (size_t i = 0; i < stage.stores.size(); ++i) e_.EmitStore(s, i);
  }
}

}  // namespace encore::backends::cpu
