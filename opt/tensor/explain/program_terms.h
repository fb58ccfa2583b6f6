// The graph and the choice of an extraction as terms, made without the proof
// log: what a proof has to lead from and to.
#ifndef ENCORE_OPT_TENSOR_EXPLAIN_PROGRAM_TERMS_H_
#define ENCORE_OPT_TENSOR_EXPLAIN_PROGRAM_TERMS_H_

#include <vector>

#include "encore/opt/egraph/explain/term_store.h"
#include "encore/opt/tensor/improve_observer.h"

namespace encore::opt {

// By root of the program (TensorProgram::Roots), in `terms`. Linear.

// Node by node of the graph.
std::vector<egraph::TermStore::Id> TermsOfGraph(const Extraction& extraction,
                                                egraph::TermStore* terms);

// Of the result's choice. REQUIRES a feasible result, whose choice is acyclic.
std::vector<egraph::TermStore::Id> TermsOfChoice(const Extraction& extraction,
                                                 egraph::TermStore* terms);

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_EXPLAIN_PROGRAM_TERMS_H_
