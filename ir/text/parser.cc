#include "encore/ir/text/parser.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/lexer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/text/attribute_text.h"
#include "encore/ir/text/literal_text.h"
#include "encore/ir/types/type_text.h"

namespace encore {
namespace {

using text::Lexer;
using text::Token;
using text::TokenKind;

// %3 is not the argument %"3": whether the name is a number, and the name.
using ValueName = std::pair<bool, std::string>;

// A result as the text names it.
struct ResultName {
  ValueName name;
  // The lexer at its type, where one is written.
  std::optional<Lexer> type;
  size_t offset = 0;
};

// A node of which everything but the bodies has been read.
struct PendingNode {
  std::vector<ResultName> results;
  Op op;
  size_t offset = 0;
  std::vector<ValueId> operands;
  Attributes attributes;
  std::string origin;
  std::vector<Graph> bodies;
};

// A graph that is being read; the first is the outermost, each other a body of
// the one before.
struct Frame {
  Graph graph;
  std::map<ValueName, ValueId> values = {};
  size_t offset = 0;
  // The lexer at the output types, where they are written.
  std::optional<Lexer> output_types = {};
  std::optional<PendingNode> pending = {};
};

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : lexer_(text), budget_(options.max_repeated_bytes) {}

  StatusOr<Graph> Parse() {
    Graph outermost;
    if (lexer_.AcceptName("symbols")) {
      ENCORE_RETURN_IF_ERROR(ParseSymbols(&outermost));
    }
    ENCORE_RETURN_IF_ERROR(OpenGraph(std::move(outermost)));
    // Each step reads a statement; the innermost frame is the one it is in.
    for (;;) {
      if (frames_.back().pending) {
        if (lexer_.IsName("graph")) {
          ENCORE_RETURN_IF_ERROR(OpenGraph(frames_.back().graph.NewBody("")));
        } else {
          ENCORE_RETURN_IF_ERROR(FinishNode());
        }
      } else if (lexer_.AcceptName("return")) {
        ENCORE_RETURN_IF_ERROR(CloseGraph());
        if (frames_.size() == 1) break;
        Graph body = std::move(frames_.back().graph);
        frames_.pop_back();
        frames_.back().pending->bodies.push_back(std::move(body));
      } else {
        ENCORE_RETURN_IF_ERROR(ParseNode());
      }
    }
    if (lexer_.peek().kind != TokenKind::kEnd) {
      return lexer_.Expected("the end of the text");
    }
    return std::move(frames_.back().graph);
  }

 private:
  Status At(size_t offset, const Status& status) const {
    return status.ok() ? status : lexer_.ErrorAt(offset, Message(status));
  }

  Status ParseSymbols(Graph* graph) {
    do {
      Symbol symbol;
      const size_t offset = lexer_.peek().offset;
      ENCORE_ASSIGN_OR_RETURN(symbol.name, lexer_.ExpectName("a symbol"));
      symbol.at_run_time = lexer_.AcceptName("at_run_time");
      if (lexer_.AcceptName("in")) {
        ENCORE_RETURN_IF_ERROR(lexer_.Expect("["));
        ENCORE_ASSIGN_OR_RETURN(symbol.lower,
                                lexer_.ExpectInteger("a lower bound"));
        ENCORE_RETURN_IF_ERROR(lexer_.Expect(","));
        if (!lexer_.AcceptName("inf")) {
          ENCORE_ASSIGN_OR_RETURN(
              symbol.upper, lexer_.ExpectInteger("an upper bound or inf"));
        }
        ENCORE_RETURN_IF_ERROR(lexer_.Expect("]"));
      }
      ENCORE_RETURN_IF_ERROR(
          At(offset, graph->AddSymbol(std::move(symbol)).status()));
    } while (lexer_.Accept(","));
    return OkStatus();
  }

  // Looks symbols up in the innermost graph; `add` makes those that are not
  // there.
  text::SymbolLookup Symbols(bool add) {
    return [this, add](std::string_view name) -> StatusOr<uint32_t> {
      Graph& graph = frames_.back().graph;
      if (const auto found = graph.FindSymbol(name)) return *found;
      if (!add) return InvalidArgumentError(StrCat("no symbol ", name));
      return graph.AddSymbol({.name = std::string(name)});
    };
  }

  StatusOr<std::string> ParseNameOrString(std::string_view what) {
    if (lexer_.peek().kind == TokenKind::kString) {
      return lexer_.ExpectString(what);
    }
    return lexer_.ExpectName(what);
  }

  StatusOr<ValueName> ParseValueName(std::string_view what) {
    const Token token = lexer_.peek();
    if (token.kind != TokenKind::kValue) return lexer_.Expected(what);
    lexer_.Next();
    if (token.text[0] == '"') {
      auto name = Unquote(token.text);
      if (!name)
        return lexer_.ErrorAt(token.offset, "invalid escape in a name");
      return ValueName(false, *std::move(name));
    }
    const bool number = token.text[0] >= '0' && token.text[0] <= '9';
    return ValueName(number, std::string(token.text));
  }

  Status Define(const ValueName& name, size_t offset, ValueId value) {
    if (frames_.back().values.emplace(name, value).second) return OkStatus();
    return lexer_.ErrorAt(offset,
                          StrCat("%", name.second, " is there already"));
  }

  StatusOr<ValueId> ParseOperand() {
    const size_t offset = lexer_.peek().offset;
    ENCORE_ASSIGN_OR_RETURN(const ValueName name, ParseValueName("a value"));
    const auto& values = frames_.back().values;
    const auto found = values.find(name);
    if (found == values.end()) {
      return lexer_.ErrorAt(offset, StrCat("no value %", name.second));
    }
    return found->second;
  }

  StatusOr<std::string> ParseOrigin() {
    const Token token = lexer_.peek();
    if (token.kind != TokenKind::kOrigin) return std::string();
    lexer_.Next();
    auto origin = Unquote(token.text);
    if (!origin)
      return lexer_.ErrorAt(token.offset, "invalid escape in a string");
    return *std::move(origin);
  }

  // Reads "graph NAME(arguments) -> types {" into a new frame.
  Status OpenGraph(Graph graph) {
    if (frames_.size() > kMaxBodyDepth) {
      return lexer_.ErrorAt(lexer_.peek().offset,
                            StrCat("bodies nest deeper than ", kMaxBodyDepth));
    }
    if (!lexer_.AcceptName("graph")) return lexer_.Expected("'graph'");
    frames_.push_back({.graph = std::move(graph)});
    Frame& frame = frames_.back();
    frame.offset = lexer_.peek().offset;
    ENCORE_ASSIGN_OR_RETURN(std::string name,
                            ParseNameOrString("a graph's name"));
    frame.graph.set_name(std::move(name));
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("("));
    if (!lexer_.Accept(")")) {
      do {
        ENCORE_RETURN_IF_ERROR(ParseArgument());
      } while (lexer_.Accept(","));
      ENCORE_RETURN_IF_ERROR(lexer_.Expect(")"));
    }
    if (lexer_.Accept("->")) frame.output_types = SkipType("{");
    return lexer_.Expect("{");
  }

  Status ParseArgument() {
    Frame& frame = frames_.back();
    const size_t offset = lexer_.peek().offset;
    ENCORE_ASSIGN_OR_RETURN(const ValueName name,
                            ParseValueName("an argument: %name"));
    ENCORE_RETURN_IF_ERROR(lexer_.Expect(":"));
    const bool parameter = lexer_.AcceptName("param");
    ENCORE_ASSIGN_OR_RETURN(
        TensorType type,
        text::ParseType(lexer_, Symbols(/*add=*/frames_.size() == 1)));
    std::optional<Literal> data;
    if (parameter && lexer_.Accept("=")) {
      ENCORE_ASSIGN_OR_RETURN(data, text::ParseLiteral(lexer_, &budget_));
    }
    ENCORE_ASSIGN_OR_RETURN(const std::string origin, ParseOrigin());
    const StatusOr<ValueId> value =
        parameter ? frame.graph.AddParameter(name.second, std::move(type),
                                             std::move(data), origin)
                  : frame.graph.AddInput(name.second, std::move(type), origin);
    ENCORE_RETURN_IF_ERROR(At(offset, value.status()));
    return Define(name, offset, *value);
  }

  // Skips a type up to one of `ends` outside brackets. Types are read once the
  // values are there, since nodes may bring symbols of their own.
  Lexer SkipType(std::string_view ends) {
    const Lexer begin = lexer_;
    int depth = 0;
    while (lexer_.peek().kind != TokenKind::kEnd) {
      if (depth == 0 && lexer_.peek().kind == TokenKind::kPunctuation &&
          ends.find(lexer_.peek().text) != std::string_view::npos) {
        break;
      }
      if (lexer_.Is("[") || lexer_.Is("(")) ++depth;
      if (lexer_.Is("]") || lexer_.Is(")")) --depth;
      lexer_.Next();
    }
    return begin;
  }

  Status CheckType(Lexer& type, ValueId value, std::string_view what) {
    const Graph& graph = frames_.back().graph;
    const size_t offset = type.peek().offset;
    ENCORE_ASSIGN_OR_RETURN(const TensorType written,
                            text::ParseType(type, Symbols(/*add=*/false)));
    if (written == graph.type(value)) return OkStatus();
    return lexer_.ErrorAt(
        offset,
        StrCat(what, " is ", graph.type(value).ToString(graph.symbols()),
               ", not ", written.ToString(graph.symbols())));
  }

  // Reads "%a, %b = op(operands) {attributes} @"origin"" into the frame's
  // pending node.
  Status ParseNode() {
    PendingNode node;
    if (lexer_.peek().kind == TokenKind::kValue) {
      do {
        ResultName result;
        result.offset = lexer_.peek().offset;
        ENCORE_ASSIGN_OR_RETURN(result.name, ParseValueName("a result"));
        if (lexer_.Accept(":")) result.type = SkipType(",=");
        node.results.push_back(std::move(result));
      } while (lexer_.Accept(","));
      ENCORE_RETURN_IF_ERROR(lexer_.Expect("="));
    }
    node.offset = lexer_.peek().offset;
    const auto op = lexer_.peek().kind == TokenKind::kName
                        ? ParseOp(lexer_.peek().text)
                        : std::nullopt;
    if (!op || *op == Op::kInput || *op == Op::kParameter) {
      return lexer_.Expected("an op, or return");
    }
    lexer_.Next();
    node.op = *op;
    ENCORE_RETURN_IF_ERROR(lexer_.Expect("("));
    if (!lexer_.Accept(")")) {
      do {
        ENCORE_ASSIGN_OR_RETURN(const ValueId operand, ParseOperand());
        node.operands.push_back(operand);
      } while (lexer_.Accept(","));
      ENCORE_RETURN_IF_ERROR(lexer_.Expect(")"));
    }
    node.attributes = DefaultAttributes(Info(*op).attributes);
    ENCORE_RETURN_IF_ERROR(text::ParseAttributes(lexer_, Symbols(/*add=*/false),
                                                 &budget_, &node.attributes));
    ENCORE_ASSIGN_OR_RETURN(node.origin, ParseOrigin());
    frames_.back().pending = std::move(node);
    return OkStatus();
  }

  Status FinishNode() {
    Frame& frame = frames_.back();
    PendingNode node = *std::move(frame.pending);
    frame.pending.reset();
    Graph::NodeOptions options;
    options.origin = node.origin;
    options.bodies = std::move(node.bodies);
    const StatusOr<NodeId> added = frame.graph.AddNode(
        node.op, node.operands, std::move(node.attributes), std::move(options));
    ENCORE_RETURN_IF_ERROR(At(node.offset, added.status()));
    if (frame.graph.result_count(*added) !=
        static_cast<int>(node.results.size())) {
      return lexer_.ErrorAt(
          node.offset,
          StrCat(node.op, " has ", frame.graph.result_count(*added),
                 " results, not ", node.results.size()));
    }
    for (size_t i = 0; i < node.results.size(); ++i) {
      ResultName& result = node.results[i];
      const ValueId value = frame.graph.result(*added, static_cast<int>(i));
      if (result.type) {
        ENCORE_RETURN_IF_ERROR(
            CheckType(*result.type, value, StrCat("%", result.name.second)));
      }
      ENCORE_RETURN_IF_ERROR(Define(result.name, result.offset, value));
    }
    return OkStatus();
  }

  // Reads what follows "return", the closing brace included.
  Status CloseGraph() {
    Frame& frame = frames_.back();
    if (!lexer_.Is("}")) {
      do {
        const Token token = lexer_.peek();
        ENCORE_ASSIGN_OR_RETURN(const ValueId value, ParseOperand());
        std::string name;
        if (lexer_.AcceptName("as")) {
          ENCORE_ASSIGN_OR_RETURN(name, ParseNameOrString("a name"));
        } else {
          name = token.text[0] == '"' ? *Unquote(token.text)
                                      : std::string(token.text);
        }
        ENCORE_RETURN_IF_ERROR(
            At(token.offset, frame.graph.AddOutput(std::move(name), value)));
      } while (lexer_.Accept(","));
    }
    ENCORE_RETURN_IF_ERROR(CheckOutputTypes());
    return lexer_.Expect("}");
  }

  // The types after "->", "TYPE" or "(TYPE, …)", where they were given.
  Status CheckOutputTypes() {
    if (!frames_.back().output_types) return OkStatus();
    Lexer types = *std::move(frames_.back().output_types);
    const Graph& graph = frames_.back().graph;
    const bool several = types.Accept("(");
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      if (i > 0) ENCORE_RETURN_IF_ERROR(types.Expect(","));
      ENCORE_RETURN_IF_ERROR(
          CheckType(types, graph.outputs()[i].value, StrCat("output ", i)));
    }
    if (several) ENCORE_RETURN_IF_ERROR(types.Expect(")"));
    return types.Is("{") ? OkStatus() : types.Expected("'{'");
  }

  Lexer lexer_;
  int64_t budget_;
  std::vector<Frame> frames_;
};

}  // namespace

StatusOr<Graph> ParseGraph(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).Parse();
}

}  // namespace encore
