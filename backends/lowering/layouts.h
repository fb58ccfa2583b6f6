// Layouts: in which layouts the kernels of a graph read and write its values.
//
// A value in another layout is another choice: the kernels that a backend has
// for other layouts (Candidate::inputs, outputs), kernels beside them that can
// work in the same layouts, and copies between the layouts of a value are the
// nodes of an extraction problem, whose classes are the pairs of value and
// layout. What is read in some layout costs nothing where it is made in it, and
// a copy else, paid once however many read it.
#ifndef ENCORE_BACKENDS_LOWERING_LAYOUTS_H_
#define ENCORE_BACKENDS_LOWERING_LAYOUTS_H_

#include <vector>

#include "encore/backends/lowering/kernels.h"
#include "encore/backends/lowering/lowering_report.h"
#include "encore/backends/lowering/scope_kernel.h"
#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore::backends {

// Gives `kernels` of `graph`, row-major and each after those it reads from,
// layouts by which they and the copies between them cost least by the estimates
// of `table`, and adds the copies, in an order like that. weights[v]: value v
// is known once parameters are. What is argument, output, constant, or seen by
// anything but a kernel stays row-major. Leaves all as it is where no backend
// asks for layouts, or nothing is gained. Of `report`, which may be null, all
// but the changes is filled in. Deterministic.
Status ChooseLayouts(const Graph& graph, const std::vector<bool>& weights,
                     KernelTable* table, std::vector<ScopeKernel>* kernels,
                     LayoutReport* report = nullptr);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_LAYOUTS_H_
