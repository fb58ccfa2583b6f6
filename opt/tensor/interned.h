// Interned<T>: values of T numbered by value, in the order in which they came.
#ifndef ENCORE_OPT_TENSOR_INTERNED_H_
#define ENCORE_OPT_TENSOR_INTERNED_H_

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "absl/hash/hash.h"
#include "encore/ir/ops/attributes.h"

namespace encore::opt {

inline uint64_t HashForInterning(const Attributes& attributes) {
  return Fingerprint(attributes);
}
template <typename T>
uint64_t HashForInterning(const T& value) {
  return absl::HashOf(value);
}

// Values stay where they are. Numbers do not depend on hashes.
template <typename T>
class Interned {
 public:
  uint32_t Number(const T& value) {
    const uint64_t hash = HashForInterning(value);
    const auto [begin, end] = numbers_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (values_[it->second] == value) return it->second;
    }
    const auto number = static_cast<uint32_t>(values_.size());
    values_.push_back(value);
    numbers_.emplace(hash, number);
    return number;
  }
  const T& operator[](uint32_t number) const { return values_[number]; }

 private:
  std::deque<T> values_;
  std::unordered_multimap<uint64_t, uint32_t> numbers_;
};

}  // namespace encore::opt

#endif  // ENCORE_OPT_TENSOR_INTERNED_H_
