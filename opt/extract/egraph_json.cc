#include "encore/opt/extract/egraph_json.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace encore::opt::extract {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
// A file is no longer: what has no end, as a device or a pipe may have none,
// does not fill the memory.
constexpr size_t kMostBytes = size_t{1} << 30;

// Names in order of first appearance.
class NameTable {
 public:
  uint32_t Intern(std::string_view name) {
    const auto it = index_.find(Key(name));
    if (it != index_.end()) return it->second;
    const uint32_t number = names_.size();
    index_.emplace(Key(names_.emplace_back(name)), number);
    return number;
  }
  std::optional<uint32_t> Find(std::string_view name) const {
    const auto it = index_.find(Key(name));
    if (it == index_.end()) return std::nullopt;
    return it->second;
  }
  const std::string& name(uint32_t i) const { return names_[i]; }
  uint32_t size() const { return names_.size(); }
  std::vector<std::string> Take() {
    return {std::make_move_iterator(names_.begin()),
            std::make_move_iterator(names_.end())};
  }

 private:
  static absl::string_view Key(std::string_view name) {
    return {name.data(), name.size()};
  }

  // Views into names_, whose elements stay where they are.
  absl::flat_hash_map<absl::string_view, uint32_t> index_;
  std::deque<std::string> names_;
};

struct RawNode {
  uint32_t id = kNone;      // in the table of node names
  uint32_t class_ = kNone;  // in the table of class names
  double cost = 1;
  uint32_t first_child = 0;  // in RawGraph::children, up to the next node's
};

// Nodes and classes as read; children are node names.
struct RawGraph {
  NameTable node_names, class_names;
  std::vector<RawNode> nodes;
  std::vector<uint32_t> children;
  std::vector<std::string> roots;
  bool has_nodes = false, has_roots = false;
};

// The SAX handler: where in the document it is, and what it expects there.
class Handler
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  explicit Handler(RawGraph* graph) : graph_(graph) {}

  const std::string& error() const { return error_; }

  bool Null() { return Scalar("null"); }
  bool Bool(bool) { return Scalar("a boolean"); }
  // Numbers come as text: RapidJSON's own conversion is undefined for some.
  bool Default() { return Scalar("a number"); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    if (place_ != Place::kCost) return Default();
    const absl::string_view number(text, size);
    double& cost = graph_->nodes.back().cost;
    if (!absl::SimpleAtod(number, &cost) || !std::isfinite(cost)) {
      return Error(StrCat("cost of ", NodeText(), " is out of range"));
    }
    place_ = Place::kNode;
    return true;
  }

  bool String(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view value(text, size);
    switch (place_) {
      case Place::kClass:
        graph_->nodes.back().class_ = graph_->class_names.Intern(value);
        place_ = Place::kNode;
        return true;
      case Place::kChildren:
        graph_->children.push_back(graph_->node_names.Intern(value));
        return true;
      case Place::kRoots:
        graph_->roots.emplace_back(value);
        return true;
      default:
        return Scalar("a string");
    }
  }

  bool StartObject() {
    switch (place_) {
      case Place::kTop:
        place_ = Place::kGraph;
        return true;
      case Place::kNodesValue:
        place_ = Place::kNodes;
        return true;
      case Place::kNodeValue:
        place_ = Place::kNode;
        return true;
      default:
        return Open("an object");
    }
  }

  bool Key(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view key(text, size);
    if (place_ == Place::kGraph) return GraphKey(key);
    if (place_ == Place::kNodes) return BeginNode(key);
    if (place_ == Place::kNode) return NodeKey(key);
    return true;
  }

  bool EndObject(rapidjson::SizeType) {
    if (place_ == Place::kSkip) return Close();
    if (place_ == Place::kNode) {
      if (graph_->nodes.back().class_ == kNone) {
        return Error(
            StrCat(NodeText(), " has no eclass, the class it belongs to"));
      }
      place_ = Place::kNodes;
    } else if (place_ == Place::kNodes) {
      place_ = Place::kGraph;
    } else {
      place_ = Place::kEnd;
    }
    return true;
  }

  bool StartArray() {
    switch (place_) {
      case Place::kChildrenValue:
        place_ = Place::kChildren;
        return true;
      case Place::kRootsValue:
        place_ = Place::kRoots;
        return true;
      default:
        return Open("an array");
    }
  }

  bool EndArray(rapidjson::SizeType) {
    if (place_ == Place::kSkip) return Close();
    place_ = place_ == Place::kChildren ? Place::kNode : Place::kGraph;
    return true;
  }

 private:
  // The value or the container that the next event belongs to.
  enum class Place {
    kTop,
    kGraph,
    kNodesValue,
    kNodes,
    kNodeValue,
    kNode,
    kClass,
    kCost,
    kChildrenValue,
    kChildren,
    kRootsValue,
    kRoots,
    kSkip,
    kEnd,
  };

  bool Error(std::string message) {
    error_ = std::move(message);
    return false;
  }

  std::string NodeText() const {
    return StrCat("node ",
                  Quote(graph_->node_names.name(graph_->nodes.back().id)));
  }

  bool Unexpected(std::string_view found) {
    switch (place_) {
      case Place::kTop:
        return Error(StrCat("the document is ", found, ", not an object"));
      case Place::kNodesValue:
        return Error(StrCat("nodes is ", found, ", not an object"));
      case Place::kNodeValue:
        return Error(StrCat(NodeText(), " is ", found, ", not an object"));
      case Place::kClass:
        return Error(
            StrCat("eclass of ", NodeText(), " is ", found, ", not a string"));
      case Place::kCost:
        return Error(
            StrCat("cost of ", NodeText(), " is ", found, ", not a number"));
      case Place::kChildrenValue:
        return Error(
            StrCat("children of ", NodeText(), " is ", found, ", not a list"));
      case Place::kChildren:
        return Error(
            StrCat("a child of ", NodeText(), " is ", found, ", not a string"));
      case Place::kRootsValue:
        return Error(StrCat("root_eclasses is ", found, ", not a list"));
      default:
        return Error(
            StrCat("an entry of root_eclasses is ", found, ", not a string"));
    }
  }

  bool Scalar(std::string_view found) {
    if (place_ != Place::kSkip) return Unexpected(found);
    if (depth_ == 0) place_ = after_skip_;
    return true;
  }

  bool Open(std::string_view found) {
    if (place_ != Place::kSkip) return Unexpected(found);
    ++depth_;
    return true;
  }

  bool Close() {
    if (--depth_ == 0) place_ = after_skip_;
    return true;
  }

  bool Skip() {
    after_skip_ = place_;
    place_ = Place::kSkip;
    return true;
  }

  bool GraphKey(std::string_view key) {
    if (key == "nodes") {
      place_ = Place::kNodesValue;
      return !std::exchange(graph_->has_nodes, true) ||
             Error("nodes is given twice");
    }
    if (key == "root_eclasses") {
      place_ = Place::kRootsValue;
      return !std::exchange(graph_->has_roots, true) ||
             Error("root_eclasses is given twice");
    }
    return Skip();
  }

  bool BeginNode(std::string_view name) {
    RawNode node;
    node.id = graph_->node_names.Intern(name);
    node.first_child = graph_->children.size();
    graph_->nodes.push_back(node);
    fields_ = 0;
    place_ = Place::kNodeValue;
    return true;
  }

  bool NodeKey(std::string_view key) {
    int field;
    if (key == "eclass") {
      place_ = Place::kClass;
      field = 1;
    } else if (key == "cost") {
      place_ = Place::kCost;
      field = 2;
    } else if (key == "children") {
      place_ = Place::kChildrenValue;
      field = 4;
    } else {
      return Skip();
    }
    if (fields_ & field) {
      return Error(StrCat(NodeText(), " has ", Quote(key), " twice"));
    }
    fields_ |= field;
    return true;
  }

  RawGraph* graph_;
  Place place_ = Place::kTop;
  Place after_skip_ = Place::kTop;
  uint64_t depth_ = 0;  // of containers inside what is skipped
  int fields_ = 0;      // of the current node
  std::string error_;
};

std::string Position(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  const size_t line = 1 + std::count(text.begin(), text.begin() + offset, '\n');
  return StrCat("line ", line, ", byte ", offset, ": ");
}

// Which raw node defines each node name.
StatusOr<std::vector<uint32_t>> Definitions(const RawGraph& graph) {
  std::vector<uint32_t> definition(graph.node_names.size(), kNone);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    uint32_t& place = definition[graph.nodes[i].id];
    if (place != kNone) {
      return InvalidArgumentError(
          StrCat("node ", Quote(graph.node_names.name(graph.nodes[i].id)),
                 " is given twice"));
    }
    place = i;
  }
  return definition;
}

StatusOr<NamedProblem> Build(RawGraph graph) {
  ENCORE_ASSIGN_OR_RETURN(const std::vector<uint32_t> definition,
                          Definitions(graph));
  const uint32_t num_nodes = graph.nodes.size();
  // A sentinel ends the last node's children.
  graph.nodes.push_back({.first_child = uint32_t(graph.children.size())});

  std::vector<uint32_t> order(num_nodes);  // nodes by class, else as read
  std::vector<uint32_t> start(graph.class_names.size() + 1, 0);
  for (uint32_t i = 0; i < num_nodes; ++i) ++start[graph.nodes[i].class_ + 1];
  for (uint32_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
  std::vector<uint32_t> next(start);
  for (uint32_t i = 0; i < num_nodes; ++i) {
    order[next[graph.nodes[i].class_]++] = i;
  }

  NamedProblem out;
  std::vector<ClassIndex> children;
  for (const uint32_t i : order) {
    const RawNode& node = graph.nodes[i];
    children.clear();
    for (uint32_t k = node.first_child; k < graph.nodes[i + 1].first_child;
         ++k) {
      const uint32_t target = definition[graph.children[k]];
      if (target == kNone) {
        return InvalidArgumentError(StrCat(
            "node ", Quote(graph.node_names.name(node.id)), " has the child ",
            Quote(graph.node_names.name(graph.children[k])),
            ", which is no node; children name nodes, not classes"));
      }
      children.push_back(graph.nodes[target].class_);
    }
    out.problem.AddNode(node.cost, children);
    out.node_names.push_back(graph.node_names.name(node.id));
  }
  out.problem.class_start = std::move(start);
  for (const std::string& root : graph.roots) {
    if (const auto c = graph.class_names.Find(root)) {
      out.problem.roots.push_back(*c);
    }
  }
  out.class_names = graph.class_names.Take();
  return out;
}

}  // namespace

StatusOr<NamedProblem> ParseEgraphJson(std::string_view text) {
  // Offsets into columns are 32 bits wide; a child takes three bytes at least.
  if (text.size() >= kNone) {
    return OutOfRangeError("a file of 4 GiB or more is not read");
  }
  RawGraph graph;
  Handler handler(&graph);
  rapidjson::Reader reader;
  rapidjson::MemoryStream stream(text.data(), text.size());
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, handler);
  if (!parsed) {
    const std::string what =
        handler.error().empty()
            ? std::string(rapidjson::GetParseError_En(parsed.Code()))
            : handler.error();
    return InvalidArgumentError(StrCat(Position(text, parsed.Offset()), what));
  }
  // The reader takes a zero byte for the end.
  if (stream.Tell() < text.size()) {
    return InvalidArgumentError(
        StrCat(Position(text, stream.Tell()), "a zero byte"));
  }
  if (!graph.has_nodes) {
    return InvalidArgumentError(
        "there is no \"nodes\", an object with an entry per node");
  }
  if (!graph.has_roots) {
    return InvalidArgumentError(
        "there is no \"root_eclasses\", a list of classes that may be empty");
  }
  return Build(std::move(graph));
}

StatusOr<NamedProblem> ReadEgraphJson(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char block[1 << 14];
  while (file && (file.read(block, sizeof(block)) || file.gcount() > 0)) {
    text.append(block, file.gcount());
    if (text.size() > kMostBytes) {
      return InvalidArgumentError(
          StrCat(path, ": more than ", kMostBytes, " bytes"));
    }
  }
  if (file.bad() || !file.is_open()) {
    return NotFoundError(StrCat(path, ": cannot be read"));
  }
  StatusOr<NamedProblem> parsed = ParseEgraphJson(text);
  if (!parsed.ok()) return Annotate(parsed.status(), path);
  return parsed;
}

}  // namespace encore::opt::extract
