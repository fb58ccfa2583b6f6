// The text of the option `target`: one target or several, joined by commas.
#ifndef ENCORE_BACKENDS_TARGET_TEXT_H_
#define ENCORE_BACKENDS_TARGET_TEXT_H_

#include <string_view>
#include <vector>

#include "encore/backends/options.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

// The targets in `text`, in order, each as FindTarget (find_target.h) takes
// it; they point into `text`. The first computes what the placement does not
// put elsewhere. InvalidArgument where one is empty.
StatusOr<std::vector<std::string_view>> ParseTargets(std::string_view text);

// What the targets of options.target, then those of options.placement, say of
// the backend called `backend` behind a colon, where that is no device's
// number: "h100" for "cpu,cuda:h100"; empty where none of them says anything.
// It points into `options`.
std::string_view VariantOf(const CompileOptions& options,
                           std::string_view backend);

// InvalidArgument where two of them name different variants of one backend,
// which compiles for one at a time.
Status CheckVariants(const CompileOptions& options);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_TARGET_TEXT_H_
