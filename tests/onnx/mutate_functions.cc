#include <string>
#include <utility>

#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/base_models.h"
#include "encore/tests/onnx/mutations.h"

namespace encore::tests {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

// The domain of the function.
constexpr char kDomain[] = "local";

// y = F(x) with alpha = 0.5, where F(a) {c = LeakyRelu(a) with alpha = the
// call's; b = Neg(c)}.
ModelProto WithFunction() {
  ModelProto model = EmptyModel();
  auto* graph = model.mutable_graph();
  Value("x", 1, {2, 3}, graph->add_input());
  Value("y", 1, {2, 3}, graph->add_output());
  NodeProto* call = AddNode(graph, "F", {"x"}, {"y"});
  call->set_domain(kDomain);
  AttributeProto* alpha = call->add_attribute();
  alpha->set_name("alpha");
  alpha->set_type(AttributeProto::FLOAT);
  alpha->set_f(0.5);
  auto* import = model.add_opset_import();
  import->set_domain(kDomain);
  import->set_version(1);
  FunctionProto* function = model.add_functions();
  function->set_name("F");
  function->set_domain(kDomain);
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("alpha");
  *function->mutable_opset_import() = model.opset_import();
  NodeProto* leaky = function->add_node();
  leaky->set_name("leaky");
  leaky->set_op_type("LeakyRelu");
  leaky->add_input("a");
  leaky->add_output("c");
  AttributeProto* reference = leaky->add_attribute();
  reference->set_name("alpha");
  reference->set_ref_attr_name("alpha");
  reference->set_type(AttributeProto::FLOAT);
  NodeProto* neg = function->add_node();
  neg->set_name("neg");
  neg->set_op_type("Neg");
  neg->add_input("c");
  neg->add_output("b");
  return model;
}

class FunctionMutator {
 public:
  explicit FunctionMutator(const Sink& sink) : sink_(sink) {}

  void MutateCall();
  // `called`: or nothing does.
  void MutateBody(bool called);
  void MutateNodes(bool called);

 private:
  NodeProto* Call() {
    model_ = WithFunction();
    model_.mutable_graph()->mutable_node(0)->set_name(kNodeName);
    return model_.mutable_graph()->mutable_node(0);
  }
  FunctionProto* Function(bool called) {
    NodeProto* call = Call();
    call->set_name("call");
    if (!called) {
      call->set_op_type("Relu");
      call->clear_domain();
      call->clear_attribute();
    }
    return model_.mutable_functions(0);
  }
  // The function's node i, which is mutated.
  NodeProto* Inner(bool called, int i) {
    NodeProto* node = Function(called)->mutable_node(i);
    node->set_name(kNodeName);
    return node;
  }
  void Emit(std::string_view what, std::string_view rule, Fault fault) {
    sink_({StrCat("function/", what), model_.SerializeAsString(),
           std::move(fault), std::string(rule)});
  }

  const Sink& sink_;
  ModelProto model_;
};

void FunctionMutator::MutateCall() {
  Call()->add_input("x");
  Emit("call/more inputs", "the function takes one", {.node = kNodeName});
  Call()->add_output("z");
  Emit("call/more outputs", "the function has one", {.node = kNodeName});
  Call()->clear_input();
  Emit("call/no inputs", "the function reads its input", {.node = kNodeName});
  AttributeProto* attribute = Call()->add_attribute();
  attribute->set_name("frobnicate");
  attribute->set_type(AttributeProto::INT);
  attribute->set_i(1);
  Emit("call/unknown attribute", "the function has no such attribute",
       {.node = kNodeName, .attribute = "frobnicate"});
  NodeProto* call = Call();
  *call->add_attribute() = call->attribute(0);
  Emit("call/attribute twice", "attributes have distinct names",
       {.node = kNodeName, .attribute = "alpha"});
  attribute = Call()->mutable_attribute(0);
  attribute->set_type(AttributeProto::INT);
  attribute->clear_f();
  attribute->set_i(1);
  Emit("call/attribute retyped", "alpha is a float",
       {.node = kNodeName, .attribute = "alpha"});
  Call()->set_op_type("G");
  Emit("call/of nothing", "there is no such function", {.node = kNodeName});
  Call()->mutable_attribute(0)->set_ref_attr_name("alpha");
  Emit("call/reference", "references are in functions",
       {.node = kNodeName, .attribute = "alpha"});
  Call();
  model_.mutable_opset_import()->RemoveLast();
  Emit("call/domain not imported", "domains of nodes are imported",
       {.node = kNodeName});
  call = Call();
  call->set_op_type("LeakyRelu");
  call->clear_domain();
  call->mutable_attribute(0)->set_ref_attr_name("alpha");
  Emit("reference outside", "references are in functions",
       {.node = kNodeName, .attribute = "alpha"});
}

void FunctionMutator::MutateBody(bool called) {
  const auto emit = [&](std::string_view what, std::string_view rule) {
    Emit(StrCat(called ? "" : "uncalled/", what), rule, {.value = "F"});
  };
  FunctionProto* function = Function(called);
  *model_.add_functions() = *function;
  emit("twice", "functions have distinct names");
  Function(called)->set_output(0, "nobody_makes_this");
  emit("output of nobody", "outputs are made by nodes");
  Function(called)->add_input("a");
  emit("input twice", "names are given once");
  Function(called)->set_input(0, "");
  emit("input without a name", "names are not empty");
  Function(called)->clear_node();
  emit("no nodes", "outputs are made by nodes");
  function = Function(called);
  *function->add_opset_import() = function->opset_import(0);
  function->mutable_opset_import(0)->set_version(
      function->opset_import(0).version() + 1);
  emit("opset imported twice", "a domain is imported at one version");
  Function(called)->mutable_opset_import(0)->set_version(-1);
  emit("opset -1", "there is no such opset");
  function = Function(called);
  function->mutable_node(0)->set_op_type("F");
  function->mutable_node(0)->set_domain(kDomain);
  emit("calls itself", "functions do not call themselves");
}

void FunctionMutator::MutateNodes(bool called) {
  const auto emit = [&](std::string_view what, std::string_view rule,
                        std::string_view attribute = "") {
    Emit(StrCat(called ? "" : "uncalled/", "node/", what), rule,
         {.node = kNodeName, .attribute = std::string(attribute)});
  };
  Inner(called, 0)->set_op_type("Frobnicate");
  emit("unknown operator", "the standard has no such operator");
  Inner(called, 0)->set_domain("frobnicate");
  emit("unknown domain", "nobody defines the domain");
  Inner(called, 0)->set_input(0, "nobody_makes_this");
  emit("input of nobody", "values are made before they are read");
  Inner(called, 0)->set_input(0, "x");
  emit("input of the model", "functions read their inputs only");
  Inner(called, 0)->set_input(0, "");
  emit("input left out", "the input is required");
  Inner(called, 0)->add_input("a");
  emit("too many inputs", "the operator takes fewer inputs");
  Inner(called, 1)->set_output(0, "c");
  emit("output twice", "names are given once");
  Inner(called, 0)->set_input(0, "b");
  emit("cyclic", "graphs are acyclic");
  Inner(called, 0)->mutable_attribute(0)->set_ref_attr_name("frobnicate");
  emit("reference to nothing", "the function has the attribute", "alpha");
  Inner(called, 0)->mutable_attribute(0)->set_name("frobnicate");
  emit("unknown attribute", "the operator has no such attribute", "frobnicate");
  AttributeProto* attribute = Inner(called, 0)->mutable_attribute(0);
  attribute->clear_ref_attr_name();
  attribute->set_type(AttributeProto::STRING);
  attribute->set_s("0.5");
  emit("attribute retyped", "alpha is a float", "alpha");
  Inner(called, 0)->mutable_attribute(0)->set_type(AttributeProto::INTS);
  emit("reference retyped", "alpha is a float", "alpha");
  NodeProto* node = Inner(called, 0);
  *node->add_attribute() = node->attribute(0);
  emit("attribute twice", "attributes have distinct names", "alpha");
}

}  // namespace

void MutateFunctions(const Sink& sink) {
  FunctionMutator mutator(sink);
  mutator.MutateCall();
  for (const bool called : {true, false}) {
    mutator.MutateBody(called);
    mutator.MutateNodes(called);
  }
}

}  // namespace encore::tests
