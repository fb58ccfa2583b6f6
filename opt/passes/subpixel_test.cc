#include "encore/opt/passes/subpixel.h"

#include <vector>

#include "encore/ir/eval/evaluator.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/random_graph.h"
#include "encore/ir/text/parser.h"
#include "gtest/gtest.h"

namespace encore::opt {
namespace {

struct Case {
  std::string_view input, filters, result, low, high, dilation, window;
  int groups = 1;
  bool replaced = true;
};

std::string Text(const Case& c) {
  return StrCat("graph g(%x: f32", c.input, ", %w: param f32", c.filters,
                ") -> f32", c.result,
                " {\n  %y = convolution(%x, %w) "
                "{strides = ",
                c.window, ", padding_low = ", c.low,
                ", padding_high = ", c.high, ", lhs_dilation = ", c.dilation,
                ", rhs_dilation = ", c.window, ", feature_groups = ", c.groups,
                "}\n  return %y\n}");
}

TEST(Subpixel, SameValuesWithoutDilation) {
  for (const Case& c : {
           Case{"[2,3,4,5]", "[6,3,2,2]", "[2,6,8,10]", "[1,1]", "[1,1]",
                "[2,2]", "[1,1]"},
           Case{"[1,2,5]", "[4,2,6]", "[1,4,14]", "[2]", "[4]", "[3]", "[1]"},
           Case{"[1,2,5]", "[4,2,6]", "[1,4,16]", "[5]", "[3]", "[3]", "[1]"},
           Case{"[1,4,3,6]", "[6,2,3,4]", "[1,6,3,12]", "[1,3]", "[1,1]",
                "[1,2]", "[1,1]", 2},
           // Phases with other taps stay.
           Case{"[1,2,5]", "[4,2,3]", "[1,4,9]", "[1]", "[1]", "[2]", "[1]", 1,
                false},
           Case{"[1,2,5]", "[4,2,4]", "[1,4,10]", "[2]", "[2]", "[2]", "[1]", 1,
                false},
       }) {
    const std::string text = Text(c);
    SCOPED_TRACE(text);
    const auto graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const auto dense = SubpixelConvolutions(*graph);
    ASSERT_TRUE(dense.ok()) << dense.status();
    bool dilated = false;
    for (const NodeId node : Nodes(*dense)) {
      if (dense->op(node) != Op::kConvolution) continue;
      for (const int64_t d :
           dense->attrs<ConvolutionAttrs>(node).lhs_dilation) {
        dilated |= d > 1;
      }
    }
    EXPECT_NE(dilated, c.replaced);
    const std::vector<Literal> arguments = RandomArguments(*graph, 7);
    const auto expected = Evaluate(*graph, arguments);
    const auto got = Evaluate(*dense, arguments);
    ASSERT_TRUE(expected.ok() && got.ok()) << got.status();
    EXPECT_TRUE(std::ranges::equal((*expected)[0].bytes(), (*got)[0].bytes()));
  }
}

}  // namespace
}  // namespace encore::opt
