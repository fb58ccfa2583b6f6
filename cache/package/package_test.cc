#include "encore/cache/package/package.h"

#include <filesystem>

#include "encore/cache/store/container_writer.h"
#include "encore/cache/testing/flip_bits.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/testing/test_device.h"
#include "gtest/gtest.h"

namespace encore::cache {
namespace {

using runtime::SlotRole;

Package Example() {
  runtime::TestGraph test;
  const auto x = test.Tensor(SlotRole::kInput, Shape({2}));
  const auto y = test.Tensor(SlotRole::kOutput, Shape({2}));
  test.Launch("relu", {x}, {y});
  test.graph.run = test.run;
  test.graph.inputs = {x};
  test.graph.outputs = {y};
  Package package;
  package.ingredients = "ingredients";
  package.constants = {Literal(DType::kI64, {100})};
  package.names = {{"x"}, {"y"}, {"w", "v"}, {"", "relu_1"}};
  package.graph =
      std::make_shared<const runtime::CompiledGraph>(std::move(test.graph));
  package.parameters = {Literal::FromValues<float>({2}, {1, 2}),
                        Literal::Strings({2}, {"a", ""})};
  const Literal derived = Literal::FromValues<float>({1}, {5});
  package.derived = {runtime::Blob::Copy(derived.bytes())};
  for (const float value : {1.f, -1.f}) {
    package.calls.push_back(
        {{Literal::FromValues<float>({2}, {value, -2})},
         {Literal::FromValues<float>({2}, {std::max(value, 0.f), 0})}});
  }
  return package;
}

class PackageTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(WritePackage(Example(), path_).ok()); }
  const std::string path_ = testing::TempDir() + "/package.encore";
};

TEST_F(PackageTest, KeepsEverything) {
  const auto package = ReadPackage(path_);
  ASSERT_TRUE(package.ok()) << package.status();
  const Package expected = Example();
  EXPECT_EQ(package->key(), expected.key());
  EXPECT_EQ(package->constants, expected.constants);
  EXPECT_EQ(package->names.inputs, expected.names.inputs);
  EXPECT_EQ(package->names.outputs, expected.names.outputs);
  EXPECT_EQ(package->names.parameters, expected.names.parameters);
  EXPECT_EQ(package->names.origins, expected.names.origins);
  EXPECT_EQ(package->parameters, expected.parameters);
  ASSERT_EQ(package->derived.size(), 1u);
  EXPECT_EQ(package->derived[0].bytes.size(), 4u);
  ASSERT_EQ(package->calls.size(), 2u);
  EXPECT_EQ(package->calls[1].inputs, expected.calls[1].inputs);
  EXPECT_EQ(package->calls[1].outputs, expected.calls[1].outputs);
  EXPECT_EQ(package->graph->kernel_binaries.size(), 1u);
}

TEST_F(PackageTest, EveryFlippedByteIsDetected) {
  const auto container = Container::Open(path_);
  ASSERT_TRUE(container.ok());
  std::string good;
  {
    ContainerWriter copy;
    for (const Section& section : (*container)->sections()) {
      copy.Add(section.type, (*container)->Unverified(section));
    }
    good = *copy.ToBytes();
  }
  ASSERT_TRUE(ReadPackage(*Container::FromBytes(good)).ok());
  for (size_t i = 0; i < good.size(); ++i) {
    const auto damaged =
        Container::FromBytes(WithFlippedBit(good, i * 8 + i % 8));
    EXPECT_FALSE(damaged.ok() && ReadPackage(*damaged).ok()) << i;
  }
}

// Sections whose checksums are right, with other bytes in them.
TEST_F(PackageTest, MalformedSectionsAreRefused) {
  const auto container = *Container::Open(path_);
  for (const Section& changed : container->sections()) {
    // Opaque here, or the runtime's to refuse.
    if (changed.type == SectionType::kHeadline ||
        changed.type == SectionType::kDerived ||
        changed.type == SectionType::kCompiledGraph) {
      continue;
    }
    for (size_t size = 0; size < changed.length; ++size) {
      ContainerWriter copy;
      for (const Section& section : container->sections()) {
        auto bytes = container->Unverified(section);
        if (&section == &changed) bytes = bytes.first(size);
        copy.Add(section.type, bytes);
      }
      EXPECT_FALSE(ReadPackage(*Container::FromBytes(*copy.ToBytes())).ok())
          << Name(changed.type) << " " << size;
    }
  }
  EXPECT_EQ(ReadPackage(path_ + ".none").status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace encore::cache
