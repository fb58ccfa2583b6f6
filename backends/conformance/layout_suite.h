// The part of the conformance suite that draws layouts (region/layout.h).
//
// LayoutTest computes regions of 3, 17 and 24 channels with every operand and
// result in a layout of its own, in blocks of 8 and 16 of one dim or two, so
// that most tensors have padding. Inputs come packed, memory to be written full
// of garbage. Results are right where they are within the bounds (bounds.h) of
// the plain ones, and the padding of each holds zeros; on memory of their own
// and, where the kernel allows it, over its inputs. A backend instantiates it:
//
//   INSTANTIATE_TEST_SUITE_P(Ref, LayoutTest, LayoutsOf("ref"), LayoutName);
#ifndef ENCORE_BACKENDS_CONFORMANCE_LAYOUT_SUITE_H_
#define ENCORE_BACKENDS_CONFORMANCE_LAYOUT_SUITE_H_

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace encore::backends {

struct LayoutCase {
  std::string_view backend;
  std::string_view name;
  std::string_view text;  // of the graph; C stands for the channels
  int channels = 0;
};

class LayoutTest : public ::testing::TestWithParam<LayoutCase> {};

std::string LayoutName(const ::testing::TestParamInfo<LayoutCase>& info);
::testing::internal::ParamGenerator<LayoutCase> LayoutsOf(
    std::string_view backend);

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_CONFORMANCE_LAYOUT_SUITE_H_
