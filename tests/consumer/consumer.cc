// A program that uses Encore as a library, from a workspace of its own: builds
// a graph, compiles it or recalls it from the folder given, replays it, and
// checks the result. Prints "miss" where it compiled and "hit" where it did
// not.

#include <cstdio>
#include <utility>
#include <vector>

#include "cache/session.h"
#include "encore/backends/options.h"
#include "encore/cache/session/session.h"
#include "encore/cache/session/standard_session.h"
#include "encore/ir/build/builder.h"
#include "encore/ir/types/literal.h"
#include "encore/runtime/device/thread_pool.h"
#include "ir/graph.h"

namespace {

using encore::DType;
using encore::Literal;

encore::StatusOr<encore::Graph> Layer() {
  encore::GraphBuilder g("layer");
  const encore::Value x = g.Input("x", {DType::kF32, {2, 3}});
  const encore::Value w =
      g.Parameter("w", {DType::kF32, {3, 2}},
                  Literal::FromValues<float>({3, 2}, {1, -1, 2, -2, 3, -3}));
  const encore::Value b = g.Parameter(
      "b", {DType::kF32, {2}}, Literal::FromValues<float>({2}, {0.5f, 1}));
  return g.Build({{"y", g.Relu(g.Add(g.MatMul(x, w), b))}});
}

int Fail(const encore::Status& status) {
  std::fprintf(stderr, "%s\n", encore::Message(status).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  static_assert(consumer::kSessions == 2 && consumer::Graph{1}.nodes == 1);
  if (argc != 2) return 2;
  const auto graph = Layer();
  if (!graph.ok()) return Fail(graph.status());
  encore::runtime::ThreadPool threads(2);
  encore::cache::Session session(
      encore::cache::StandardSessionOptions({}, argv[1]), &threads);
  const auto loaded = session.Load(*graph);
  if (!loaded.ok()) return Fail(loaded.status());
  const std::vector<Literal> inputs = {
      Literal::FromValues<float>({2, 3}, {1, 1, 1, -1, 0, 0})};
  const auto outputs = (*loaded)->Run(inputs);
  if (!outputs.ok()) return Fail(outputs.status());
  // x w + b = [[6.5, -5], [-0.5, 2]], computed by hand.
  if ((*outputs)[0] != Literal::FromValues<float>({2, 2}, {6.5f, 0, 0, 2})) {
    std::fprintf(stderr, "wrong result\n");
    return 1;
  }
  const bool compiled =
      (*loaded)->found_in() == encore::cache::FoundIn::kCompiled;
  std::printf("%s\n", compiled ? "miss" : "hit");
  return 0;
}
