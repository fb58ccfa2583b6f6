// Of the same name as a header of Encore's, and another thing.
#ifndef IR_GRAPH_H_
#define IR_GRAPH_H_

namespace consumer {

struct Graph {
  int nodes = 0;
};

}  // namespace consumer

#endif  // IR_GRAPH_H_
