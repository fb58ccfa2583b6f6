#include "encore/opt/tensor/improve_options.h"

#include "encore/ir/support/strings.h"

namespace encore::opt {

bool Allows(RewriteLevel level, RuleTag tag) {
  switch (tag) {
    case RuleTag::kExact:
    case RuleTag::kDefinition:
      return level >= RewriteLevel::kExact;
    case RuleTag::kReassociating:
      return level >= RewriteLevel::kReassociate;
    case RuleTag::kFiniteMath:
      return level >= RewriteLevel::kFast;
  }
  return false;
}

std::string FaultText(const Status& fault, std::string_view place) {
  const std::string at = place.empty() ? "" : StrCat(" at ", Quote(place));
  return StrCat(Message(fault), at,
                ": that rule is wrong, and what rules would have made better "
                "there stays as it was");
}

}  // namespace encore::opt
