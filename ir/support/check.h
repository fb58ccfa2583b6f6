// CHECK macros: what must hold unless Encore itself is wrong. A failure prints
// the place, the condition and the streamed message, and aborts. What a caller
// can get wrong is a Status instead (status.h).
//
//   ENCORE_CHECK(id.valid()) << "node of another graph";
//   ENCORE_DCHECK_LT(i, size);     // debug and sanitizer builds only
#ifndef ENCORE_IR_SUPPORT_CHECK_H_
#define ENCORE_IR_SUPPORT_CHECK_H_

#include <sstream>

namespace encore::internal {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Turns the streamed expression into void, so that both arms of ?: agree.
struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace encore::internal

#define ENCORE_CHECK(condition)                                              \
  (__builtin_expect(!!(condition), 1))                                       \
      ? (void)0                                                              \
      : ::encore::internal::Voidify() &                                      \
            ::encore::internal::CheckFailure(__FILE__, __LINE__, #condition) \
                .stream()

#define ENCORE_CHECK_EQ(a, b) ENCORE_CHECK((a) == (b))
#define ENCORE_CHECK_NE(a, b) ENCORE_CHECK((a) != (b))
#define ENCORE_CHECK_LT(a, b) ENCORE_CHECK((a) < (b))
#define ENCORE_CHECK_LE(a, b) ENCORE_CHECK((a) <= (b))
#define ENCORE_CHECK_GT(a, b) ENCORE_CHECK((a) > (b))
#define ENCORE_CHECK_GE(a, b) ENCORE_CHECK((a) >= (b))
#define ENCORE_CHECK_OK(status) ENCORE_CHECK((status).ok()) << (status)

#ifdef NDEBUG
#define ENCORE_DCHECK(condition) \
  while (false) ENCORE_CHECK(condition)
#else
#define ENCORE_DCHECK(condition) ENCORE_CHECK(condition)
#endif
#define ENCORE_DCHECK_EQ(a, b) ENCORE_DCHECK((a) == (b))
#define ENCORE_DCHECK_LT(a, b) ENCORE_DCHECK((a) < (b))
#define ENCORE_DCHECK_LE(a, b) ENCORE_DCHECK((a) <= (b))

#endif  // ENCORE_IR_SUPPORT_CHECK_H_
