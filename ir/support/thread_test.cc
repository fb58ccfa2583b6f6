#include "encore/ir/support/thread.h"

#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "gtest/gtest.h"

namespace encore {
namespace {

thread_local int inside = 0;

void Main(void (*body)(void*), void* context) {
  struct Scope {
    Scope() { ++inside; }
    ~Scope() { --inside; }
  } scope;
  body(context);
}

class ThreadTest : public testing::Test {
 protected:
  ThreadTest() { SetThreadMain(Main); }
  ~ThreadTest() override { SetThreadMain(nullptr); }
};

TEST_F(ThreadTest, RunsInTheProgramsMain) {
  int seen = -1;
  std::thread(InThread([&] { seen = inside; })).join();
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(inside, 0);
  SetThreadMain(nullptr);
  std::thread(InThread([&] { seen = inside; })).join();
  EXPECT_EQ(seen, 0);
}

TEST_F(ThreadTest, ReturnsWhatTheFunctionReturnsAndThrows) {
  auto value =
      std::async(std::launch::async,
                 InThread([] { return std::make_unique<int>(inside); }));
  EXPECT_EQ(*value.get(), 1);
  auto thrown = std::async(std::launch::async, InThread([]() -> int {
                             throw std::runtime_error("as it is");
                           }));
  EXPECT_THROW(thrown.get(), std::runtime_error);
}

}  // namespace
}  // namespace encore
