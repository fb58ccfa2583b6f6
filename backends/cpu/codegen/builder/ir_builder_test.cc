#include "encore/backends/cpu/codegen/builder/ir_builder.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "encore/backends/cpu/codegen/compiler.h"
#include "encore/backends/cpu/cpu_features.h"
#include "gtest/gtest.h"

namespace encore::backends::cpu {
namespace {

constexpr IrType kI64{Elem::kI64, 1}, kF32{Elem::kF32, 1};

// How often `what` is in the text of a function, which has to compile.
int Count(IrBuilder& b, std::string_view what) {
  const std::string text =
      b.Finish("kernel", "ptr %p, ptr %q, i64 %n, i64 %m", 256);
  const auto assembly = CompileToAssembly(text, Isa::kAvx2);
  EXPECT_TRUE(assembly.ok()) << assembly.status() << text;
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

Value P() { return IrBuilder::Parameter("p", Elem::kPtr); }
Value Q() { return IrBuilder::Parameter("q", Elem::kPtr); }
Value N() { return IrBuilder::Parameter("n", Elem::kI64); }
Value M() { return IrBuilder::Parameter("m", Elem::kI64); }
Value At(IrBuilder& b, const Value& index) {
  return b.Gep(P(), Elem::kI64, index);
}

TEST(IrBuilderTest, WhatIsKnownIsNotComputedAgain) {
  IrBuilder b;
  const Value product = b.Mul(N(), M());
  EXPECT_EQ(b.Mul(N(), M()).name, product.name);
  b.Loop(IrBuilder::I64(0), N(), 1, [&](const Value& i) {
    EXPECT_EQ(b.Mul(N(), M()).name, product.name);
    b.Store(b.Mul(N(), M()), At(b, i), 8);
  });
  EXPECT_EQ(Count(b, " = mul "), 1);
}

// What a branch or a loop computed may not have been computed behind it.
TEST(IrBuilderTest, WhatMayNotHaveRunIsNotKnown) {
  IrBuilder b;
  const auto store = [&] { b.Store(b.Mul(N(), M()), P(), 8); };
  b.If(b.Compare("slt", N(), M()), store, store);
  b.Loop(IrBuilder::I64(0), N(), 1, [&](const Value&) { store(); });
  const auto more = [&] { return b.Compare("sgt", b.Mul(N(), N()), M()); };
  b.While(more, store);
  store();
  more();  // was asked once at least
  EXPECT_EQ(Count(b, " = mul "), 6);
}

TEST(IrBuilderTest, ConstantsOfSumsAndPointersAreJoined) {
  IrBuilder b;
  const Value sum = b.Add(b.Add(N(), 3), b.Add(M(), 4));
  EXPECT_EQ(b.Add(sum, -7).name, b.Add(N(), M()).name);
  EXPECT_EQ(b.Add(b.Add(N(), 5), -5).name, "%n");
  EXPECT_EQ(At(b, sum).name,
            b.Gep(At(b, b.Add(N(), M())), Elem::kI64, IrBuilder::I64(7)).name);
  // Elements of other sizes are other steps.
  const Value bytes =
      b.Gep(At(b, IrBuilder::I64(1)), Elem::kI8, IrBuilder::I64(1));
  EXPECT_NE(bytes.name, At(b, IrBuilder::I64(2)).name);
  b.Store(sum, bytes, 1);
  EXPECT_EQ(Count(b, "i64 7"), 1);
}

TEST(IrBuilderTest, SumsOfConstantsWrap) {
  IrBuilder b;
  const Value most = b.Add(N(), INT64_MAX);
  EXPECT_EQ(b.Add(b.Add(most, INT64_MAX), 2).name, "%n");
}

TEST(IrBuilderTest, ConditionsThatAreConstantDecide) {
  IrBuilder b;
  const auto compare = [&](std::string_view predicate, int64_t x, int64_t y) {
    return b.Compare(predicate, IrBuilder::I64(x), IrBuilder::I64(y)).name;
  };
  for (const auto& [predicate, expected] :
       {std::pair("slt", "1"), std::pair("sle", "1"), std::pair("sgt", "0"),
        std::pair("sge", "0"), std::pair("ult", "0"), std::pair("ule", "0"),
        std::pair("ugt", "1"), std::pair("uge", "1"), std::pair("eq", "0"),
        std::pair("ne", "1")}) {
    EXPECT_EQ(compare(predicate, -1, 2), expected) << predicate;
  }
  for (const char* const predicate : {"sle", "sge", "ule", "uge", "eq"}) {
    EXPECT_EQ(compare(predicate, 5, 5), "1") << predicate;
  }
  for (const char* const predicate : {"slt", "sgt", "ult", "ugt", "ne"}) {
    EXPECT_EQ(compare(predicate, 5, 5), "0") << predicate;
  }
  const Value yes = IrBuilder::Int({Elem::kI1, 1}, 1);
  const Value no = IrBuilder::Int({Elem::kI1, 1}, 0);
  EXPECT_EQ(b.Select(yes, N(), M()).name, "%n");
  EXPECT_EQ(b.Select(no, N(), M()).name, "%m");
  const auto store = [&](const Value& value) {
    return [&b, value] { b.Store(value, P(), 8); };
  };
  b.If(yes, store(N()), store(M()));
  b.If(no, store(N()), store(M()));
  b.If(no, store(N()));
  EXPECT_EQ(Count(b, "br "), 0);
}

TEST(IrBuilderTest, MasksThatAreConstantDecide) {
  IrBuilder b;
  const IrType vector = kF32.Lanes(8);
  const Value mask =
      b.Compare("ult", b.Splat(N(), 8), IrBuilder::Steps({Elem::kI64, 8}, 1));
  const Value all = IrBuilder::True(8), none = IrBuilder::PrefixMask(8, 0);
  EXPECT_EQ(b.Binary("and", mask, all).name, mask.name);
  EXPECT_EQ(b.Binary("and", all, mask).name, mask.name);
  const Value nothing = IrBuilder::Int({Elem::kI1, 8}, 0);
  EXPECT_EQ(b.Binary("and", mask, nothing).name, nothing.name);
  const Value ones = IrBuilder::Float(vector, 1);
  EXPECT_EQ(b.MaskedLoad(vector, P(), nothing, ones, 4).name, ones.name);
  b.Store(b.MaskedLoad(vector, P(), all, ones, 4), Q(), 4);
  b.Store(b.MaskedLoad(vector, P(), mask, ones, 4), Q(), 4);
  b.Store(b.MaskedLoad(vector, P(), none, ones, 4), Q(), 4);
  EXPECT_EQ(Count(b, " = load "), 1);
}

// Loads are done again behind whatever may have written, on every way there.
TEST(IrBuilderTest, LoadsAreKnownUntilTheNextWrite) {
  IrBuilder b;
  const auto load = [&] { return b.Load(kI64, P(), 8).name; };
  std::string before = load();
  EXPECT_EQ(load(), before);
  const auto reloads = [&] {
    const std::string now = load();
    EXPECT_NE(now, before);
    EXPECT_EQ(load(), now);
    before = now;
  };
  b.Store(N(), Q(), 8);
  reloads();
  b.AtomicUpdate("or", Q(), N());
  reloads();
  b.Call(Q(), {N()});
  reloads();
  b.MaskedStore(IrBuilder::Zero(kF32.Lanes(8)), Q(),
                IrBuilder::PrefixMask(8, 3), 4);
  reloads();
  b.Loop(IrBuilder::I64(0), N(), 1, [&](const Value&) {
    reloads();  // the store below comes first, but for the first time
    b.Store(N(), Q(), 8);
  });
  reloads();
  b.If(b.Compare("slt", N(), M()), [&] { b.Store(N(), Q(), 8); });
  reloads();
  EXPECT_EQ(Count(b, " = load "), 8);
}

// Within a block a variable is what was put there; between blocks it is kept.
TEST(IrBuilderTest, VariablesAreStoredWhereBlocksEnd) {
  IrBuilder b;
  const Value sum = b.NewVariable(kI64);
  b.Set(sum, N());
  EXPECT_EQ(b.Get(sum, kI64).name, "%n");
  b.Set(sum, IrBuilder::I64(0));
  b.Loop(IrBuilder::I64(0), M(), 1, [&](const Value& i) {
    for (int k = 0; k < 5; ++k) b.Set(sum, b.Add(b.Get(sum, kI64), i));
  });
  b.If(b.Compare("slt", N(), M()), [&] { b.Set(sum, N()); });
  b.Store(b.Get(sum, kI64), P(), 8);
  b.Store(b.Get(sum, kI64), Q(), 8);
  // Before the loop, in it, in the branch, and what was stored.
  EXPECT_EQ(Count(b, "  store "), 3 + 2);
}

TEST(IrBuilderTest, SpilledValuesHaveAnAddress) {
  IrBuilder b;
  b.Call(Q(), {b.Spill(IrBuilder::Float(kF32.Lanes(8), 2)), b.Spill(N())});
  EXPECT_EQ(Count(b, "alloca"), 2);
}

}  // namespace
}  // namespace encore::backends::cpu
