#include "encore/opt/extract/egraph_json.h"

#include <gtest/gtest.h>

#include <string>

namespace encore::opt::extract {
namespace {

std::string ErrorOf(std::string_view text) {
  return Message(ParseEgraphJson(text).status());
}

TEST(EgraphJsonTest, ReadsNodesInAnyFieldOrder) {
  const auto named = ParseEgraphJson(R"({
    "class_data": {"a": {"type": [[], {"x": null}]}},
    "root_eclasses": ["a #.", "no class", "a #."],
    "nodes": {
      "n 0": {"op": "+", "children": ["n.1", "n.1", "n#2"], "eclass": "a #.",
              "cost": -2.5, "subsumed": false},
      "n.1": {"eclass": "b"},
      "n#2": {"cost": 3, "eclass": "a #.", "children": []}}})");
  ASSERT_TRUE(named.ok()) << named.status();
  const Problem& p = named->problem;
  ASSERT_TRUE(Validate(p).ok());
  EXPECT_EQ(named->class_names, (std::vector<std::string>{"a #.", "b"}));
  EXPECT_EQ(named->node_names, (std::vector<std::string>{"n 0", "n#2", "n.1"}));
  EXPECT_EQ(p.class_start, (std::vector<uint32_t>{0, 2, 3}));
  EXPECT_EQ(p.cost, (std::vector<double>{-2.5, 3, 1}));
  EXPECT_EQ(p.child, (std::vector<ClassIndex>{1, 1, 0}));
  EXPECT_EQ(p.child_start, (std::vector<uint32_t>{0, 3, 3, 3}));
  EXPECT_EQ(p.roots, (std::vector<ClassIndex>{0, 0}));
}

TEST(EgraphJsonTest, ErrorsNameThePlace) {
  EXPECT_EQ(ErrorOf("[]"),
            "line 1, byte 0: the document is an array, not an object");
  EXPECT_EQ(ErrorOf("{\"nodes\": {},\n}").substr(0, 7), "line 2,");
  EXPECT_EQ(ErrorOf("{}"), "there is no \"nodes\"");
  EXPECT_EQ(ErrorOf(R"({"nodes": {}})"), "there is no \"root_eclasses\"");
  EXPECT_EQ(ErrorOf(R"({"root_eclasses": [], "nodes": {"a": {"cost": 1}}})"),
            "line 1, byte 47: node \"a\" has no eclass");
  EXPECT_EQ(
      ErrorOf(
          R"({"root_eclasses": [], "nodes": {"a": {"eclass":"x","children":["b"]}}})"),
      "node \"a\" has the child \"b\", which is no node");
  EXPECT_EQ(
      ErrorOf(
          R"({"root_eclasses": [], "nodes": {"a": {"eclass":"x"}, "a": {"eclass":"y"}}})"),
      "node \"a\" is given twice");
}

TEST(EgraphJsonTest, RefusesWrongTypesAndNumbers) {
  const auto node = [](std::string fields) {
    return R"({"root_eclasses": [], "nodes": {"a": {"eclass": "x")" + fields +
           "}}}";
  };
  EXPECT_TRUE(ParseEgraphJson(node("")).ok());
  EXPECT_NE(ErrorOf(node(R"(, "cost": "1")")).find("not a number"),
            std::string::npos);
  EXPECT_NE(ErrorOf(node(R"(, "cost": null)")).find("not a number"),
            std::string::npos);
  EXPECT_NE(ErrorOf(node(R"(, "cost": 1e999)")), "");
  EXPECT_NE(ErrorOf(node(R"(, "cost": NaN)")), "");
  EXPECT_NE(ErrorOf(node(R"(, "children": "b")")).find("not a list"),
            std::string::npos);
  EXPECT_NE(ErrorOf(node(R"(, "children": [1])")).find("not a string"),
            std::string::npos);
  EXPECT_NE(ErrorOf(node(R"(, "eclass": "y")")).find("twice"),
            std::string::npos);
  EXPECT_NE(ErrorOf(node("") + "x"), "");
}

TEST(EgraphJsonTest, DeepNestingDoesNotRecurse) {
  const std::string deep(1'000'000, '[');
  EXPECT_NE(ErrorOf("{\"x\": " + deep), "");
  EXPECT_TRUE(ParseEgraphJson("{\"nodes\": {}, \"root_eclasses\": [], \"x\": " +
                              deep + std::string(1'000'000, ']') + "}")
                  .ok());
}

TEST(EgraphJsonTest, WritesChoicesWithEscapedNames) {
  NamedProblem named;
  named.problem.AddNode(1.5, {});
  named.problem.FinishClass();
  named.class_names = {"a \"b\""};
  named.node_names = {"n\n"};
  Result result;
  result.feasible = true;
  result.cost = 1.5;
  result.choice = {0};
  EXPECT_EQ(ResultJson("f", named, result, std::nullopt),
            R"({"file":"f","status":"ok","cost":1.5,"lower_bound":null,)"
            R"("optimal":false,"choices":{"a \"b\"":"n\n"}})");
  result.feasible = false;
  EXPECT_EQ(ResultJson("f", named, result, std::nullopt),
            R"({"file":"f","status":"infeasible","cost":null,)"
            R"("lower_bound":null,"optimal":false,"choices":{}})");
}

}  // namespace
}  // namespace encore::opt::extract
