// The 32-bit ids of the e-graph engine.
//
// A column of a node holds Values: the id of a class, or the id of an interned
// literal (LiteralPool), whichever the column's sort says. Ids are given out in
// order of creation and never depend on addresses, so equal inputs give equal
// ids.
#ifndef ENCORE_OPT_EGRAPH_CORE_IDS_H_
#define ENCORE_OPT_EGRAPH_CORE_IDS_H_

#include <cstdint>

#include "encore/ir/support/typed_id.h"

namespace encore::egraph {

using Value = uint32_t;
inline constexpr Value kNoValue = 0xFFFFFFFFu;

struct SortTag {};
using SortId = TypedId<SortTag>;
struct OpTag {};
using OpId = TypedId<OpTag>;
struct PrimitiveTag {};
using PrimitiveId = TypedId<PrimitiveTag>;
struct NodeTag {};
using NodeId = TypedId<NodeTag>;
// Names a class for ever: after unions EGraph::Find gives the class it is now.
struct ClassTag {};
using ClassId = TypedId<ClassTag>;
struct RuleTag {};
using RuleId = TypedId<RuleTag>;

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_IDS_H_
