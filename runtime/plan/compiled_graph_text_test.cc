#include "encore/runtime/plan/compiled_graph_text.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/plan/compiled_graph_text_parser.h"
#include "encore/runtime/plan/plan_verifier.h"
#include "encore/runtime/testing/plan_file.h"
#include "encore/runtime/testing/sample_plans.h"
#include "encore/runtime/testing/text_law.h"
#include "gtest/gtest.h"

namespace encore::runtime {
namespace {

using Random = std::mt19937;

// Every plan that tests have as a file.
std::vector<std::string> AllFiles() {
  std::vector<std::string> all;
  for (const char* folder :
       {"runtime/plan/testdata/seeds", "runtime/plan/testdata/verifier",
        "runtime/replay/testdata"}) {
    const auto paths = PlanFiles(folder);
    all.insert(all.end(), paths.begin(), paths.end());
  }
  return all;
}

// y = neg(x), printed.
constexpr std::string_view kSmall = R"(compiled_graph 1
device 0 test
pool 0
slot %0 input f32[2] bytes 8
slot %1 output f32[2] bytes 8
kernel_binary 0 test:neg reads 1 writes 1
inputs (%0)
outputs (%1)
parameters ()
prepare none
run 0
plan 0 {  // run
  0 launch 0 on 0 (%0) -> (%1) origins [3]  // test:neg
}
end
)";

TEST(CompiledGraphText, IsReadAsWhatWasPrinted) {
  EXPECT_EQ(BrokenTextLaw(PlanWithEverything()), "");
  EXPECT_EQ(BrokenTextLaw(CompiledGraph()), "");
  for (uint32_t seed = 0; seed < 100; ++seed) {
    ASSERT_EQ(BrokenTextLaw(RandomPlan(seed)), "") << seed;
  }
  for (const std::string& path : AllFiles()) {
    EXPECT_EQ(BrokenTextLaw(ReadPlanFile(path)), "") << path;
  }
}

// Whatever the binary format can hold, sound or not, has a text.
TEST(CompiledGraphText, IsReadAsWhatWasPrintedOfAnyGraph) {
  int read = 0;
  Random random(3);
  for (const CompiledGraph& graph : {PlanWithEverything(), RandomPlan(1)}) {
    const std::vector<std::byte> good = SerializeCompiledGraph(graph);
    for (int round = 0; round < 3000; ++round) {
      std::vector<std::byte> bytes = good;
      for (int change = 0; change <= round % 3; ++change) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      }
      const auto parsed = ParseCompiledGraph(bytes, nullptr);
      if (!parsed.ok()) continue;
      ++read;
      ASSERT_EQ(BrokenTextLaw(*parsed), "") << round;
    }
  }
  EXPECT_GT(read, 1000);
}

TEST(CompiledGraphText, OddFieldsAreKept) {
  CompiledGraph graph;
  graph.pools.clear();
  graph.devices = {{"a b\n\"\\\x01\xff", UINT32_MAX, PoolId()}, {"", 0, {}}};
  graph.symbols = {{.lower = INT64_MIN,
                    .upper = INT64_MAX,
                    .source = SymbolInfo::Source::kSlot,
                    .index = UINT32_MAX,
                    .element = UINT32_MAX,
                    .message = "none"}};
  Slot slot;
  slot.is_arena = true;
  slot.role = SlotRole::kInput;
  slot.type = {DType::kI4, Shape({Dim::OfSymbol(4'000'000'000u), -7}),
               ValueKind::kOptionalSequence};
  slot.bytes = INT64_MIN;
  slot.offset = Max(Dim::OfSymbol(0) * Dim::OfSymbol(1) - Dim(INT64_MAX), 3);
  slot.base = SlotId(UINT32_MAX - 1);
  slot.blob_offset = INT64_MIN;
  graph.slots = {slot, Slot()};
  graph.blobs = {Blob::Copy({}), Blob::Copy(std::vector<std::byte>(64), true),
                 Blob::Copy(std::vector<std::byte>(65), true)};
  graph.kernel_binaries.resize(2);
  graph.kernel_binaries[0].requirements = {"", "avx2", ",]"};
  graph.run = graph.prepare = PlanId(7);
  graph.plans = {
      Plan{{Step{Launch(), {UINT32_MAX}}, Step{Invoke(), {}},
            Step{Allocate(), {}}, Step{Copy(), {}}, Step{Deallocate(), {}}}},
      Plan()};
  EXPECT_EQ(BrokenTextLaw(graph), "");
}

TEST(CompiledGraphText, PrintedTextIsPrintedAgain) {
  const auto graph = ParseCompiledGraphText(kSmall);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_TRUE(VerifyPlan(*graph).ok());
  EXPECT_EQ(CompiledGraphText(*graph), kSmall);
  EXPECT_EQ(StepText(*graph, graph->plans[0].steps[0],
                     [](uint32_t origin) { return StrCat("fc/", origin); }),
            "launch 0 on 0 (%0) -> (%1) origins [3]  // test:neg \"fc/3\"");
}

TEST(CompiledGraphText, NamesStandForNumbers) {
  const std::string text = R"(
    compiled_graph 1  // written by hand
    device host test pool memory
    pool memory
    slot %x input f32[2]
    slot %y output f32[2]
    kernel_binary neg test:neg reads 1 writes 1
    inputs (%x)
    outputs (%y)
    parameters ()
    prepare none
    run main
    plan main {
      launch neg on host (%x) -> (%y) origins [3]
    }
    end)";
  const auto named = ParseCompiledGraphText(text);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(CompiledGraphText(*named), kSmall);
  const std::string_view pool = "    pool memory\n";
  const auto unnamed = ParseCompiledGraphText(
      std::string(text).erase(text.find(pool), pool.size()));
  EXPECT_FALSE(unnamed.ok());
  EXPECT_EQ(Message(unnamed.status()), "3:27: no pool \"memory\"");
}

TEST(CompiledGraphText, EveryCutIsAnError) {
  const std::string everything = CompiledGraphText(PlanWithEverything());
  for (const std::string_view text : {kSmall, std::string_view(everything)}) {
    ASSERT_TRUE(ParseCompiledGraphText(text).ok());
    // The end of line may miss.
    for (size_t size = 0; size + 1 < text.size(); ++size) {
      ASSERT_FALSE(ParseCompiledGraphText(text.substr(0, size)).ok()) << size;
    }
  }
}

TEST(CompiledGraphText, ChangedTextIsSafe) {
  std::vector<std::string> texts = {CompiledGraphText(PlanWithEverything())};
  for (const std::string& path : AllFiles()) {
    texts.push_back(ReadPlanText(path));
  }
  constexpr std::string_view kPieces[] = {
      "-",  "%",    "(",     "[",      "\"", "0",    "9223372036854775808",
      "\n", "none", "plan ", "invoke", "s9", "max(", {"\0", 1},
  };
  Random random(5);
  int read = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string text = texts[random() % texts.size()];
    for (int change = 0; change <= round % 3; ++change) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 9);
          break;
        default:
          text.insert(at, kPieces[random() % std::size(kPieces)]);
      }
    }
    const auto plan = ParsePlanWithoutBlobs(text);
    const auto graph = ParseCompiledGraphText(text);
    if (plan.ok()) (void)VerifyPlan(plan->graph, plan->blob_sizes);
    if (!graph.ok()) continue;
    ++read;
    ASSERT_EQ(BrokenTextLaw(*graph), "") << text;
  }
  EXPECT_GT(read, 300);
}

// kSmall with one thing said otherwise.
std::string ErrorOf(std::string_view from, std::string_view to) {
  std::string text(kSmall);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto graph = ParseCompiledGraphText(text);
  EXPECT_FALSE(graph.ok()) << text;
  return Message(graph.status());
}

TEST(CompiledGraphText, ErrorsNamePlaceAndExpectation) {
  struct Case {
    std::string_view from, to, error;
  };
  const Case kCases[] = {
      {"compiled_graph", "graph",
       "1:1: expected 'compiled_graph', found \"graph\""},
      {"compiled_graph 1", "compiled_graph 2",
       "1:16: text version 2, this program reads version 1"},
      {"pool 0", "poool 0",
       "3:1: expected 'device', a row of a later table or 'inputs', found "
       "\"poool\""},
      {"slot %1", "slot %2", "5:6: expected slot 1 or a name, found \"2\""},
      {"slot %1", "slot none",
       "5:6: expected a slot: %number or %name, found \"none\""},
      {"slot %0", "slot 0",
       "4:6: expected a slot: %number or %name, found \"0\""},
      {"input f32", "entry f32",
       "4:9: expected input or output or parameter or derived or constant or "
       "temporary, found \"entry\""},
      {"f32[2] bytes", "float[2] bytes",
       "4:15: expected a dtype, found \"float\""},
      {"f32[2] bytes", "f32[n] bytes", "4:19: no symbol \"n\""},
      {"f32[2] bytes", "f32[max(1, 2] bytes",
       "4:27: expected ')', found \"]\""},
      {"reads 1", "reads 4294967296",
       "6:32: expected a number from 0 to 4294967295, found \"4294967296\""},
      {"reads 1", "reads -1",
       "6:32: expected a number from 0 to 4294967295, found \"-\""},
      {"origins [3]", "\n  origins [3]",
       "14:3: expected a step (allocate, copy, launch, deallocate, invoke) or "
       "'}', found \"origins\""},
      {"plan 0 {  // run\n", "plan 0 { ",
       "12:12: expected the step on a line of its own, found \"0\""},
      {"(%0) ->", "(%a) ->", "13:20: no slot \"a\""},
      {"(%0) ->", "(%4294967295) ->",
       "13:20: expected a number from 0 to 4294967294, found \"4294967295\""},
      {"(%0) ->", "(%0 %0) ->", "13:23: expected ',' or ')', found \"%0\""},
      {"  0 launch", "  7 launch", "13:3: expected step 0, found \"7\""},
      {"0 launch", "0 lunch",
       "13:5: expected a step (allocate, copy, launch, deallocate, invoke) or "
       "'}', found \"lunch\""},
      {"run 0", "run nowhere", "11:5: no plan \"nowhere\""},
      {"end\n", "",
       "15:1: expected 'plan', a row of a later table or 'end', "
       "found the end of the text"},
      {"end\n", "end end", "15:5: expected nothing after end, found \"end\""},
      {"pool 0", "pool none", "3:6: \"none\" is reserved and cannot be a name"},
      {"inputs (%0)", std::string_view("inputs (\0)", 10),
       "7:9: expected a slot: %number or %name, found \"\\x00\""},
  };
  for (const Case& c : kCases) EXPECT_EQ(ErrorOf(c.from, c.to), c.error);
}

TEST(CompiledGraphText, ErrorsOfNamesAndBytes) {
  struct Case {
    std::string_view row, error;
  };
  const Case kCases[] = {
      {"slot %x input f32[2]\nslot %x input f32[2]",
       "5:6: a second slot \"x\""},
      {"slot %\"x\" input f32[2]",
       "4:6: expected a slot: %number or %name, found \"%\\\"x\\\"\""},
      {"symbol s1 in [0, 1] from dim 0 of input 0",
       "4:8: expected symbol 0 or a name, found \"s1\""},
      {"symbol n in [0, 9223372036854775808] from dim 0 of input 0",
       "4:17: expected an integer that fits 64 bits, found "
       "\"9223372036854775808\""},
      {"blob 0 bytes 3", "4:8: expected 'hex' or 'sha256', found \"bytes\""},
      {"blob 0 hex \"00f\"",
       "4:12: expected bytes in hexadecimal, in quotes, found \"\\\"00f\\\"\""},
      {"blob 0 hex \"00FF\"", "4:15: not a hexadecimal byte"},
      {"blob 0 sha256 \"00\" bytes 70",
       "4:15: expected 64 hexadecimal digits, in quotes, found \"\\\"00\\\"\""},
      {"slot %x input f32[9223372036854775807,3]\n",
       "6:1: expected 'bytes', found \"slot\""},
      {"slot %x temporary arena\n", "6:1: expected 'bytes', found \"slot\""},
      {"slot %x input optional<sequence<f32>",
       "5:1: expected '>', found \"slot\""},
      {"slot %x input f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
       "1,1,1,1,1,1,1]",
       "4:15: a type of more than 32 dims"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(ErrorOf("slot %0", StrCat(c.row, "\nslot %0")), c.error);
  }
}

TEST(CompiledGraphText, LongBlobsComeFromTheSource) {
  CompiledGraph graph;
  std::vector<std::byte> bytes(65, std::byte{7});
  graph.blobs = {Blob::Copy(bytes, true)};
  const std::string text = CompiledGraphText(graph);
  const Digest digest = Sha256Of(bytes);
  EXPECT_NE(text.find(StrCat("blob 0 sha256 \"", digest.ToHex(),
                             "\" bytes 65 executable\n")),
            std::string::npos)
      << text;
  const Status missing = ParseCompiledGraphText(text).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(missing), StrCat("3:15: blob 0 (sha256 ", digest.ToHex(),
                                     ", 65 bytes) is not there"));
  const auto of = [&](size_t size) {
    return [&, size](const Digest& asked) -> std::optional<Blob> {
      if (asked != digest) return std::nullopt;
      return Blob::Copy(std::span(bytes).first(size));
    };
  };
  const auto found = ParseCompiledGraphText(text, of(65));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(SerializeCompiledGraph(*found), SerializeCompiledGraph(graph));
  EXPECT_EQ(Message(ParseCompiledGraphText(text, of(64)).status()),
            StrCat("3:88: blob 0 (sha256 ", digest.ToHex(),
                   ", 65 bytes) has 64 bytes"));
  const auto without = ParsePlanWithoutBlobs(text);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->blob_sizes, std::vector<int64_t>{65});
  EXPECT_TRUE(without->graph.blobs[0].bytes.empty());
}

std::string Repeat(std::string_view piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}

// Each would take hours if time were quadratic, or the stack if it were
// recursive.
TEST(CompiledGraphText, HostileTextsEndSoon) {
  EXPECT_EQ(ErrorOf("f32[2]", StrCat("f32[", Repeat("(", 500'000), "]")),
            "4:52: the operations of a dim nest too deep");
  EXPECT_EQ(ErrorOf("f32[2]", StrCat("f32[2", Repeat("*s0", 500'000), "]")),
            "4:786: a product of more than 256 factors");
  EXPECT_EQ(ErrorOf("f32[2]", StrCat("f32[", Repeat("s0*s1+", 100'000), "]")),
            "4:600019: expected a dim: an integer or a symbol, found \"]\"");
  EXPECT_NE(
      ErrorOf("inputs (%0)", StrCat("inputs (", Repeat("%0,", 1'000'000), ")")),
      "");
  EXPECT_NE(ErrorOf("end", Repeat("\"", 1'000'000)), "");
  EXPECT_NE(ErrorOf("end", Repeat("plan ", 1'000'000)), "");
  std::string rows;
  for (int i = 0; i < 200'000; ++i) {
    StrAppend(&rows, "slot %x", i, " temporary f32[2] base %x", 199'999 - i,
              "\n");
  }
  EXPECT_EQ(ErrorOf("slot %0", StrCat(rows, "slot %x7 input f32[]\nslot %0")),
            "200004:6: a second slot \"x7\"");
  EXPECT_EQ(ErrorOf("slot %0", StrCat(rows, "slot %0")),
            "200004:6: expected slot 200000 or a name, found \"0\"");
}

}  // namespace
}  // namespace encore::runtime
