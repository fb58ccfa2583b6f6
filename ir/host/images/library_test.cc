#include "encore/ir/host/images/library.h"

#include <cstddef>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::host {
namespace {

using ::testing::HasSubstr;

struct Functions {
  size_t (*known)(const char*) = nullptr;
  void (*unknown)() = nullptr;
};

TEST(LibraryTest, FunctionsAreFound) {
  Library library("libc.so.6", "libc6");
  Functions functions;
  library.Bind("strlen", &functions.known);
  const auto found = library.Found(functions);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->known("four"), 4u);
}

TEST(LibraryTest, AnOlderLibraryLacksFunctions) {
  Library library("libc.so.6", "libc6");
  Functions functions;
  library.Bind("encore_no_such_function", &functions.unknown);
  library.Bind("strlen", &functions.known);
  const auto found = library.Found(functions);
  EXPECT_EQ(found.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(found.status()),
              HasSubstr("libc.so.6 has no encore_no_such_function: install "
                        "Debian's package libc6"));
}

TEST(LibraryTest, AMissingLibraryHasNoFunctions) {
  Library library("libencore_no_such.so.1", "libencore-no-such1");
  Functions functions;
  library.Bind("strlen", &functions.known);
  EXPECT_EQ(functions.known, nullptr);
  const auto found = library.Found(functions);
  EXPECT_EQ(found.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(found.status()),
              HasSubstr("cannot load libencore_no_such.so.1"));
  EXPECT_THAT(Message(found.status()),
              HasSubstr("install Debian's package libencore-no-such1"));
}

}  // namespace
}  // namespace encore::host
