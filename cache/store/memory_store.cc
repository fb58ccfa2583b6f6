#include "encore/cache/store/memory_store.h"

#include <functional>
#include <utility>

namespace encore::cache {

MemoryStore::MemoryStore(int64_t max_bytes)
    : shard_bytes_(max_bytes / static_cast<int64_t>(kShards)) {}

MemoryStore::Shard& MemoryStore::ShardOf(std::string_view key) {
  return shards_[std::hash<std::string_view>()(key) % kShards];
}

void MemoryStore::Shard::Remove(std::list<Entry>::iterator entry) {
  bytes -= entry->bytes;
  by_key.erase(entry->key);
  entries.erase(entry);
}

MemoryStore::Value MemoryStore::Get(std::string_view key) {
  Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) return nullptr;
  shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
  return found->second->value;
}

void MemoryStore::Put(std::string_view key, Value value, int64_t bytes) {
  Shard& shard = ShardOf(key);
  // Destroyed after the lock is given up.
  std::list<Entry> dropped;
  const std::lock_guard lock(shard.mutex);
  if (const auto old = shard.by_key.find(key); old != shard.by_key.end()) {
    dropped.push_back(*old->second);
    shard.Remove(old->second);
  }
  if (bytes > shard_bytes_) return;
  while (shard.bytes + bytes > shard_bytes_) {
    dropped.push_back(shard.entries.back());
    shard.Remove(std::prev(shard.entries.end()));
    ++shard.evictions;
  }
  shard.entries.push_front({std::string(key), std::move(value), bytes});
  shard.by_key.emplace(shard.entries.front().key, shard.entries.begin());
  shard.bytes += bytes;
}

void MemoryStore::Erase(std::string_view key) {
  Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found != shard.by_key.end()) shard.Remove(found->second);
}

void MemoryStore::Clear() {
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.by_key.clear();
    shard.entries.clear();
    shard.bytes = 0;
  }
}

int64_t MemoryStore::Sum(int64_t Shard::* count) const {
  int64_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sum += shard.*count;
  }
  return sum;
}

}  // namespace encore::cache
