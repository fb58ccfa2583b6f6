// LiteralPool: literals interned to 32-bit Values, so that a column of a node
// holds an i64, f64, String, bool or attribute in four bytes and equality of
// literals is equality of Values (f64: of bits).
//
// Values are dense, in order of first interning, and valid for this pool and
// its copies. Not thread-safe, const access apart.
#ifndef ENCORE_OPT_EGRAPH_CORE_LITERALS_H_
#define ENCORE_OPT_EGRAPH_CORE_LITERALS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "encore/opt/egraph/core/ids.h"

namespace encore::egraph {

// The sorts that every Language has.
inline constexpr SortId kUnitSort{0};
inline constexpr SortId kI64Sort{1};
inline constexpr SortId kF64Sort{2};
inline constexpr SortId kStringSort{3};
inline constexpr SortId kBoolSort{4};

class LiteralPool {
 public:
  Value I64(int64_t value);
  Value F64(double value);
  Value String(std::string_view value);
  Value Bool(bool value);
  // A literal of a sort of the caller's; `payload` means what the caller says,
  // typically the index of an interned attribute.
  Value Custom(SortId sort, uint64_t payload);

  // REQUIRES: `value` was interned with that sort.
  int64_t AsI64(Value value) const;
  double AsF64(Value value) const;
  const std::string& AsString(Value value) const;
  bool AsBool(Value value) const;
  uint64_t AsCustom(Value value) const;
  SortId SortOf(Value value) const { return entries_[value].sort; }

  // As a program writes it: -12, 1.5, "s", true; #sort:payload for Custom.
  std::string ToText(Value value) const;

  size_t size() const { return entries_.size(); }
  size_t memory_bytes() const;

 private:
  struct Entry {
    uint64_t payload;
    SortId sort;
  };
  Value Intern(SortId sort, uint64_t payload);

  std::vector<Entry> entries_;
  std::vector<std::string> strings_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, Value> by_payload_;
  absl::flat_hash_map<std::string, uint64_t> string_index_;
};

}  // namespace encore::egraph

#endif  // ENCORE_OPT_EGRAPH_CORE_LITERALS_H_
