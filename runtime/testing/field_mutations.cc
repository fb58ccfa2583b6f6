#include "encore/runtime/testing/field_mutations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "encore/ir/support/testing/byte_mutations.h"
#include "encore/ir/types/dim.h"
#include "encore/runtime/plan/compiled_graph_fields.h"

namespace encore::runtime {
namespace {

constexpr size_t kMostItems = 4096;
constexpr size_t kMostBytes = 4096;

// Counts the fields that it is given, and changes the one of number `target`.
class FieldMutator {
 public:
  static constexpr bool kReads = true;

  // `dims`: those of the graph, which another may take the place of.
  FieldMutator(size_t target, std::vector<Dim>* dims, Random* random)
      : target_(target), dims_(dims), random_(*random) {}

  size_t count() const { return count_; }

  bool ok() const { return true; }
  void Fail() {}

  template <typename T>
  void Integer(T& value) {
    if (IsTarget()) {
      value =
          static_cast<T>(HostileInteger(static_cast<uint64_t>(value), random_));
    }
  }
  template <typename E>
  void Enum(E& value, E last) {
    if (IsTarget()) {
      value = static_cast<E>(random_() % (static_cast<uint32_t>(last) + 1));
    }
  }
  template <typename Container>
  void Bytes(Container& bytes) {
    if (!IsTarget()) return;
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    MutateBytes(&text, kMostBytes, random_);
    bytes.resize(text.size());
    std::ranges::transform(text, bytes.begin(), [](char c) {
      return static_cast<typename Container::value_type>(c);
    });
  }
  template <typename List>
  void Resize(List& list, size_t) {
    if (!IsTarget()) return;
    if (list.empty()) {
      list.resize(1);
      return;
    }
    const size_t at = random_() % list.size(), other = random_() % list.size();
    switch (random_() % 4) {
      case 0:
        list.erase(list.begin() + at);
        break;
      case 1:
        std::swap(list[at], list[other]);
        break;
      case 2:
        list[at] = list[other];
        break;
      default:
        if (list.size() >= kMostItems) break;
        const auto item = list[at];
        list.insert(list.begin() + other, item);
    }
  }
  void Extent(Dim& dim) {
    dims_->push_back(dim);
    if (IsTarget()) dim = NewDim(dim);
  }

 private:
  bool IsTarget() { return count_++ == target_; }

  Dim NewDim(const Dim& dim) {
    const Dim other = Pick(*dims_, random_);
    switch (random_() % 8) {
      case 0:
        return Dim::OfSymbol(random_() % 4);
      case 1:
        return dim + other;
      case 2:
        return dim * other;
      case 3:
        return FloorDiv(dim, other);
      case 4:
        return dim - other;
      case 5:
        return other;
      default:
        return Dim(static_cast<int64_t>(HostileInteger(
            dim.is_constant() ? static_cast<uint64_t>(dim.constant()) : 64,
            random_)));
    }
  }

  const size_t target_;
  size_t count_ = 0;
  std::vector<Dim>* const dims_;
  Random& random_;
};

void MutateBlobs(std::vector<Blob>* blobs, Random& random) {
  if (blobs->empty()) {
    blobs->push_back({});
    return;
  }
  const size_t at = random() % blobs->size();
  Blob& blob = (*blobs)[at];
  switch (random() % 8) {
    case 0:
      blobs->erase(blobs->begin() + at);
      break;
    case 1:
      std::swap(blob, Pick(*blobs, random));
      break;
    case 2:
      blob.executable = !blob.executable;
      break;
    default: {
      std::string bytes(reinterpret_cast<const char*>(blob.bytes.data()),
                        blob.bytes.size());
      MutateBytes(&bytes, std::max(kMostBytes, bytes.size()), random);
      blob = Blob::Copy(std::as_bytes(std::span(bytes)), blob.executable);
    }
  }
}

}  // namespace

void MutateField(CompiledGraph* graph, Random& random) {
  if (random() % 4 == 0) return MutateBlobs(&graph->blobs, random);
  std::vector<Dim> dims = {Dim(1)};
  FieldMutator counter(SIZE_MAX, &dims, &random);
  Transfer(counter, *graph);
  FieldMutator mutator(random() % counter.count(), &dims, &random);
  Transfer(mutator, *graph);
}

}  // namespace encore::runtime
