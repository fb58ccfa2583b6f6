// MemoryStore: recently used values by key, bounded by their bytes.
//
// Sharded, least recently used first out. A value that is evicted lives on with
// whoever holds it. Thread-safe.
#ifndef ENCORE_CACHE_STORE_MEMORY_STORE_H_
#define ENCORE_CACHE_STORE_MEMORY_STORE_H_

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace encore::cache {

class MemoryStore {
 public:
  using Value = std::shared_ptr<const void>;

  explicit MemoryStore(int64_t max_bytes);

  // Null where there is none; otherwise it is now the last to go.
  Value Get(std::string_view key);
  template <typename T>
  std::shared_ptr<const T> GetAs(std::string_view key) {
    return std::static_pointer_cast<const T>(Get(key));
  }
  // Replaces what is there. A value larger than a shard's share is not kept.
  void Put(std::string_view key, Value value, int64_t bytes);
  void Erase(std::string_view key);
  void Clear();

  int64_t bytes() const { return Sum(&Shard::bytes); }
  int64_t evictions() const { return Sum(&Shard::evictions); }

 private:
  struct Entry {
    std::string key;
    Value value;
    int64_t bytes;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::list<Entry> entries;  // the last used first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key;
    int64_t bytes = 0, evictions = 0;

    void Remove(std::list<Entry>::iterator entry);
  };
  Shard& ShardOf(std::string_view key);
  int64_t Sum(int64_t Shard::* count) const;

  static constexpr size_t kShards = 16;
  const int64_t shard_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_MEMORY_STORE_H_
