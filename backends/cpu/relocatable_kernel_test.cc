#include "encore/backends/cpu/relocatable_kernel.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/backend.h"
#include "encore/backends/cpu/candidates.h"
#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/cpu_features.h"
#include "encore/backends/cpu/elf/image_linker.h"
#include "encore/backends/cpu/kernel_generator.h"
#include "encore/backends/cpu/kernel_spec.h"
#include "encore/backends/region/region.h"
#include "encore/backends/region/whole_region.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/testing/parsed_graph.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

constexpr char kKey[] = "key";
constexpr char kProduct[] = R"(
graph g(%x: f32[24,64], %w: param f32[64,96]) -> f32[24,96] {
  %p = dot_general(%x, %w) {contract = [1]x[0]}
  %y = tanh(%p)
  return %y
})";

// A region with its request.
struct Requested {
  explicit Requested(std::string_view text)
      : region(BuildWhole(ParsedGraph(text)).region) {
    request.region = &region;
    request.weights.assign(region.inputs.size(), false);
  }
  Region region;
  KernelRequest request;
};

// The product, its weight packed.
struct Product : Requested {
  Product() : Requested(kProduct) { request.weights = {false, true}; }
};

RelocatableKernel Generated(const KernelRequest& request) {
  auto kernel = GenerateKernel({request, kTiles, Isa::kAvx2});
  ENCORE_CHECK_OK(kernel.status());
  auto objects = CompileObjects(kernel->functions, Isa::kAvx2, 2);
  ENCORE_CHECK_OK(objects.status());
  kernel->functions = *std::move(objects);
  return *std::move(kernel);
}

StatusOr<RelocatableKernel> Decoded(std::string_view bytes,
                                    const KernelRequest& request) {
  return DecodeRelocatable(std::as_bytes(std::span(bytes)), kKey, request);
}

// As Encode writes it, of any payload.
std::string WithDigest(std::string_view payload) {
  return StrCat(
      Sha256Of(StrCat(Sha256Of(std::string_view(kKey)).view(), payload)).view(),
      payload);
}

TEST(RelocatableKernel, BytesAndBack) {
  const Product product;
  const RelocatableKernel kernel = Generated(product.request);
  ASSERT_EQ(kernel.packed.size(), 1u);
  ASSERT_EQ(kernel.functions.size(), 2u);
  const std::string bytes = Encode(kernel, kKey);
  const auto again = Decoded(bytes, product.request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->functions, kernel.functions);
  EXPECT_EQ(again->packed[0].bytes, kernel.packed[0].bytes);
  EXPECT_EQ(Encode(*again, kKey), bytes);
  EXPECT_FALSE(DecodeRelocatable(std::as_bytes(std::span(bytes)), "other",
                                 product.request)
                   .ok());
}

TEST(RelocatableKernel, EveryFlippedBitIsSeen) {
  const Product product;
  std::string bytes = Encode(Generated(product.request), kKey);
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 5) {
    const auto flip = [&] {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    };
    flip();
    EXPECT_EQ(Decoded(bytes, product.request).status().code(),
              StatusCode::kDataLoss);
    flip();
  }
}

// Digests are right here: what is let through is whole, and can be linked.
TEST(RelocatableKernel, HostilePayloadsAreBounded) {
  const Product product;
  const std::string good =
      Encode(Generated(product.request), kKey).substr(sizeof(Digest::bytes));
  const auto look = [&](std::string_view payload) {
    const auto kernel = Decoded(WithDigest(payload), product.request);
    if (!kernel.ok()) return false;
    EXPECT_LE(kernel->packed.size(), 1u);
    const std::string name = "k";
    for (const std::string& function : kernel->functions) {
      EXPECT_TRUE(LinkImage({&function, 1}, {&name, 1}).ok());
    }
    return true;
  };
  ASSERT_TRUE(look(good));
  for (size_t bit = 0; bit < good.size() * 8; bit += 3) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    look(bad);
  }
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(look(std::string_view(good).substr(0, size))) << size;
  }
  EXPECT_FALSE(look(good + "x"));
}

TEST(RelocatableKernel, WhatIsNoneForTheRequestIsRefused) {
  const Product product;
  const RelocatableKernel good = Generated(product.request);
  const auto refused = [&](const auto& change) {
    RelocatableKernel bad = good;
    change(bad);
    return Decoded(Encode(bad, kKey), product.request).status().code() ==
           StatusCode::kDataLoss;
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& bad) { bad.packed[0].input = 2; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.packed[0].input = 0; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.packed[0].bytes = 0; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.packed.push_back(bad.packed[0]); }));
  EXPECT_TRUE(refused([](auto& bad) { bad.code.function = 2; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.code.function.reset(); }));
  EXPECT_TRUE(refused([](auto& bad) { bad.code = bad.packed[0].code; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.code.params.pop_back(); }));
  EXPECT_TRUE(refused([](auto& bad) { bad.scratch = Dim(-1); }));
  EXPECT_TRUE(refused([](auto& bad) { bad.scratch = Dim::OfSymbol(0); }));
  EXPECT_TRUE(refused([](auto& bad) { bad.in_place = {{0, 1}}; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.in_place = {{2, 0}}; }));
  EXPECT_TRUE(refused([](auto& bad) { bad.functions[0].clear(); }));
  EXPECT_TRUE(refused([](auto& bad) { bad.functions.emplace_back("object"); }));
}

TEST(KernelSpec, EverythingInItMakesAnotherKey) {
  const Product product;
  const Requested other("graph g(%x: f32[8]) { %y = neg(%x) return %y }");
  const KernelSpec spec{product.request, kTiles, Isa::kAvx2};
  std::set<std::string> keys = {Encode(spec)};
  EXPECT_FALSE(keys.insert(Encode(spec)).second);
  const auto another = [&](const auto& change) {
    KernelSpec changed = spec;
    change(changed);
    return keys.insert(Encode(changed)).second;
  };
  const std::vector<Symbol> one = {{"n", 1, 8, false}};
  const std::vector<Symbol> wider = {{"n", 1, 9, false}};
  const std::vector<Symbol> later = {{"n", 1, 8, true}};
  EXPECT_TRUE(another([&](auto& s) { s.kernel = other.request; }));
  EXPECT_TRUE(another([](auto& s) { s.kernel.weights[1] = false; }));
  EXPECT_TRUE(another([](auto& s) { s.candidate = kLoops; }));
  EXPECT_TRUE(another([](auto& s) { s.candidate = kVendor; }));
  EXPECT_TRUE(another([](auto& s) { s.isa = Isa::kAvx512; }));
  EXPECT_TRUE(another([&](auto& s) { s.kernel.symbols = one; }));
  EXPECT_TRUE(another([&](auto& s) { s.kernel.symbols = wider; }));
  EXPECT_TRUE(another([&](auto& s) { s.kernel.symbols = later; }));
}

}  // namespace
}  // namespace encore::backends::cpu
