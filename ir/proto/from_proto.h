// A graph of the protobuf that to_proto.h makes.
#ifndef ENCORE_IR_PROTO_FROM_PROTO_H_
#define ENCORE_IR_PROTO_FROM_PROTO_H_

#include <string_view>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore {

// The graph of such bytes: reading what ToProto wrote gives an equal graph
// (equal.h). InvalidArgument, "node 3 (relu): …", for anything else. Any bytes
// are safe: memory and time are bounded by their number, nesting by
// kMaxBodyDepth and kMaxDimDepth.
StatusOr<Graph> FromProto(std::string_view bytes);

}  // namespace encore

#endif  // ENCORE_IR_PROTO_FROM_PROTO_H_
