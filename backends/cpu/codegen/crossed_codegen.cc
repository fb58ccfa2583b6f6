#include "encore/backends/cpu/codegen/crossed_codegen.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "encore/backends/cpu/codegen/transpose.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

class CrossedEmitter {
 public:
  CrossedEmitter(RegionEmitter& e, const FlatRegion& flat,
                 const Schedule& schedule, const std::function<void()>& body)
      : e_(e),
        b_(e.builder()),
        flat_(flat),
        s_(schedule),
        lanes_(schedule.lanes),
        v_(static_cast<uint32_t>(schedule.vector_variable)),
        w_(schedule.crossing->variable),
        body_(body) {}

  void Emit(const std::vector<Value>& digits) {
    Value row = IrBuilder::I64(0), column = row;
    for (size_t i = 0; i < digits.size(); ++i) {
      const auto& [variable, step] = s_.crossing->loops[i];
      const Value at = b_.Mul(digits[i], step);
      if (variable == v_) {
        row = at;
      } else if (variable == w_) {
        column = at;
      } else {
        e_.SetVariable(variable, at);
      }
    }
    EmitRows(row, column);
  }

 private:
  int64_t whole(uint32_t variable) const {
    return flat_.extents[variable] / lanes_ * lanes_;
  }
  int rest(uint32_t variable) const {
    return static_cast<int>(flat_.extents[variable] % lanes_);
  }

  void EmitRows(const Value& row, const Value& column) {
    const auto full = [&] { EmitColumns(row, lanes_, column); };
    const auto part = [&] { EmitColumns(row, rest(v_), column); };
    if (rest(v_) == 0) return full();
    if (whole(v_) == 0) return part();
    b_.If(b_.Compare("eq", row, IrBuilder::I64(whole(v_))), part, full);
  }

  void EmitColumns(const Value& row, int rows, const Value& column) {
    const int64_t most = int64_t{Crossing::kBlocks} * lanes_;
    const Value all = IrBuilder::I64(whole(w_));
    const Value end = b_.Add(column, most);
    const bool single = flat_.extents[w_] <= most;
    const Value last = single ? all : b_.Intrinsic("smin", {end, all});
    b_.Loop(column, last, lanes_,
            [&](const Value& at) { EmitBlock(row, rows, at, lanes_); });
    if (rest(w_) == 0) return;
    const auto part = [&] { EmitBlock(row, rows, all, rest(w_)); };
    if (single) return part();
    b_.If(b_.Compare("sgt", end, all), part);
  }

  void EmitBlock(const Value& row, int rows, const Value& column, int columns) {
    std::vector<std::vector<Value>> loads;
    for (const ExprId load : s_.crossing->loads) {
      std::vector<Value> vectors;
      for (int r = 0; r < rows; ++r) {
        e_.SetVariable(v_, row, r);
        SetLanes(w_, column, columns);
        vectors.push_back(e_.EvalLanes(load));
      }
      vectors.resize(lanes_, IrBuilder::Zero(vectors[0].type));
      loads.push_back(Transpose(b_, std::move(vectors)));
    }
    for (int c = 0; c < columns; ++c) {
      e_.SetVariable(w_, column, c);
      SetLanes(v_, row, rows);
      for (size_t i = 0; i < loads.size(); ++i) {
        e_.Keep(s_.crossing->loads[i], loads[i][c]);
      }
      body_();
    }
    for (const ExprId load : s_.crossing->loads) e_.Keep(load, {});
  }

  void SetLanes(uint32_t variable, const Value& first, int count) {
    e_.SetVariable(variable, first);
    e_.SetLanes(
        static_cast<int>(variable),
        count < lanes_ ? IrBuilder::PrefixMask(lanes_, count) : Value());
  }

  RegionEmitter& e_;
  IrBuilder& b_;
  const FlatRegion& flat_;
  const Schedule& s_;
  const int lanes_;
  const uint32_t v_, w_;
  const std::function<void()>& body_;
};

}  // namespace

std::vector<Value> CrossedExtents(const FlatRegion& flat,
                                  const Schedule& schedule) {
  std::vector<Value> extents;
  for (const Crossing::Loop& loop : schedule.crossing->loops) {
    extents.push_back(IrBuilder::I64(
        CeilDiv<int64_t>(flat.extents[loop.variable], loop.step)));
  }
  return extents;
}

void EmitCrossed(RegionEmitter& e, const FlatRegion& flat,
                 const Schedule& schedule, const std::vector<Value>& digits,
                 const std::function<void()>& body) {
  CrossedEmitter(e, flat, schedule, body).Emit(digits);
}

}  // namespace encore::backends::cpu
