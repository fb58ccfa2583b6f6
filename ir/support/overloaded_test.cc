#include "encore/ir/support/overloaded.h"

#include <string>
#include <type_traits>
#include <variant>

#include "gtest/gtest.h"

namespace encore {
namespace {

struct A {};
struct B {
  int value = 0;
};
struct C {};

TEST(OverloadedTest, CallsTheFunctionOfTheAlternative) {
  const auto name = Overloaded{
      [](const A&) { return std::string("a"); },
      [](const B& b) { return "b" + std::to_string(b.value); },
  };
  std::variant<A, B> either = A{};
  EXPECT_EQ(std::visit(name, either), "a");
  either = B{7};
  EXPECT_EQ(std::visit(name, either), "b7");
}

TEST(OverloadedTest, IgnoresWhatIsNamed) {
  int sum = 0;
  const auto add =
      Overloaded{[&](const B& b) { sum += b.value; }, Ignore<A, C>()};
  for (const std::variant<A, B, C>& each :
       {std::variant<A, B, C>(A{}), std::variant<A, B, C>(B{3}),
        std::variant<A, B, C>(C{}), std::variant<A, B, C>(B{4})}) {
    std::visit(add, each);
  }
  EXPECT_EQ(sum, 7);
}

TEST(OverloadedTest, TakesNothingThatIsNotNamed) {
  using Visitor = Overloaded<Ignore<A, B>>;
  EXPECT_TRUE((std::is_invocable_v<Visitor, const A&>));
  EXPECT_TRUE((std::is_invocable_v<Visitor, const B&>));
  EXPECT_FALSE((std::is_invocable_v<Visitor, const C&>));
}

}  // namespace
}  // namespace encore
