// TypedId<Tag>: a 32-bit index into a flat store, of a type of its own, so that
// the id of a node is no id of a value. An id is valid only together with the
// store that gave it; a default-constructed id is invalid.
//
//   struct NodeTag {};
//   using NodeId = TypedId<NodeTag>;
#ifndef ENCORE_IR_SUPPORT_TYPED_ID_H_
#define ENCORE_IR_SUPPORT_TYPED_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <utility>

namespace encore {

template <typename Tag>
class TypedId {
 public:
  constexpr TypedId() = default;
  constexpr explicit TypedId(uint32_t value) : value_(value) {}

  constexpr bool valid() const { return value_ != kInvalid; }
  // The index; REQUIRES valid() where it is used to index.
  constexpr uint32_t value() const { return value_; }

  constexpr auto operator<=>(const TypedId&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, TypedId id) {
    return H::combine(std::move(state), id.value_);
  }
  friend std::ostream& operator<<(std::ostream& out, TypedId id) {
    return id.valid() ? out << id.value_ : out << "invalid";
  }

 private:
  static constexpr uint32_t kInvalid = std::numeric_limits<uint32_t>::max();
  uint32_t value_ = kInvalid;
};

}  // namespace encore

template <typename Tag>
struct std::hash<encore::TypedId<Tag>> {
  size_t operator()(encore::TypedId<Tag> id) const noexcept {
    return std::hash<uint32_t>()(id.value());
  }
};

#endif  // ENCORE_IR_SUPPORT_TYPED_ID_H_
