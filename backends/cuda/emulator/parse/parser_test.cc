#include "encore/backends/cuda/emulator/parse/parser.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/emulator/loaded_module.h"
#include "encore/backends/cuda/emulator/testing/device.h"
#include "encore/ir/support/status.h"

namespace encore::ptx {
namespace {

std::string Refusal(std::string_view text) {
  const auto module = ParseModule(text);
  return module.ok() ? "" : Message(module.status());
}

// A module whose kernel has `body`; the body begins in line 11.
std::string BodyRefusal(std::string_view body) {
  return Refusal(ModuleOf(body));
}

void ExpectPart(const std::string& message, std::string_view part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(ParserTest, ErrorsNameLineTextAndExpectation) {
  EXPECT_EQ(BodyRefusal("frob.u32 %r1, %r2;"),
            "PTX line 11: unknown instruction \"frob\", in "
            "\"frob.u32 %r1, %r2;\"");
  ExpectPart(BodyRefusal("add.u33 %r1, %r2, %r3;"),
             "PTX line 11: unknown type or modifier \"u33\" of add.u33");
  ExpectPart(BodyRefusal("add.trans.u32 %r1, %r2, %r3;"),
             "add takes no modifier \"trans\"");
  ExpectPart(BodyRefusal("add.u32 %r1, %r2;"),
             "expected 3 operands of add, found 2");
  ExpectPart(BodyRefusal("add.u32 %r1, %rd2, %r3;"),
             "register %rd2 is of type .b64, expected 32 bits");
  ExpectPart(BodyRefusal("add.u32 %r1, %r2, %r64;"),
             "nothing is called \"%r64\"");
  ExpectPart(BodyRefusal("add.u32 %r1, %r2, 1.5;"),
             "expected a number of type .u32, found \"1.5\"");
  ExpectPart(BodyRefusal("bra nowhere;"), "label nowhere stands nowhere");
  ExpectPart(BodyRefusal("a: a: ret;"), "label a stands twice");
  ExpectPart(BodyRefusal("ld.u32 %r1, %rd1;"), "expected '[', found \"%rd1\"");
  ExpectPart(BodyRefusal("mov.u32 %r1, %r2"), "expected ';', found \"ret\"");
  ExpectPart(BodyRefusal("@%r1 ret;"), "expected a predicate, found \"%r1\"");
  ExpectPart(BodyRefusal("call.uni other, ();"), "no function is called");
  ExpectPart(BodyRefusal(std::string(1000, '{')), "over 256 nested braces");
  ExpectPart(BodyRefusal("wgmma.fence.sync.aligned;"),
             "unknown instruction \"wgmma\"");
}

TEST(ParserTest, CombinationsThatAreNotExecutedAreErrors) {
  for (const std::string_view body :
       {"fma.f32 %f1, %f2, %f3, %f4;", "add.sat.u32 %r1, %r2, %r3;",
        "div.f32 %f1, %f2, %f3;", "sin.f32 %f1, %f2;", "and.u32 %r1, %r2, %r3;",
        "cvt.f16.f32 %rs1, %f1;", "cvt.s32.f32 %r1, %f1;",
        "shfl.sync.b32 %r1, %r2, 1, 31, -1;", "atom.global.b32 %r1, [%rd1], 1;",
        "atom.global.add.min.u32 %r1, [%rd1], 1;", "mul.s32 %r1, %r2, %r3;",
        "setp.f32 %p1, %f1, %f2;", "redux.sync.add.b32 %r1, %r2, -1;",
        "prmt.u32 %r1, %r2, %r3, %r4;", "rem.f32 %f1, %f2, %f3;"}) {
    ExpectPart(BodyRefusal(body), "are not executed");
  }
}

TEST(ParserTest, Modules) {
  ExpectPart(Refusal(""), "expected .version, found the end of the text");
  ExpectPart(Refusal(".version 9.0\n.target sm_80\n.address_size 32"),
             "addresses have 64 bits only");
  const std::string head =
      ".version 9.0\n.target sm_80, debug\n.address_size 64\n";
  ExpectPart(Refusal(head + ".gobal .u32 x;"), "unknown directive \".gobal\"");
  ExpectPart(Refusal(head + ".global .u32 x; .global .u32 x;"),
             "x is declared twice");
  ExpectPart(Refusal(head + ".global .u8 x[2] = {1, 2, 3};"),
             "more values than x has elements");
  ExpectPart(Refusal(head + ".global .b8 x[268435457];"), "over 256 MiB");
  ExpectPart(Refusal(head + ".shared .u32 x = 1;"),
             "shared memory has no first value");
  ExpectPart(Refusal(head + ".entry k() { .reg .u32 %r<2000000>; }"),
             "more than 1048576 registers");
  EXPECT_EQ(
      Refusal(head +
              ".file 1 \"a.cu\"\n.section .debug { .b8 1 { } }\n"
              ".entry k(.param .align 8 .b8 p[24]) .maxntid 128, 1, 1 "
              ".minnctapersm 2 { .loc 1 2 3\n .pragma \"nounroll\"; ret; }"),
      "");
}

TEST(ParserTest, FunctionsThatCannotBeLinked) {
  const std::string head = ".version 9.0\n.target sm_80\n.address_size 64\n";
  const auto load = [&](std::string_view text) {
    auto module = ParseModule(head + std::string(text));
    EXPECT_TRUE(module.ok()) << module.status();
    return Message(LoadedModule::Load(*std::move(module), 0x10000).status());
  };
  ExpectPart(load(".func f(); .func g() { call f, (); }"
                  ".func f() { call g, (); }"
                  ".entry k() { call f, (); }"),
             "calls itself");
  ExpectPart(load(".extern .func f(); .entry k() { call f, (); }"),
             "function f has no body in this module");
  // What is handed over is as large as what is taken.
  ExpectPart(load(".func f(.param .b8 p[64]) { } .entry k() { "
                  ".param .b32 a; call f, (a); }"),
             "argument 0");
}

TEST(ParserTest, VariablesHaveValues) {
  TestDevice device(
      ".version 9.0\n.target sm_80\n.address_size 64\n"
      ".global .align 4 .u16 a[2][2] = {{1, 2}, {-3, 0x10}};\n"
      ".global .u64 b[2] = {generic(a)+4, 7};\n"
      ".const .f32 c = 0f40490FDB;\n.global .f64 d = 1.5;\n"
      ".entry k() { ret; }");
  ASSERT_TRUE(device.loaded().ok()) << device.loaded();
  const auto bytes = [&](std::string_view name, auto value) {
    const auto found = device.module()->FindVariable(name);
    EXPECT_TRUE(found.has_value());
    std::memcpy(&value, found->bytes.data(), sizeof(value));
    return value;
  };
  EXPECT_EQ(bytes("a", uint64_t{0}), 0x0010'fffd'0002'0001u);
  EXPECT_EQ(bytes("b", uint64_t{0}),
            device.module()->FindVariable("a")->address + 4);
  EXPECT_EQ(bytes("c", 0.0f), 3.14159274f);
  EXPECT_EQ(bytes("d", 0.0), 1.5);
}

// Damaged texts are refused or are modules; what loads is run.
TEST(ParserTest, DamagedTexts) {
  uint32_t state = 1;
  const auto draw = [&](size_t limit) {
    state = state * 1664525u + 1013904223u;
    return static_cast<size_t>(state >> 8) % limit;
  };
  for (const std::string_view name :
       {"softmax.ptx", "scan.ptx", "matmul.sm_100a.ptx", "wrong.ptx"}) {
    const std::string text = ReadTestData(name);
    for (int run = 0; run < 300; ++run) {
      std::string damaged = text;
      for (size_t n = 1 + draw(3); n > 0; --n) {
        const size_t at = draw(damaged.size());
        switch (draw(4)) {
          case 0:
            damaged.erase(at, 1 + draw(20));
            break;
          case 1:
            damaged[at] = static_cast<char>(draw(256));
            break;
          case 2:
            damaged.insert(at, damaged.substr(draw(damaged.size()), draw(40)));
            break;
          default:
            damaged.resize(at + 1);
        }
      }
      TestDevice device(damaged);
      if (!device.loaded().ok()) {
        EXPECT_NE(Message(device.loaded()), "");
        continue;
      }
      device.options().most_steps = 2000;
      const Buffer x = device.Add(std::vector<float>(64));
      (void)device.Run(name.substr(0, name.find('.')), {1, 1, 1}, {32, 1, 1}, x,
                       x, x, x, 64);
    }
  }
}

}  // namespace
}  // namespace encore::ptx
