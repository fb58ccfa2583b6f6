// An identity that the rule book lacks.
#ifndef ENCORE_OPT_TENSOR_FIND_MISSING_RULE_H_
#define ENCORE_OPT_TENSOR_FIND_MISSING_RULE_H_

#include <string>

namespace encore::opt {

struct MissingRule {
  std::string from, to;  // the costlier and the cheaper side
  int operators = 0;     // of both
  double gain = 0;       // share of the costlier side's seconds, in [0, 1]
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_MISSING_RULE_H_
