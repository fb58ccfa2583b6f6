#include "encore/cache/store/memo.h"

#include <string_view>
#include <utility>

#include "encore/cache/store/container_writer.h"
#include "encore/ir/support/status.h"

namespace encore::cache {
namespace {

constexpr std::string_view kMemoKind = "memo";

}  // namespace

std::optional<std::string> ReadMemo(DiskStore& store, const Digest& key) {
  const auto container = store.Get(kMemoKind, key);
  if (container == nullptr) return std::nullopt;
  const auto bytes = container->Read(SectionType::kText);
  if (!bytes.ok()) {
    store.Quarantine(kMemoKind, key, *container, bytes.status());
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(bytes->data()),
                     bytes->size());
}

std::optional<int64_t> MemoTimeNs(const DiskStore& store, const Digest& key) {
  const auto container = store.Peek(kMemoKind, key);
  if (container == nullptr) return std::nullopt;
  return container->file()->stamp().modified_ns;
}

void WriteMemo(DiskStore& store, const Digest& key, std::string text) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kText, std::move(text));
  store.Put(kMemoKind, key, writer);
}

}  // namespace encore::cache
