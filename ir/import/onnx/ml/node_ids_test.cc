#include "encore/ir/import/onnx/ml/node_ids.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::onnx {
namespace {

using ::testing::HasSubstr;

// Against a map, for ids that follow each other, that leave some out, and at
// both ends of the numbers, added in any order.
TEST(NodeIdsTest, FindsWhatWasAdded) {
  constexpr int64_t kIds[] = {INT64_MIN, INT64_MIN + 1, -7, -1, 0, 1, 2, 3, 40,
                              41,        INT64_MAX};
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    NodeIds ids;
    std::map<std::pair<int64_t, int64_t>, TreeRef> expected;
    for (int i = 0; i < round; ++i) {
      const int64_t tree = kIds[random() % std::size(kIds)];
      const int64_t id = kIds[random() % std::size(kIds)];
      if (!expected.emplace(std::pair(tree, id), i).second) continue;
      ids.Add(tree, id, i);
    }
    ASSERT_TRUE(ids.Build().ok());
    for (const int64_t tree : kIds) {
      for (const int64_t id : kIds) {
        const auto found = ids.Find("a", tree, id);
        const auto wanted = expected.find({tree, id});
        ASSERT_EQ(found.ok(), wanted != expected.end());
        if (found.ok()) EXPECT_EQ(*found, wanted->second);
      }
    }
  }
}

TEST(NodeIdsTest, Errors) {
  NodeIds ids;
  ids.Add(3, 1, 0);
  ids.Add(2, 1, 1);
  ASSERT_TRUE(ids.Build().ok());
  EXPECT_THAT(Message(ids.Find("class_nodeids", 3, 2).status()),
              HasSubstr("attribute class_nodeids names node 2 of tree 3, which "
                        "is not there"));
  NodeIds twice;
  twice.Add(3, 1, 0);
  twice.Add(2, 1, 1);
  twice.Add(3, 1, 2);
  EXPECT_THAT(Message(twice.Build()),
              HasSubstr("attribute nodes_nodeids has node 1 of tree 3 twice"));
}

}  // namespace
}  // namespace encore::onnx
