#include "encore/cache/package/package_graph.h"

#include "encore/cache/package/package_loader.h"
#include "encore/cache/session/export.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/build/builder.h"
#include "encore/runtime/device/thread_pool.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

// relu(x * w + 100 constants), with a name that is not the canonical one.
Graph Model() {
  GraphBuilder g("model");
  const auto x = g.Input("image", {DType::kF32, {2, 3}});
  const auto w = g.Parameter(
      "weights", {DType::kF32, {3, 100}},
      Literal::FromValues<float>({3, 100}, std::vector<float>(300, 0.5f)));
  const auto c = g.Constant(
      Literal::FromValues<float>({100}, std::vector<float>(100, -1.25f)));
  return *g.Build({{"scores", g.Relu(g.Add(g.MatMul(x, w), c))}});
}

class PackageGraphTest : public testing::Test {
 protected:
  Session NewSession() {
    backends::CompileOptions options;
    options.target = "ref";
    options.deterministic = true;
    return Session(StandardSessionOptions(options, ""), &threads_);
  }
  runtime::ThreadPool threads_{1};
  const std::vector<Literal> input_ = {
      Literal::FromValues<float>({2, 3}, {1, 2, 3, -4, -5, -6})};
};

TEST_F(PackageGraphTest, IsCompiledAgainToTheSame) {
  Session session = NewSession();
  const Graph model = Model();
  const auto expected = session.Run(model, input_);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto package = Export(session, model, {});
  ASSERT_TRUE(package.ok()) << package.status();
  const auto options = OptionsOf(*package);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(*options, session.options().compile);
  const auto graph = GraphOf(*package);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto again = session.Load(*graph);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->compiled().key, package->key());
  const auto named = (*again)->WithNames(NamesOf(*package));
  EXPECT_EQ(named->names().inputs, std::vector<std::string>{"image"});
  EXPECT_EQ(*named->Run(input_), *expected);
}

TEST_F(PackageGraphTest, PartsOfDifferentGraphsAreRefused) {
  Session session = NewSession();
  const Package good = *Export(session, Model(), {});
  Package bad = good;
  bad.parameters[0] = Literal(DType::kF32, {3, 99});
  EXPECT_EQ(GraphOf(bad).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(CheckPackage(bad).code(), StatusCode::kDataLoss);
  bad = good;
  bad.parameters.push_back(bad.parameters[0]);
  EXPECT_EQ(GraphOf(bad).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(CheckPackage(bad).code(), StatusCode::kDataLoss);
  bad = good;
  bad.constants.clear();
  EXPECT_EQ(GraphOf(bad).status().code(), StatusCode::kDataLoss);
  bad = good;
  bad.ingredients.resize(bad.ingredients.size() / 2);
  EXPECT_EQ(GraphOf(bad).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(OptionsOf(bad).status().code(), StatusCode::kDataLoss);
  bad = good;
  bad.names.outputs.clear();
  EXPECT_EQ(CheckPackage(bad).code(), StatusCode::kDataLoss);
  bad = good;
  bad.calls = {{{Literal(DType::kF32, {2, 4})}, {}}};
  EXPECT_EQ(CheckPackage(bad).code(), StatusCode::kDataLoss);
  EXPECT_TRUE(CheckPackage(good).ok()) << CheckPackage(good);
}

TEST_F(PackageGraphTest, NamesAreThoseOfThePackage) {
  Session session = NewSession();
  Package package = *Export(session, Model(), {});
  package.names.origins = {"", "", "", "fc/product"};
  const auto graph = NamedGraphOf(package);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->arguments()[0].name, "image");
  EXPECT_EQ(graph->arguments()[1].name, "weights");
  EXPECT_EQ(graph->outputs()[0].name, "scores");
  EXPECT_EQ(Export(session, *graph, {})->key(), package.key());
  bool found = false;
  for (const NodeId node : Nodes(*graph)) {
    found |= graph->origin(node) == "fc/product";
  }
  EXPECT_TRUE(found);
  package.names.parameters = {"image"};
  EXPECT_EQ(NamedGraphOf(package).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace encore::cache
