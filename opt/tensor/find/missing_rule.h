// An identity that the rule book lacks.
#ifndef ENCORE_OPT_TENSOR_FIND_MISSING_RULE_H_
#define ENCORE_OPT_TENSOR_FIND_MISSING_RULE_H_

#include <string>

namespace encore::opt {

struct MissingRule {
  std::string from, to;  // the costlier and the cheaper side
  int operators = 0;     // of both
  // Share of the costlier side's seconds, in [0, 1], where rules have made both
  // as cheap as they can.
  double gain = 0;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_MISSING_RULE_H_
