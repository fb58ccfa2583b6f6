// OwnerMap: which tensor's value each byte of a storage holds. For the plan
// verifier.
#ifndef ENCORE_RUNTIME_PLAN_OWNER_MAP_H_
#define ENCORE_RUNTIME_PLAN_OWNER_MAP_H_

#include <cstdint>
#include <map>
#include <optional>

namespace encore::runtime {

class OwnerMap {
 public:
  static constexpr uint32_t kNobody = UINT32_MAX;

  void Clear() { ranges_.clear(); }

  // Makes `owner` (or nobody) the owner of [begin, end).
  void Set(int64_t begin, int64_t end, uint32_t owner);
  // Takes [begin, end) from everybody but `owner`; whether there was something
  // to take.
  bool TakeFromOthers(int64_t begin, int64_t end, uint32_t owner);
  // A byte of [begin, end) that `owner` does not own, with who does.
  struct Gap {
    int64_t at = 0;
    uint32_t owner = kNobody;
  };
  std::optional<Gap> FindGap(int64_t begin, int64_t end, uint32_t owner) const;

  // Keeps what both maps agree on.
  void Join(const OwnerMap& other);

 private:
  struct Range {
    int64_t end;
    uint32_t owner;
  };
  // Cuts a range that spans `at` in two.
  void Split(int64_t at);

  std::map<int64_t, Range> ranges_;  // by begin; disjoint, owned
};

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_OWNER_MAP_H_
