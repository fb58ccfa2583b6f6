// Interner: strings as dense 32-bit ids, equal strings as equal ids.
//
// Ids count from 0 in the order of first sight. Views handed out stay valid
// as long as the interner. Not thread-safe.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_INTERNER_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_INTERNER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace encore::opt::program {

class Interner {
 public:
  Interner() = default;
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;

  uint32_t Intern(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const std::string_view stored = texts_.emplace_back(text);
    const auto id = static_cast<uint32_t>(texts_.size() - 1);
    ids_.emplace(stored, id);
    return id;
  }
  // REQUIRES id < size().
  std::string_view Text(uint32_t id) const { return texts_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }

 private:
  std::deque<std::string> texts_;
  absl::flat_hash_map<std::string_view, uint32_t, std::hash<std::string_view>>
      ids_;
};

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_INTERNER_H_
