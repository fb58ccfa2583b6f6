#include "encore/opt/tensor/improve_options.h"

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

}  // namespace encore::opt
