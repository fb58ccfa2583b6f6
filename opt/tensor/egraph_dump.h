// EGraphDump: the e-graphs of an Improve as a file that other programs read.
#ifndef ENCORE_OPT_TENSOR_EGRAPH_DUMP_H_
#define ENCORE_OPT_TENSOR_EGRAPH_DUMP_H_

#include <string>
#include <vector>

#include "encore/opt/extract/egraph_json.h"
#include "encore/opt/tensor/improve_observer.h"

namespace encore::opt {

// Collects what extraction chose from: the nodes of finite cost that the roots
// reach, with their costs in seconds. Several e-graphs (bodies, the graph) are
// one: names of the second's classes and nodes begin with "1.", and so on.
class EGraphDump : public ImproveObserver {
 public:
  bool wants_reasons() const override { return false; }
  Status Extracted(const Extraction& extraction) override;

  // In the JSON form of egraph-serialize (extract/egraph_json.h).
  std::string Json() const { return extract::EgraphJson(problem_, ops_); }
  // What the choices cost together; what no choice is below, 0 where nothing is
  // known of one of them.
  double cost() const { return cost_; }
  double bound() const { return bound_; }
  int egraphs() const { return egraphs_; }

 private:
  extract::NamedProblem problem_;
  std::vector<std::string> ops_;  // by node
  double cost_ = 0, bound_ = 0;
  int egraphs_ = 0;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_EGRAPH_DUMP_H_
