// What lowering tells of its choices, for people and programs.
#ifndef ENCORE_BACKENDS_LOWERING_LOWERING_REPORT_H_
#define ENCORE_BACKENDS_LOWERING_LOWERING_REPORT_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace encore::backends {

struct PartitionReport {
  // Classes: values that variants write, by how many of them.
  size_t variants = 0, classes = 0, most_of_a_class = 0;
  // Seconds of a run: of the greedy partition, of the one that is returned, of
  // the cheapest that was found, whatever it gains, and what no choice of
  // variants is below.
  double greedy = 0, chosen = 0, cheapest = 0;
  std::optional<double> bound;
};

struct LayoutReport {
  // Pairs of value and layout that were chosen from; none where no backend
  // asks for layouts.
  size_t choices = 0;
  // Seconds of a run: all row-major, as chosen, and what no choice is below.
  double row_major = 0, chosen = 0;
  std::optional<double> bound = {};
  // A copy from one layout to another.
  struct Change {
    std::string value;  // the node that makes it
    std::string from, to;
    bool prepare = false;  // once a load
  };
  std::vector<Change> changes = {};
};

// Of the graph or of a body.
struct ScopeReport {
  std::string place;  // empty: the graph
  size_t kernels = 0;
  PartitionReport partition;
  LayoutReport layouts;
  std::string fusion;  // ExplainFusion, where that was asked for
};

struct LoweringReport {
  // Asked for: explanations, and names for origins.
  bool explain = false;
  std::function<std::string(std::string_view origin)> name =
      [](std::string_view origin) { return std::string(origin); };
  // Of the scope at hand.
  std::string place;

  std::vector<ScopeReport> scopes;  // bodies before what they are in
  double seconds = 0;               // that fusion and layouts took
};

// Of seconds: "12.34 us".
std::string Microseconds(double seconds);

// The explanations, each below a line with the costs of its graph or body.
std::string FusionText(const LoweringReport& report);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_LOWERING_LOWERING_REPORT_H_
