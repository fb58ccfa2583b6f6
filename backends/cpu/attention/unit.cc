#include "encore/backends/cpu/attention/unit.h"

#include <cstddef>
#include <vector>

#include "encore/backends/cpu/codegen/tile_emitter.h"
#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {

AttentionScratch MakeScratch(const AttentionSchedule& s) {
  constexpr int64_t kLine = 16;  // elements of a cache line
  int64_t end = 0;
  const auto take = [&end](int64_t elements) {
    const int64_t begin = end;
    end += RoundUp<int64_t>(elements, kLine);
    return begin;
  };
  AttentionScratch scratch;
  scratch.queries = take(s.state_rows() * s.padded_depth());
  scratch.keys = take(s.depth * s.padded_keys());
  scratch.values = take(s.padded_keys() * s.padded_columns());
  scratch.scores = take(s.rows * s.padded_keys());
  scratch.results = take(s.state_rows() * s.padded_columns());
  scratch.maxima = take(s.state_rows());
  scratch.sums = take(s.state_rows() * s.lanes);
  scratch.scales = take(s.rows);
  scratch.bytes = end * int64_t{sizeof(float)};
  return scratch;
}

void AttentionCode::SetRow(const Value& number) const {
  const std::vector<uint32_t>& rows = attention.rows();
  std::vector<int64_t> extents;
  for (const uint32_t v : rows) {
    extents.push_back(attention.flat().extents[v]);
  }
  const std::vector<Value> digits = Digits(b, number, extents);
  for (size_t i = 0; i < rows.size(); ++i) e.SetVariable(rows[i], digits[i]);
}

void ForVectors(const AttentionCode& code, int variable, const Value& begin,
                int64_t extent,
                const std::function<void(const Value& element,
                                         const Value& active)>& body) {
  const int lanes = code.s.lanes;
  const auto at = [&](const Value& element, const Value& active) {
    if (variable != kNoVariable) {
      code.e.SetVariable(static_cast<uint32_t>(variable),
                         code.b.Add(begin, element));
    }
    code.e.SetLanes(variable, active);
    body(element, active);
  };
  const int64_t whole = extent / lanes * lanes;
  if (whole > 0) {
    code.b.Loop(IrBuilder::I64(0), IrBuilder::I64(whole), lanes,
                [&](const Value& element) { at(element, {}); });
  }
  if (whole < extent) {
    at(IrBuilder::I64(whole), IrBuilder::PrefixMask(lanes, extent - whole));
  }
  code.e.SetLanes(kNoVariable, {});
}

}  // namespace encore::backends::cpu
