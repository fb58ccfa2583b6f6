#include "encore/ir/import/onnx/image/place_range.h"

#include <cstdint>

#include "encore/ir/support/strings.h"

namespace encore::onnx {

StatusOr<OutOfRange> RuleForPlaces(NodeContext& context, Value places,
                                   const Dim& extent, std::string_view input) {
  if (!places.valid()) return OutOfRange::kError;
  const Literal* known = places.constant();
  if (known == nullptr) return OutOfRange::kError;
  const auto& symbols = context.builder().graph().symbols();
  const int64_t least = extent.LowerBound(symbols);
  const int64_t most = extent.UpperBound(symbols);
  OutOfRange rule = OutOfRange::kClamp;
  for (int64_t i = 0; i < known->element_count(); ++i) {
    const int64_t place = known->AsInt(i);
    if (place >= 0 && place < least) continue;
    rule = OutOfRange::kError;
    if ((place >= 0 && place < most) || context.scope().is_body()) continue;
    return NodeContext::Error(StrCat("input ", input, " has ", place,
                                     ", expected 0 to below ",
                                     extent.ToString(symbols)));
  }
  return rule;
}

}  // namespace encore::onnx
