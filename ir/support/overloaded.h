// Overload sets for std::visit. A visitor that names every alternative does not
// compile any more once another is added, where a chain of get_if would pass it
// by in silence.
#ifndef ENCORE_IR_SUPPORT_OVERLOADED_H_
#define ENCORE_IR_SUPPORT_OVERLOADED_H_

namespace encore {

// One function object with the call operators of all of them:
//
//   std::visit(Overloaded{[&](const Launch& op) { … },
//                         Ignore<Allocate, Copy, Deallocate, Invoke>()},
//              step.op);
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// Does nothing for one of `Types`; takes no other, not by conversion either.
template <typename... Types>
struct Ignore : Ignore<Types>... {
  using Ignore<Types>::operator()...;
};
template <typename Type>
struct Ignore<Type> {
  void operator()(const Type&) const {}
};

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_OVERLOADED_H_
