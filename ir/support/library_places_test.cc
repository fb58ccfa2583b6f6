#include "encore/ir/support/library_places.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore {
namespace {

constexpr char kVariable[] = "ENCORE_TEST_LIBRARY";

TEST(LibraryPlaces, TheVariableAlone) {
  setenv(kVariable, "/some/where.so", 1);
  EXPECT_THAT(LibraryPlaces(kVariable, "a/b.so"),
              ::testing::ElementsAre("/some/where.so"));
  for (const char* nowhere : {"", "none"}) {
    setenv(kVariable, nowhere, 1);
    EXPECT_TRUE(LibraryPlaces(kVariable, "a/b.so").empty());
  }
}

TEST(LibraryPlaces, RunfilesThenBesideTheProgram) {
  unsetenv(kVariable);
  setenv("RUNFILES_DIR", "/runfiles", 1);
  const auto places = LibraryPlaces(kVariable, "a/b.so");
  ASSERT_GE(places.size(), 3u);
  EXPECT_EQ(places.front(), "/runfiles/a/b.so");
  EXPECT_TRUE(places.back().ends_with("/b.so"));
  EXPECT_EQ(FindLibrary(kVariable, "a/b.so"), "");
  setenv(kVariable, "/proc/self/exe", 1);
  EXPECT_EQ(FindLibrary(kVariable, "a/b.so"), "/proc/self/exe");
}

}  // namespace
}  // namespace encore
