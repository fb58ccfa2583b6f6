// Which identities say no more than others.
#ifndef ENCORE_OPT_TENSOR_FIND_INSTANCES_H_
#define ENCORE_OPT_TENSOR_FIND_INSTANCES_H_

#include <string_view>
#include <vector>

#include "encore/opt/tensor/find/missing_rule.h"

namespace encore::opt {

// Whether putting terms in place of the inputs of `general`, the same
// everywhere, gives `special`, from either side. Terms are "op[term, term]";
// an input is a letter.
bool IsInstance(const MissingRule& general, const MissingRule& special);

// Without those that are instances of others; of two that are instances of each
// other the first stays.
void DropInstances(std::vector<MissingRule>* rules);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_FIND_INSTANCES_H_
