// Products without tensor cores: few rows and one, either layout of a factor,
// memory that is aligned to groups and not; results within the bounds, and what
// they move, counted by the PTX interpreter.
#include <cstdint>
#include <string>
#include <string_view>

#include "encore/backends/cuda/candidates.h"
#include "encore/backends/cuda/testing/kernel_case.h"
#include "encore/ir/support/strings.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {
namespace {

// x of `rows` rows times y, of which neighbours in n, or in k, lie side by
// side.
std::string ProductOf(int rows, int k, int n, bool along_k,
                      std::string_view dtype = "f32") {
  const std::string y = along_k ? StrCat(n, ",", k) : StrCat(k, ",", n);
  return StrCat("graph g(%x: ", dtype, "[", rows, ",", k, "], %y: ", dtype, "[",
                y, "]) -> ", dtype, "[", rows, ",", n,
                "] {\n  %p = dot_general(%x, %y) {contract = [1]x[",
                along_k ? 1 : 0, "]}\n  return %p\n}");
}

uint64_t Requests(const KernelResult& result) {
  return result.launches[0].global_requests;
}

// What the pieces' sums are written and read for, beside what must move.
double BytesOf(const KernelResult& result) {
  return static_cast<double>(result.launches[0].global_sectors) * 32;
}

TEST(Products, OfFewRows) {
  constexpr int kDepth = 520, kColumns = 388;
  for (const int rows : {1, 3, 8, 16, 21}) {
    for (const bool along_k : {false, true}) {
      const std::string text = ProductOf(rows, kDepth, kColumns, along_k);
      for (const std::string_view kernel : {kTiles, kSplitTiles}) {
        const KernelResult aligned =
            RunAndPrint({.text = text, .kernel = kernel});
        const KernelResult misaligned =
            RunAndPrint({.text = text, .kernel = kernel, .misaligned = true});
        EXPECT_EQ(aligned.bank_conflicts(), 0u) << text;
        EXPECT_EQ(misaligned.bank_conflicts(), 0u) << text;
        // 16 bytes a lane.
        EXPECT_LT(2 * Requests(aligned), Requests(misaligned)) << text;
      }
      // The matrix is read once, in whole sectors; the rows for each tile, and
      // their sums for each piece.
      const KernelResult first =
          RunAndPrint({.text = text, .kernel = kSplitTiles});
      EXPECT_EQ(first.launches.size(), 2u);
      EXPECT_LE(BytesOf(first), (1.15 + 0.06 * rows) * first.least_bytes)
          << text;
    }
  }
}

// Rows that begin anywhere, and columns that fill no group.
TEST(Products, OfRowsThatLieInNoGroups) {
  for (const int rows : {1, 3, 16, 33}) {
    for (const bool along_k : {false, true}) {
      for (const char* dtype : {"f32", "f64", "i32"}) {
        const std::string text = ProductOf(rows, 267, 193, along_k, dtype);
        for (const std::string_view kernel : {kTiles, kSplitTiles}) {
          const KernelResult result =
              RunAndPrint({.text = text, .kernel = kernel});
          if (std::string_view(dtype) == "f32") {
            EXPECT_EQ(result.bank_conflicts(), 0u) << text;
          }
        }
      }
    }
  }
}

// One factor in groups along k, the other in none.
TEST(Products, OfDepthsInGroupsAndColumnsInNone) {
  for (const int columns : {190, 191}) {
    for (const bool along_k : {false, true}) {
      const KernelResult result = RunAndPrint(
          {.text = ProductOf(70, 132, columns, along_k), .kernel = kTiles});
      EXPECT_EQ(result.bank_conflicts(), 0u);
    }
  }
}

// Several tiles along k of the largest size, with edges.
TEST(Products, LargestTilesWithEdges) {
  for (const char* sizes : {"72,24,80", "71,23,79", "76,20,84"}) {
    const std::string all(sizes);
    const size_t first = all.find(','), second = all.rfind(',');
    const std::string m = all.substr(0, first),
                      k = all.substr(first + 1, second - first - 1),
                      n = all.substr(second + 1);
    const std::string text =
        StrCat("graph g(%x: f32[132,", m, ",", k, "], %y: f32[132,", k, ",", n,
               "]) -> f32[132,", m, ",", n,
               "] {\n  %p = dot_general(%x, %y) {contract = [2]x[1], batch = "
               "[0]x[0]}\n  return %p\n}");
    for (const bool misaligned : {false, true}) {
      const KernelResult result = RunAndPrint(
          {.text = text, .kernel = kTiles, .misaligned = misaligned});
      EXPECT_EQ(result.bank_conflicts(), 0u);
    }
  }
}

// What follows the product reads and writes groups as well.
TEST(Products, WhatFollowsInGroups) {
  const auto graph = [](int columns, std::string_view dtype) {
    return StrCat("graph g(%x: f32[40,64], %y: f32[64,", columns, "], %b: f32[",
                  columns, "], %z: ", dtype, "[40,", columns, "]) -> ", dtype,
                  "[40,", columns, R"(] {
  %p = dot_general(%x, %y) {contract = [1]x[0]}
  %c = broadcast(%b) {shape = [40,)",
                  columns, R"(], axes = [1]}
  %s = add(%p, %c)
  %t = tanh(%s)
  %q = cast(%t) {dtype = )",
                  dtype, R"(}
  %r = add(%q, %z)
  return %r
})");
  };
  for (const std::string_view dtype : {"f32", "f16", "f64"}) {
    const KernelResult groups =
        RunAndPrint({.text = graph(96, dtype), .kernel = kTiles});
    const KernelResult misaligned = RunAndPrint(
        {.text = graph(96, dtype), .kernel = kTiles, .misaligned = true});
    const KernelResult none =
        RunAndPrint({.text = graph(95, dtype), .kernel = kTiles});
    // Of f64 four results are more than a thread stores at once.
    if (dtype != "f64") EXPECT_LT(2 * Requests(groups), Requests(none));
    for (const KernelResult* result : {&groups, &misaligned, &none}) {
      EXPECT_EQ(result->bank_conflicts(), 0u);
    }
  }
}

// Vectors times matrices are products of one row, whatever is stored how.
TEST(Products, OfVectors) {
  constexpr char kMatrixByVector[] =
      R"(graph g(%x: f32[260,516], %y: f32[516]) -> f32[260] {
  %p = dot_general(%x, %y) {contract = [1]x[0]}
  return %p
})";
  constexpr char kVectorByMatrix[] =
      R"(graph g(%x: f32[516], %y: f32[516,260], %b: f32[260]) -> f32[260] {
  %p = dot_general(%x, %y) {contract = [0]x[0]}
  %r = add(%p, %b)
  return %r
})";
  for (const char* text : {kMatrixByVector, kVectorByMatrix}) {
    for (const std::string_view kernel : {kTiles, kSplitTiles}) {
      for (const bool misaligned : {false, true}) {
        const KernelResult result = RunAndPrint(
            {.text = text, .kernel = kernel, .misaligned = misaligned});
        EXPECT_EQ(result.bank_conflicts(), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace encore::backends::cuda
