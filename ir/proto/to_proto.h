// A graph as protobuf: the format for interchange with other programs
// (graph.proto says what the messages mean).
//
// The messages name operators, attributes and dtypes instead of having a field
// for each, so that both directions follow from the op table.
#ifndef ENCORE_IR_PROTO_TO_PROTO_H_
#define ENCORE_IR_PROTO_TO_PROTO_H_

#include <string>

#include "encore/ir/graph/graph.h"
#include "encore/ir/support/status.h"

namespace encore {

struct ProtoOptions {
  // The weight data of parameters; without it the message is that of the same
  // graph without data.
  bool parameter_data = true;
};

// The bytes of a proto::Module; the same for equal graphs. ResourceExhausted
// where they would exceed the 2 GiB that protobuf allows.
StatusOr<std::string> ToProto(const Graph& graph,
                              const ProtoOptions& options = {});

}  // namespace encore

#endif  // ENCORE_IR_PROTO_TO_PROTO_H_
