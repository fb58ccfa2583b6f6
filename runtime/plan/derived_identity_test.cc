#include "encore/runtime/plan/derived_identity.h"

#include <string_view>
#include <variant>
#include <vector>

#include "encore/ir/support/sha256.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

std::vector<std::byte> Bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The identity of each binary is its entry's name.
void Identify(CompiledGraph* graph) {
  for (KernelBinary& binary : graph->kernel_binaries) {
    binary.identity = Bytes(binary.entry);
  }
}

const std::vector<Digest> kValues = {Sha256Of("v"), Sha256Of("w")};

// Parameters v and w, of so many elements; d = -v, e = t * t with t = d + w; a
// constant c, and f = c + w. `extra`: slots that come first.
struct Model {
  explicit Model(int64_t size = 4, int extra = 0, float constant = 3) {
    for (int i = 0; i < extra; ++i) test.Tensor(SlotRole::kInput, {1});
    v = test.Tensor(SlotRole::kParameter, {size});
    w = test.Tensor(SlotRole::kParameter, {size});
    d = test.Tensor(SlotRole::kDerived, {size});
    e = test.Tensor(SlotRole::kDerived, {size});
    f = test.Tensor(SlotRole::kDerived, {size});
    c = test.Tensor(SlotRole::kConstant, {size});
    const std::vector<float> values(size, constant);
    test.graph.slots[c.value()].blob =
        AddBlob(&test.graph, Blob::Copy(std::as_bytes(std::span(values))));
    t = test.Tensor(SlotRole::kTemporary, {size});
    test.graph.prepare = AddPlan(&test.graph, {});
    test.Launch("neg", {v}, {d}, {}, test.graph.prepare);
    test.Launch("add", {d, w}, {t}, {}, test.graph.prepare);
    test.Launch("mul", {t, t}, {e}, {}, test.graph.prepare);
    test.Launch("add", {c, w}, {f}, {}, test.graph.prepare);
    test.graph.parameters = {v, w};
    Identify(&test.graph);
  }
  std::vector<std::optional<Digest>> Identities() const {
    return DerivedIdentities(test.graph, kValues);
  }
  std::vector<Step>& steps() {
    return test.graph.plans[test.graph.prepare.value()].steps;
  }
  Launch& launch(size_t i) { return std::get<Launch>(steps()[i].op); }

  TestGraph test;
  SlotId v, w, d, e, f, c, t;
};

TEST(DerivedIdentity, IsTheSameInAnyGraph) {
  const auto identities = Model().Identities();
  ASSERT_EQ(identities.size(), 3u);
  for (const auto& identity : identities) EXPECT_TRUE(identity.has_value());
  EXPECT_NE(identities[0], identities[1]);
  EXPECT_NE(identities[1], identities[2]);
  EXPECT_NE(identities[0], identities[2]);
  EXPECT_EQ(Model(4, 5).Identities(), identities);
  // Another order, with the same values.
  Model swapped;
  std::swap(swapped.test.graph.parameters[0], swapped.test.graph.parameters[1]);
  const std::vector<Digest> values = {kValues[1], kValues[0]};
  EXPECT_EQ(DerivedIdentities(swapped.test.graph, values), identities);
}

TEST(DerivedIdentity, ChangesWithAllThatMakesIt) {
  const auto plain = Model().Identities();
  const auto changed = [&](const auto& change) {
    Model model;
    change(model);
    const auto other = model.Identities();
    std::string which;
    for (size_t i = 0; i < other.size(); ++i) {
      if (other[i] != plain[i]) which += "def"[i];
      if (!other[i]) which += '?';
    }
    return which;
  };
  EXPECT_EQ(changed([](Model&) {}), "");
  EXPECT_EQ(changed([](Model& m) { m.launch(2).reads[1] = m.d; }), "e");
  EXPECT_EQ(changed([](Model& m) { m.launch(0).reads[0] = m.w; }), "de");
  EXPECT_EQ(changed([](Model& m) { m.launch(3).reads = {m.w, m.c}; }), "f");
  EXPECT_EQ(changed([](Model& m) { m.launch(1).args = {Dim(3)}; }), "e");
  EXPECT_EQ(changed([](Model& m) {
              m.test.graph.kernel_binaries[0].identity = Bytes("abs");
            }),
            "de");
  // Nobody knows what they are then.
  EXPECT_EQ(changed([](Model& m) {
              m.test.graph.kernel_binaries[0].identity.clear();
            }),
            "d?e?");
  EXPECT_EQ(changed([](Model& m) { m.launch(1).args = {Dim::OfSymbol(0)}; }),
            "e?");
  // Over what is read after that.
  EXPECT_EQ(changed([](Model& m) { m.launch(1).in_place = {{0, 0}}; }), "d?");
  EXPECT_NE(Model(4, 0, 5).Identities()[2], plain[2]);
  EXPECT_EQ(Model(4, 0, 5).Identities()[1], plain[1]);
  EXPECT_NE(Model(8).Identities()[0], plain[0]);
}

TEST(DerivedIdentity, ParametersCountByTheirValues) {
  const Model model;
  const auto plain = model.Identities();
  std::vector<Digest> values = kValues;
  values[1] = Sha256Of("another w");
  const auto other = DerivedIdentities(model.test.graph, values);
  EXPECT_EQ(other[0], plain[0]);
  EXPECT_NE(other[1], plain[1]);
  EXPECT_NE(other[2], plain[2]);
}

// Parts of one slot, one after the other.
TEST(DerivedIdentity, PartsOfASlotAddUp) {
  const auto identity = [](int64_t second) {
    TestGraph test;
    const SlotId v = test.Tensor(SlotRole::kParameter, {4});
    const SlotId d = test.Tensor(SlotRole::kDerived, {8});
    const auto part = [&](int64_t at) {
      const SlotId view = test.Tensor(SlotRole::kTemporary, {4});
      test.graph.slots[view.value()].base = d;
      test.graph.slots[view.value()].offset = Dim(at);
      return view;
    };
    test.graph.prepare = AddPlan(&test.graph, {});
    test.Launch("neg", {v}, {part(0)}, {}, test.graph.prepare);
    test.Launch("neg", {v}, {part(second)}, {}, test.graph.prepare);
    test.graph.parameters = {v};
    Identify(&test.graph);
    return DerivedIdentities(test.graph, {kValues.data(), 1})[0];
  };
  EXPECT_TRUE(identity(16).has_value());
  EXPECT_EQ(identity(16), identity(16));
  EXPECT_NE(identity(16), identity(0));
}

// The steps that are left, as the names of their kernels.
std::string Left(const CompiledGraph& graph) {
  std::string names;
  for (const Step& step : graph.plan(graph.prepare).steps) {
    const auto* launch = std::get_if<Launch>(&step.op);
    StrAppend(&names, names.empty() ? "" : " ",
              launch == nullptr ? "other"
                                : graph.kernel_binary(launch->binary).entry);
  }
  return names;
}

TEST(PartOfPrepare, HasWhatIsWantedAndWhatThatReads) {
  const auto left = [](std::vector<bool> wanted) {
    const Model model;
    const auto before = wanted;
    const std::string names =
        Left(WithPartOfPrepare(model.test.graph, &wanted));
    EXPECT_EQ(wanted, before);
    return names;
  };
  EXPECT_EQ(left({true, true, true}), "neg add mul add");
  EXPECT_EQ(left({false, false, true}), "add");
  EXPECT_EQ(left({true, false, false}), "neg");
  EXPECT_EQ(left({false, false, false}), "");
}

// What is there already may be read, and no step that writes it is run.
TEST(PartOfPrepare, WhatTheSameStepsMakeIsWantedToo) {
  Model model;
  model.launch(3).writes.push_back(model.d);
  std::vector<bool> wanted = {false, false, true};
  EXPECT_EQ(Left(WithPartOfPrepare(model.test.graph, &wanted)), "neg add");
  EXPECT_EQ(wanted, std::vector<bool>({true, false, true}));
}

}  // namespace
}  // namespace encore::runtime
