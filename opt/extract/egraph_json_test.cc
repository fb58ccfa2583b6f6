#include "encore/opt/extract/egraph_json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

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

TEST(EgraphJsonTest, ReadsWhatItWrites) {
  NamedProblem named;
  Problem& p = named.problem;
  // Class 2 has no node, so that the first of class 1 cannot be chosen, nor
  // class 3.
  const std::vector<ClassIndex> both = {1, 1}, none = {2}, neither = {3, 0};
  p.AddNode(0.1 + 0.2, both);
  p.AddNode(-1e-300, neither);
  p.FinishClass();
  p.AddNode(1, none);
  p.AddNode(5e-324, {});
  p.FinishClass();
  p.FinishClass();
  p.AddNode(2, none);
  p.FinishClass();
  p.roots = {0, 1, 0};
  named.class_names = {"a \"quoted\"", "b\n", "c", "d"};
  named.node_names = {"0", "1", "2", "3", "4"};
  const std::vector<std::string> ops = {"+", "<", "\\", "", "x"};
  const auto read = ParseEgraphJson(EgraphJson(named, ops));
  ASSERT_TRUE(read.ok()) << read.status();
  const Problem& q = read->problem;
  EXPECT_EQ(read->class_names,
            (std::vector<std::string>{"a \"quoted\"", "b\n"}));
  EXPECT_EQ(read->node_names, (std::vector<std::string>{"0", "3"}));
  EXPECT_EQ(q.cost, (std::vector<double>{0.1 + 0.2, 5e-324}));
  EXPECT_EQ(q.child, (std::vector<ClassIndex>{1, 1}));
  EXPECT_EQ(q.roots, p.roots);
}

TEST(EgraphJsonTest, ErrorsNameThePlace) {
  EXPECT_EQ(ErrorOf("[]"),
            "line 1, byte 0: the document is an array, not an object");
  EXPECT_EQ(ErrorOf("{\"nodes\": {},\n}").substr(0, 7), "line 2,");
  EXPECT_EQ(ErrorOf("{}"),
            "there is no \"nodes\", an object with an entry per node");
  EXPECT_EQ(
      ErrorOf(R"({"nodes": {}})"),
      "there is no \"root_eclasses\", a list of classes that may be empty");
  EXPECT_EQ(
      ErrorOf(R"({"root_eclasses": [], "nodes": {"a": {"cost": 1}}})"),
      "line 1, byte 47: node \"a\" has no eclass, the class it belongs to");
  EXPECT_EQ(
      ErrorOf(
          R"({"root_eclasses": [], "nodes": {"a": {"eclass":"x","children":["b"]}}})"),
      "node \"a\" has the child \"b\", which is no node; "
      "children name nodes, not classes");
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

TEST(EgraphJsonTest, HostileValues) {
  const auto with_cost = [](std::string cost) {
    return R"({"root_eclasses": ["x"], "nodes": {"a": {"eclass": "x", )"
           R"("cost": )" +
           cost + "}}}";
  };
  for (const char* cost :
       {"-0", "1e308", "-1e308", "5e-324", "0.1e-999", "0e-111", "0e111",
        "0.1e-307", "2.2250738585072011e-308", "18446744073709551616",
        "-9223372036854775809"}) {
    const auto named = ParseEgraphJson(with_cost(cost));
    ASSERT_TRUE(named.ok()) << cost << ": " << named.status();
    EXPECT_EQ(named->problem.cost[0], std::strtod(cost, nullptr));
  }
  for (const char* cost : {"1e309", "-1e400", "Infinity", "-inf", "NaN", "0x1",
                           "01", "1.", ".5", "+1", "\"1\"", "true", "[1]"}) {
    EXPECT_NE(ErrorOf(with_cost(cost)).find("line 1"), std::string::npos)
        << cost;
  }
  EXPECT_EQ(ErrorOf(with_cost("1.8e308")),
            "line 1, byte 64: cost of node \"a\" is out of range");
  EXPECT_FALSE(Validate(ParseEgraphJson(with_cost("1e301"))->problem).ok());
}

TEST(EgraphJsonTest, HostileText) {
  const std::string start = R"({"root_eclasses": [], "nodes": {"a": {)";
  const std::string deep(100'000, '{');
  for (const std::string& text :
       {std::string(), std::string("\xef\xbb\xbf"), std::string("{\0}", 3),
        start, start + R"("eclass": "\xff"}}})",
        start + R"("eclass": "\ud800"}}})", start + R"("eclass": null}}})",
        start + R"("eclass": ["x"]}}})", start + R"("children": [[]]}}})",
        start + R"("children": {}}}})", start + R"("x": )" + deep,
        start + R"("children": )" + deep,
        std::string(R"({"root_eclasses": {"x": 1}, "nodes": {}})"),
        std::string(R"({"root_eclasses": [[]], "nodes": {}})"),
        std::string(R"({"root_eclasses": [], "nodes": {}} {})"),
        std::string(R"({"root_eclasses": [], "nodes": {}})") + '\0',
        std::string(R"({"nodes": {}, "root_eclasses": [], "nodes": {}})"),
        std::string(
            R"({"nodes": {}, "root_eclasses": [], "root_eclasses": []})")}) {
    EXPECT_FALSE(ParseEgraphJson(text).ok()) << text.substr(0, 100);
  }
}

TEST(EgraphJsonTest, NamesAreBytes) {
  const auto named = ParseEgraphJson(
      R"({"root_eclasses": ["", "\u0000"], "nodes": {"": {"eclass": "",)"
      R"("children": ["\u0000"]}, "\u0000": {"eclass": "\u0000"}}})");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->class_names,
            (std::vector<std::string>{"", std::string(1, '\0')}));
  EXPECT_EQ(named->problem.child, std::vector<ClassIndex>{1});
  EXPECT_EQ(named->problem.roots, (std::vector<ClassIndex>{0, 1}));
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
