#include "encore/backends/cpu/attention/unit.h"

#include <cstddef>
#include <vector>

#include "encore/backends/cpu/codegen/tile_emitter.h"

namespace encore::backends::cpu {

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
