// MapStore: an ArtifactStore in memory that counts, for tests.
#ifndef ENCORE_BACKENDS_MAP_STORE_H_
#define ENCORE_BACKENDS_MAP_STORE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encore/backends/artifact_store.h"

namespace encore::backends {

// Not thread-safe.
class MapStore : public ArtifactStore {
 public:
  struct Kind {
    std::map<std::string, std::vector<std::byte>> rows;
    std::vector<std::string> missing;  // keys that were asked for in vain
    int gets = 0, puts = 0;
  };

  std::optional<std::vector<std::byte>> Get(std::string_view kind,
                                            std::string_view key) override {
    Kind& of_kind = (*this)[kind];
    ++of_kind.gets;
    const auto row = of_kind.rows.find(std::string(key));
    if (row != of_kind.rows.end()) return row->second;
    of_kind.missing.emplace_back(key);
    return std::nullopt;
  }
  void Put(std::string_view kind, std::string_view key,
           std::span<const std::byte> bytes) override {
    Kind& of_kind = (*this)[kind];
    ++of_kind.puts;
    of_kind.rows[std::string(key)].assign(bytes.begin(), bytes.end());
  }

  Kind& operator[](std::string_view kind) { return kinds_[std::string(kind)]; }

 private:
  std::map<std::string, Kind> kinds_;
};

}  // namespace encore::backends

#endif  // ENCORE_BACKENDS_MAP_STORE_H_
