#include "encore/cache/store/entry.h"

#include <string>
#include <utility>
#include <vector>

#include "encore/cache/store/container_writer.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::cache {

ContainerWriter MakeEntry(const KeyIngredients& ingredients,
                          const runtime::CompiledGraph& graph,
                          const MeasurementTable& measurements) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, EncodeIngredients(ingredients));
  const std::vector<std::byte> bytes = runtime::SerializeCompiledGraph(graph);
  writer.AddOwned(
      SectionType::kCompiledGraph,
      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::string table = measurements.Encode();
  if (!table.empty()) {
    writer.AddOwned(SectionType::kMeasurements, std::move(table));
  }
  return writer;
}

StatusOr<MeasurementTable> ReadEntryMeasurements(const Container& container) {
  if (container.Find(SectionType::kMeasurements) == nullptr) {
    return MeasurementTable();
  }
  ENCORE_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                          container.Read(SectionType::kMeasurements));
  return MeasurementTable::Decode(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

StatusOr<KeyIngredients> ReadEntryIngredients(const Container& container) {
  ENCORE_ASSIGN_OR_RETURN(const std::span<const std::byte> headline,
                          container.Read(SectionType::kHeadline));
  auto ingredients = DecodeIngredients(
      {reinterpret_cast<const char*>(headline.data()), headline.size()});
  if (ingredients.ok()) return ingredients;
  return DataLossError(Message(ingredients.status()));
}

Status CheckEntry(const Container& container,
                  const KeyIngredients& ingredients) {
  ENCORE_ASSIGN_OR_RETURN(const KeyIngredients stored,
                          ReadEntryIngredients(container));
  if (const auto difference = Explain(stored, ingredients)) {
    return FailedPreconditionError(
        StrCat("the entry was made from other ingredients: ", *difference));
  }
  return OkStatus();
}

StatusOr<runtime::CompiledGraph> ReadEntry(
    std::shared_ptr<const Container> container) {
  ENCORE_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                          container->Read(SectionType::kCompiledGraph));
  return runtime::ParseCompiledGraph(bytes, container);
}

ContainerWriter MakeKeyEntry(const Digest& key) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kText, key.ToHex());
  return writer;
}

std::optional<Digest> ReadKeyEntry(DiskStore& disk, std::string_view kind,
                                   const Digest& name) {
  const auto container = disk.Get(kind, name);
  if (container == nullptr) return std::nullopt;
  const auto text = container->Read(SectionType::kText);
  const auto key =
      text.ok() ? Digest::FromHex({reinterpret_cast<const char*>(text->data()),
                                   text->size()})
                : std::nullopt;
  if (!key) {
    disk.Quarantine(kind, name, *container,
                    text.ok() ? DataLossError("no key") : text.status());
  }
  return key;
}

}  // namespace encore::cache
