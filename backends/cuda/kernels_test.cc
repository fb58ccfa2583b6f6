// Generated kernels on sizes that their schedules are for: results within the
// bounds, and what they move and execute, counted by the PTX interpreter.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/testing/kernel_case.h"
#include "encore/ir/support/status.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

constexpr char kProduct[] =
    R"(graph g(%x: T[150,70], %y: T[70,90], %b: T[90]) -> T[150,90] {
  %p = dot_general(%x, %y) {contract = [1]x[0]}
  %c = broadcast(%b) {shape = [150,90], axes = [1]}
  %r = add(%p, %c)
  return %r
})";
// Both factors the other way round in memory, with batches.
constexpr char kTransposed[] =
    R"(graph g(%x: T[2,72,96], %y: T[2,88,72]) -> T[2,96,88] {
  %p = dot_general(%x, %y) {contract = [1]x[2], batch = [0]x[0]}
  return %p
})";
constexpr char kPlain[] =
    R"(graph g(%x: T[136,96], %y: T[96,200]) -> T[136,200] {
  %p = dot_general(%x, %y) {contract = [1]x[0]}
  return %p
})";
// A factor that is computed.
constexpr char kComputed[] =
    R"(graph g(%x: T[70,64], %s: T[64], %y: T[40,64]) -> T[70,40] {
  %b = broadcast(%s) {shape = [70,64], axes = [1]}
  %m = mul(%x, %b)
  %p = dot_general(%m, %y) {contract = [1]x[1]}
  %r = max(%p, %p)
  return %r
})";
constexpr char kConvolution[] =
    R"(graph g(%x: T[2,12,9,11], %w: T[20,6,3,3]) -> T[2,20,5,6] {
  %y = convolution(%x, %w) {strides = [2,2], padding_low = [1,1], padding_high = [1,1], lhs_dilation = [1,1], rhs_dilation = [1,1], feature_groups = 2}
  return %y
})";

constexpr const char* kProducts[] = {kProduct, kTransposed, kPlain, kComputed,
                                     kConvolution};

TEST(Products, Tiles) {
  for (const char* text : kProducts) {
    for (const char* dtype : {"f32", "f64", "i32"}) {
      for (const bool misaligned : {false, true}) {
        const std::string graph = Of(text, dtype);
        const KernelResult tiles = RunAndPrint(
            {.text = graph, .kernel = kTiles, .misaligned = misaligned});
        EXPECT_EQ(tiles.kernel, kTiles);
        EXPECT_GT(tiles.instructions(ptx::InstructionClass::kBarrier), 0u);
        if (std::string_view(dtype) == "f32") {
          EXPECT_EQ(tiles.bank_conflicts(), 0u);
        }
      }
    }
    RunAndPrint({Of(text, "f32"), kLoops});
  }
}

TEST(Products, TensorTiles) {
  for (const char* text : kProducts) {
    for (const char* dtype : {"f16", "bf16"}) {
      for (const bool misaligned : {false, true}) {
        const std::string graph = Of(text, dtype);
        const KernelResult result = RunAndPrint(
            {.text = graph, .kernel = kTensorTiles, .misaligned = misaligned});
        EXPECT_GT(result.instructions(ptx::InstructionClass::kMatrix), 0u);
        // Where the window leaves the image, warps fall apart.
        if (text != kConvolution) EXPECT_EQ(result.bank_conflicts(), 0u);
        if (text == kPlain && !misaligned) {
          EXPECT_GT(result.instructions(ptx::InstructionClass::kAsync), 0u);
        }
      }
    }
  }
}

// f32 as TF32: groups of four, as they lie in memory and rounded when they are
// used; along k, and along rows, which no instruction transposes.
TEST(Products, TensorTilesOfTf32) {
  for (const char* text : kProducts) {
    for (const bool misaligned : {false, true}) {
      const std::string graph = Of(text, "f32");
      const KernelResult result = RunAndPrint({.text = graph,
                                               .kernel = kTensorTiles,
                                               .precision = Precision::kTF32,
                                               .misaligned = misaligned,
                                               .slack = 0x1p-11});
      EXPECT_GT(result.instructions(ptx::InstructionClass::kMatrix), 0u);
      if (text != kConvolution) EXPECT_EQ(result.bank_conflicts(), 0u);
      if (text == kPlain && !misaligned) {
        EXPECT_GT(result.instructions(ptx::InstructionClass::kAsync), 0u);
      }
    }
  }
}

// Enough tiles of the largest size.
constexpr char kManyTiles[] =
    R"(graph g(%x: T[130,72,24], %y: T[130,24,80]) -> T[130,72,80] {
  %p = dot_general(%x, %y) {contract = [2]x[1], batch = [0]x[0]}
  return %p
})";

TEST(Products, LargestTiles) {
  const KernelResult tiles = RunAndPrint({Of(kManyTiles, "f32"), kTiles});
  const KernelResult tensor =
      RunAndPrint({Of(kManyTiles, "f16"), kTensorTiles});
  // A warp has 64 x 32 elements: 16 products of 16 x 8 x 16 for each 16 of k,
  // of which there are 32 in a tile.
  EXPECT_EQ(tensor.launches[0].warp_instructions[static_cast<size_t>(
                ptx::InstructionClass::kMatrix)] %
                130,
            0u);
  EXPECT_EQ(tiles.bank_conflicts(), 0u);
  EXPECT_EQ(tensor.bank_conflicts(), 0u);
}

// A factor that does not change along what is summed is no row of groups.
TEST(Products, OfWhatIsTheSameAlongTheSum) {
  constexpr char kText[] =
      R"(graph g(%x: f16[64,8], %y: f16[64,72]) -> f16[64,64] {
  %s = slice(%x) {starts = [0,0], limits = [64,1], strides = [1,1]}
  %f = reshape(%s) {shape = [64]}
  %b = broadcast(%f) {shape = [64,72], axes = [0]}
  %p = dot_general(%b, %y) {contract = [1]x[1]}
  return %p
})";
  RunAndPrint({kText, kTensorTiles});
}

// Products of floats that were cast to what tensor cores do not sum in.
TEST(Products, OfFloatsAsIntegersAndInF64) {
  for (const char* dtype : {"i32", "f64"}) {
    const std::string text =
        Of(R"(graph g(%x: f16[70,64], %y: f16[64,40]) -> T[70,40] {
  %a = cast(%x) {dtype = T}
  %b = cast(%y) {dtype = T}
  %p = dot_general(%a, %b) {contract = [1]x[0]}
  return %p
})",
           dtype);
    for (const std::string_view kernel : {kTensorTiles, kSplitTensorTiles}) {
      const Status status = RunCase({.text = text, .kernel = kernel}).status();
      EXPECT_EQ(Message(status), StrCat("no kernel ", kernel)) << text;
    }
    RunAndPrint({.text = text, .kernel = kTiles});
  }
}

// f32 products that may be rounded to fewer bits: exact where these suffice.
TEST(Products, Precision) {
  constexpr char kText[] =
      R"(graph g(%x: i8[90,70], %y: i8[70,50]) -> f32[90,50] {
  %a = cast(%x) {dtype = f32}
  %b = cast(%y) {dtype = f32}
  %p = dot_general(%a, %b) {contract = [1]x[0]}
  return %p
})";
  for (const Precision precision :
       {Precision::kBF16, Precision::kF16, Precision::kTF32}) {
    const KernelResult result = RunAndPrint(
        {.text = kText, .kernel = kTensorTiles, .precision = precision});
    EXPECT_GT(result.instructions(ptx::InstructionClass::kMatrix), 0u);
  }
  EXPECT_FALSE(RunCase({.text = kText, .kernel = kTensorTiles}).ok());
}

// Few tiles and much to sum: several blocks share it, and the sums of pieces
// are added in one order.
TEST(Products, SeveralBlocksOfATile) {
  constexpr char kLong[] =
      R"(graph g(%x: T[40,1030], %y: T[1030,36], %b: T[36]) -> T[40,36] {
  %p = dot_general(%x, %y) {contract = [1]x[0]}
  %c = broadcast(%b) {shape = [40,36], axes = [1]}
  %r = add(%p, %c)
  return %r
})";
  constexpr char kBatches[] =
      R"(graph g(%x: T[3,20,520], %y: T[3,520,24]) -> T[3,20,24] {
  %p = dot_general(%x, %y) {contract = [2]x[1], batch = [0]x[0]}
  return %p
})";
  constexpr char kDeep[] =
      R"(graph g(%x: T[1,130,6,6], %w: T[40,130,3,3]) -> T[1,40,4,4] {
  %y = convolution(%x, %w) {strides = [1,1], padding_low = [0,0], padding_high = [0,0], lhs_dilation = [1,1], rhs_dilation = [1,1]}
  return %y
})";
  for (const char* text : {kLong, kBatches, kDeep}) {
    for (const char* dtype : {"f32", "f64", "i32", "f16", "bf16"}) {
      const std::string graph = Of(text, dtype);
      const KernelResult tiles = RunAndPrint({graph, kSplitTiles});
      EXPECT_EQ(tiles.launches.size(), 2u);
    }
    for (const char* dtype : {"f16", "bf16"}) {
      const std::string graph = Of(text, dtype);
      const KernelResult tiles = RunAndPrint({graph, kSplitTensorTiles});
      EXPECT_EQ(tiles.launches.size(), 2u);
      EXPECT_GT(tiles.instructions(ptx::InstructionClass::kMatrix), 0u);
    }
  }
}

struct Graphs {
  const char* name;
  std::string text;
  // Of the bytes that must move; scale and bias are read for each row, from the
  // cache.
  double most_bytes = 1.05;
  double most_sectors = 1.05;
};

// What has rows: the whole row of a warp, of a block, and one that does not
// fill them.
std::vector<Graphs> Rows() {
  std::vector<Graphs> all;
  for (const char* size : {"[40,256]", "[6,4096]", "[3,5003]"}) {
    for (const char* dtype : {"f32", "f16"}) {
      const auto with = [&](std::string text) {
        for (size_t at; (at = text.find('$')) != std::string::npos;) {
          text.replace(at, 1, size);
        }
        return Of(text, dtype);
      };
      const std::string last =
          std::string(size).substr(std::string(size).find(',') + 1);
      const std::string vector = "T[" + last;
      // Rows of an odd size begin within sectors.
      const double most_sectors = last == "5003]" ? 1.5 : 1.05;
      all.push_back({"softmax",
                     with("graph g(%x: T$) -> T$ {\n"
                          "  %y = softmax(%x) {axis = 1}\n"
                          "  return %y\n}"),
                     1.05, most_sectors});
      all.push_back({"layer_norm",
                     with("graph g(%x: T$, %s: " + vector + ", %b: " + vector +
                          ") -> T$ {\n"
                          "  %y = layer_norm(%x, %s, %b) {axis = 1}\n"
                          "  return %y\n}"),
                     2.05, most_sectors});
    }
  }
  return all;
}

TEST(Rows, MoveEachElementOnce) {
  for (const Graphs& one : Rows()) {
    SCOPED_TRACE(one.text);
    const KernelResult result = RunAndPrint({one.text, kLoops});
    EXPECT_LE(result.moved_bytes(), one.most_bytes * result.least_bytes);
    EXPECT_LE(result.sector_waste(), one.most_sectors);
    EXPECT_EQ(result.bank_conflicts(), 0u);
  }
}

// Teams of several rows read a norm's scale and bias once: of a warp and of a
// block, with rows of a team that the last team lacks.
TEST(Rows, ReadWhatTheyShareOnce) {
  struct {
    const char* size;
    const char* last;
  } const kSizes[] = {
      {"[203,256]", "[256]"}, {"[33,4096]", "[4096]"}, {"[35,5003]", "[5003]"}};
  PlanLimits limits;
  limits.teams = 0;
  for (const auto& [size, last] : kSizes) {
    for (const char* dtype : {"f32", "f16"}) {
      const std::string text =
          Of(StrCat("graph g(%x: T", size, ", %s: T", last, ", %b: T", last,
                    ") -> T", size,
                    " {\n  %y = layer_norm(%x, %s, %b) {axis = 1}\n  return "
                    "%y\n}"),
             dtype);
      const KernelResult result =
          RunAndPrint({.text = text, .kernel = kLoops, .limits = limits});
      EXPECT_LE(result.moved_bytes(), 1.05 * result.least_bytes);
      EXPECT_EQ(result.bank_conflicts(), 0u);
    }
  }
}

// What is read along another dim than it is written.
TEST(Transposes, ByWayOfSharedMemory) {
  for (const char* dtype : {"f32", "f16", "f64", "i8"}) {
    for (const char* sizes : {"96,64", "70,45"}) {
      const std::string first(sizes), a = first.substr(0, first.find(',')),
                                      b = first.substr(first.find(',') + 1);
      const std::string text =
          Of(StrCat("graph g(%x: T[2,", a, ",", b, "], %y: T[2,", b, ",", a,
                    "]) -> T[2,", b, ",", a,
                    "] {\n  %t = transpose(%x) {permutation = [0,2,1]}\n"
                    "  %r = add(%t, %y)\n  return %r\n}"),
             dtype);
      const KernelResult result = RunAndPrint({.text = text, .kernel = ""});
      EXPECT_EQ(result.kernel, kTranspose);
      EXPECT_EQ(result.moved_bytes(), result.least_bytes);
      EXPECT_EQ(result.bank_conflicts(), 0u) << dtype;
      if (first == "96,64") EXPECT_LE(result.sector_waste(), 1.01) << dtype;
    }
  }
}

// Few points, each of many elements: all of a device takes part.
TEST(Reductions, SeveralTeamsOfAPoint) {
  for (const char* combiner : {"sum", "max", "product"}) {
    const std::string text = StrCat(
        "graph g(%x: f32[2,100000]) -> f32[2] {\n  %y = reduce(%x) "
        "{axes = [1], combiner = ",
        combiner, "}\n  return %y\n}");
    const KernelResult result = RunAndPrint({text, kLoops});
    EXPECT_EQ(result.launches.size(), 2u);
    EXPECT_LE(result.moved_bytes(), 1.05 * result.least_bytes);
    EXPECT_LE(result.sector_waste(), 1.05);
  }
  const KernelResult arg = RunAndPrint(
      {"graph g(%x: f32[1,90001]) -> i64[1] {\n  %y = arg_reduce(%x) {axis = "
       "1, dtype = i64}\n  return %y\n}",
       kLoops});
  EXPECT_EQ(arg.launches.size(), 2u);
  const KernelResult softmax =
      RunAndPrint({"graph g(%x: f32[1,80000]) -> f32[1,80000] {\n  %y = "
                   "softmax(%x) {axis = 1}\n  return %y\n}",
                   kLoops});
  EXPECT_GT(softmax.launches.size(), 3u);
}

// Rows that are too long to keep: one pass for all that is reduced, one for the
// results.
TEST(Rows, LongOnesAreReadTwice) {
  for (const char* graph :
       {"graph g(%x: T[1,80000]) -> T[1,80000] {\n  %y = softmax(%x) {axis = "
        "1}\n  return %y\n}",
        "graph g(%x: T[3,20000], %s: T[20000], %b: T[20000]) -> T[3,20000] {\n "
        " %y = layer_norm(%x, %s, %b) {axis = 1}\n  return %y\n}"}) {
    for (const char* dtype : {"f32", "f16"}) {
      const std::string text = Of(graph, dtype);
      const KernelResult result = RunAndPrint({text, ""});
      EXPECT_EQ(result.kernel, kOnlineLoops);
      // Three accesses where two must be, and what a warp reads as one: the
      // row's own sums.
      EXPECT_LE(result.moved_bytes() * result.sector_waste(),
                2.05 * result.least_bytes);
      EXPECT_EQ(result.bank_conflicts(), 0u);
    }
  }
}

// Long scans of few rows: pieces that begin with what is before them.
TEST(Scans, SeveralBlocksOfARow) {
  for (const char* attributes :
       {"", ", exclusive = true", ", reverse = true", ", combiner = max",
        ", combiner = product, exclusive = true"}) {
    for (const char* dtype : {"f32", "i32"}) {
      const std::string text =
          Of(StrCat("graph g(%x: T[2,50021]) -> T[2,50021] {\n  %y = "
                    "cumulative(%x) {axis = 1",
                    attributes, "}\n  return %y\n}"),
             dtype);
      const KernelResult result = RunAndPrint({text, kLoops});
      EXPECT_EQ(result.launches.size(), 3u);
    }
  }
}

// Elementwise graphs: what each thread reads and writes at once.
TEST(Elementwise, Vectors) {
  const struct {
    const char* dtype;
    uint64_t accesses;  // loads and stores of a warp, for 32 * 100 elements
  } kCases[] = {
      {"f32", 3 * 25}, {"f16", 3 * 13}, {"i8", 3 * 13}, {"f64", 3 * 50}};
  for (const auto& [dtype, accesses] : kCases) {
    for (const bool misaligned : {false, true}) {
      const std::string text = Of(
          "graph g(%x: T[200,32], %y: T[200,32], %b: T[200]) -> T[200,32] {\n"
          "  %c = broadcast(%b) {shape = [200,32], axes = [0]}\n"
          "  %s = add(%x, %y)\n  %r = mul(%s, %c)\n  return %r\n}",
          dtype);
      const KernelResult result = RunAndPrint(
          {.text = text,
           .kernel = kLoops,
           .misaligned = misaligned,
           .misalignment = std::string_view(dtype) == "i8" ? 1u : 8u});
      // The scale is read once for each vector.
      EXPECT_LE(result.moved_bytes(), 1.2 * result.least_bytes);
      const uint64_t requests = result.launches[0].global_requests;
      if (misaligned) {
        EXPECT_GT(requests, 3 * accesses) << dtype;
      } else {
        EXPECT_LE(requests, 2 * accesses * 4 / 3 + 4) << dtype;
      }
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
