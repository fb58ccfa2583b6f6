// OriginScope: the origin of what is added to a graph, while the scope lives.
#ifndef ENCORE_IR_BUILD_ORIGIN_SCOPE_H_
#define ENCORE_IR_BUILD_ORIGIN_SCOPE_H_

#include <string>
#include <string_view>
#include <utility>

namespace encore {

// Scopes end in the opposite order in which they began.
class OriginScope {
 public:
  // `current`, which outlives the scope, becomes `origin` until the scope ends.
  OriginScope(std::string* current, std::string_view origin)
      : current_(current),
        outer_(std::exchange(*current, std::string(origin))) {}
  ~OriginScope() { *current_ = std::move(outer_); }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  std::string* current_;
  std::string outer_;
};

}  // namespace encore

#endif  // ENCORE_IR_BUILD_ORIGIN_SCOPE_H_
