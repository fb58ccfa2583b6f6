#include "encore/opt/egraph/core/literals.h"

#include <bit>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::egraph {

Value LiteralPool::Intern(SortId sort, uint64_t payload) {
  const auto [it, inserted] = by_payload_.try_emplace(
      std::make_pair(sort.value(), payload), entries_.size());
  if (inserted) entries_.push_back({payload, sort});
  return it->second;
}

Value LiteralPool::I64(int64_t value) {
  return Intern(kI64Sort, static_cast<uint64_t>(value));
}

Value LiteralPool::F64(double value) {
  return Intern(kF64Sort, std::bit_cast<uint64_t>(value));
}

Value LiteralPool::String(std::string_view value) {
  const auto [it, inserted] =
      string_index_.try_emplace(std::string(value), strings_.size());
  if (inserted) strings_.emplace_back(value);
  return Intern(kStringSort, it->second);
}

Value LiteralPool::Bool(bool value) { return Intern(kBoolSort, value ? 1 : 0); }

Value LiteralPool::Custom(SortId sort, uint64_t payload) {
  return Intern(sort, payload);
}

int64_t LiteralPool::AsI64(Value value) const {
  ENCORE_DCHECK(SortOf(value) == kI64Sort);
  return static_cast<int64_t>(entries_[value].payload);
}

double LiteralPool::AsF64(Value value) const {
  ENCORE_DCHECK(SortOf(value) == kF64Sort);
  return std::bit_cast<double>(entries_[value].payload);
}

const std::string& LiteralPool::AsString(Value value) const {
  ENCORE_DCHECK(SortOf(value) == kStringSort);
  return strings_[entries_[value].payload];
}

bool LiteralPool::AsBool(Value value) const {
  ENCORE_DCHECK(SortOf(value) == kBoolSort);
  return entries_[value].payload != 0;
}

uint64_t LiteralPool::AsCustom(Value value) const {
  return entries_[value].payload;
}

std::string LiteralPool::ToText(Value value) const {
  const Entry& entry = entries_[value];
  if (entry.sort == kI64Sort) return StrCat(AsI64(value));
  if (entry.sort == kBoolSort) return AsBool(value) ? "true" : "false";
  if (entry.sort == kStringSort) return Quote(AsString(value));
  if (entry.sort == kF64Sort) {
    std::string text = StrCat(AsF64(value));
    if (text.find_first_not_of("-0123456789") == std::string::npos) {
      text += ".0";
    }
    return text;
  }
  return StrCat("#", entry.sort.value(), ":", entry.payload);
}

size_t LiteralPool::memory_bytes() const {
  size_t bytes =
      entries_.capacity() * sizeof(Entry) +
      by_payload_.capacity() * (sizeof(std::pair<uint32_t, uint64_t>) + 9) +
      string_index_.capacity() * (sizeof(std::string) + 9);
  for (const std::string& s : strings_) bytes += 2 * s.capacity() + sizeof(s);
  return bytes;
}

}  // namespace encore::egraph
