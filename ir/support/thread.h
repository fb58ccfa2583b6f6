// How Encore's libraries start threads: through here, all of them.
//
// The libraries install no signal handlers: those belong to the program. What
// its handlers need of each thread, such as a stack of their own for where the
// thread's has overflowed, the program gives with SetThreadMain.
//
//   std::thread helper(InThread([&] { Work(); }));
//   std::future<int> result = std::async(std::launch::async,
//   InThread(Compute));
#ifndef ENCORE_IR_SUPPORT_THREAD_H_
#define ENCORE_IR_SUPPORT_THREAD_H_

#include <optional>
#include <type_traits>
#include <utility>

namespace encore {

// Calls body(context) once and passes on what it throws.
using ThreadMain = void (*)(void (*body)(void* context), void* context);

// What threads that are started from now on are to run in; null: nothing.
// Thread-safe.
void SetThreadMain(ThreadMain thread_main);

// Calls body(context) as a thread's main function does. Call first in a thread.
void RunThread(void (*body)(void* context), void* context);

// What a new thread is to call for `function` to be run in it. Returns what
// `function` does. Cost: that of the program's ThreadMain.
template <typename Function>
auto InThread(Function function) {
  return [function = std::move(function)]() mutable {
    using Result = std::invoke_result_t<Function&>;
    if constexpr (std::is_void_v<Result>) {
      RunThread([](void* context) { (*static_cast<Function*>(context))(); },
                &function);
    } else {
      struct Call {
        Function& function;
        std::optional<Result> result;
      } call{function, std::nullopt};
      RunThread(
          [](void* context) {
            auto& to_fill = *static_cast<Call*>(context);
            to_fill.result.emplace(to_fill.function());
          },
          &call);
      return *std::move(call.result);
    }
  };
}

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_THREAD_H_
