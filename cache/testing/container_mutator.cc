#include "encore/cache/testing/container_mutator.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "encore/cache/store/container_format.h"
#include "encore/cache/store/container_writer.h"
#include "encore/cache/testing/payload_tokens.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/testing/byte_mutations.h"
#include "encore/runtime/plan/compiled_graph_io.h"
#include "encore/runtime/testing/field_mutations.h"
#include "encore/runtime/testing/plan_mutations.h"

namespace encore::cache {
namespace {

using namespace container_format;  // NOLINT: layout constants

constexpr uint32_t kMostTypes = 18;  // some more than there are
constexpr size_t kMostSections = 512;

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t Fixed64At(std::string_view bytes, size_t at) {
  return ByteReader(bytes.substr(at)).Fixed64();
}

void PutFixed64(std::string* bytes, size_t at, uint64_t value) {
  ByteWriter out;
  out.Fixed64(value);
  bytes->replace(at, out.str().size(), out.str());
}

// Where header and table end; nothing where they are cut off.
std::optional<size_t> HeadSize(std::string_view bytes) {
  if (bytes.size() < kHeaderSize) return std::nullopt;
  const uint64_t count = Fixed64At(bytes, 16);
  if (count > (bytes.size() - kHeaderSize) / kEntrySize) return std::nullopt;
  return kHeaderSize + count * kEntrySize;
}

void SignHead(std::string* bytes) {
  const auto size = HeadSize(*bytes);
  if (!size) return;
  const auto head = std::as_bytes(std::span(*bytes)).first(*size);
  bytes->replace(kChecksumAt, kChecksumSize, AsText(HeadChecksum(head)));
}

void SignSections(std::string* bytes) {
  const size_t head = HeadSize(*bytes).value_or(0);
  for (size_t entry = kHeaderSize; entry < head; entry += kEntrySize) {
    const uint64_t offset = Fixed64At(*bytes, entry + 8);
    const uint64_t length = Fixed64At(*bytes, entry + 16);
    if (offset > bytes->size() || length > bytes->size() - offset) continue;
    const auto section =
        std::as_bytes(std::span(*bytes)).subspan(offset, length);
    bytes->replace(entry + 24, kChecksumSize, AsText(ChecksumOf(section)));
  }
}

// The graph with some fields or steps changed; nothing where there is none.
std::optional<std::string> MutateGraph(const std::string& payload,
                                       std::mt19937& random) {
  auto graph =
      runtime::ParseCompiledGraph(std::as_bytes(std::span(payload)), nullptr);
  if (!graph.ok()) return std::nullopt;
  for (uint32_t left = 1 + random() % 3; left > 0; --left) {
    if (random() % 3 == 0 && !graph->plans.empty() && !graph->slots.empty()) {
      runtime::MutatePlan(&*graph, random);
    } else {
      runtime::MutateField(&*graph, random);
    }
  }
  const auto bytes = runtime::SerializeCompiledGraph(*graph);
  return std::string(TextOf(bytes));
}

void MutatePart(ContainerParts::Part* part, size_t max_size,
                std::mt19937& random) {
  if (part->type == SectionType::kCompiledGraph && random() % 8 != 0) {
    if (auto graph = MutateGraph(part->bytes, random)) {
      part->bytes = *std::move(graph);
      return;
    }
  }
  PayloadTokens tokens = ReadTokens(part->type, part->bytes);
  if (tokens.empty() || random() % 8 == 0) {
    MutateBytes(&part->bytes, max_size, random);
    return;
  }
  MutateTokens(&tokens, max_size, random);
  part->bytes = WriteTokens(tokens);
}

// One section; small ones and those of weights are as likely as the graph.
size_t PickPart(const ContainerParts& parts, std::mt19937& random) {
  const auto& sections = parts.sections;
  if (random() % 3 == 0) {
    const auto graph = std::ranges::find(sections, SectionType::kCompiledGraph,
                                         &ContainerParts::Part::type);
    if (graph != sections.end()) return graph - sections.begin();
  }
  return random() % sections.size();
}

void MutateParts(ContainerParts* parts, size_t max_size, std::mt19937& random) {
  auto& sections = parts->sections;
  if (sections.empty()) {
    sections.push_back({static_cast<SectionType>(random() % kMostTypes), ""});
    return;
  }
  const size_t at = PickPart(*parts, random);
  const size_t other = random() % sections.size();
  switch (random() % 16) {
    case 0:
      sections.erase(sections.begin() + at);
      break;
    case 1:
      if (sections.size() < kMostSections) {
        const ContainerParts::Part copy = sections[at];
        sections.insert(sections.begin() + other, copy);
      }
      break;
    case 2:
      std::swap(sections[at], sections[other]);
      break;
    case 3:
      sections[at].type = static_cast<SectionType>(random() % kMostTypes);
      break;
    case 4:
      sections[at].alignment = size_t{64} << random() % 7;
      break;
    case 5:
      sections[at].bytes = sections[other].bytes;
      break;
    default:
      MutatePart(&sections[at], max_size, random);
  }
}

// A place in the header or the table, of a number.
size_t PlaceInHead(const std::string& bytes, std::mt19937& random) {
  const size_t entries =
      (HeadSize(bytes).value_or(0) - kHeaderSize) / kEntrySize;
  if (entries == 0 || random() % 4 == 0) return 8 + 8 * (random() % 3);
  return kHeaderSize + random() % entries * kEntrySize + 8 * (random() % 3);
}

// Breaks what right sizes and checksums are to say.
std::string Damage(std::string bytes, std::mt19937& random) {
  if (!HeadSize(bytes)) return bytes;
  switch (random() % 6) {
    case 0:
      bytes.resize(random() % (bytes.size() + 1));
      return bytes;
    case 1:
      bytes.append(random() % 128, static_cast<char>(random() % 2));
      PutFixed64(&bytes, 24, bytes.size());
      break;
    case 2:
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      return bytes;
    default: {
      const size_t at = PlaceInHead(bytes, random);
      PutFixed64(&bytes, at, HostileInteger(Fixed64At(bytes, at), random));
    }
  }
  if (random() % 8 != 0) SignHead(&bytes);
  return bytes;
}

}  // namespace

std::optional<ContainerParts> TakeApart(std::string_view bytes) {
  const auto container = Container::FromBytes(std::string(bytes));
  if (!container.ok()) return std::nullopt;
  ContainerParts parts;
  for (const Section& section : (*container)->sections()) {
    parts.sections.push_back(
        {section.type, std::string(TextOf((*container)->Unverified(section))),
         section.offset % kMaxAlignment == 0 ? kMaxAlignment : kMinAlignment});
  }
  return parts;
}

std::string PutTogether(const ContainerParts& parts) {
  ContainerWriter writer;
  for (const ContainerParts::Part& part : parts.sections) {
    writer.Add(part.type, std::as_bytes(std::span(part.bytes)), part.alignment);
  }
  auto bytes = writer.ToBytes();
  ENCORE_CHECK_OK(bytes.status());
  return *std::move(bytes);
}

std::string WithRightChecksums(std::string bytes) {
  if (bytes.size() >= kHeaderSize) {
    bytes.replace(0, kMagic.size(), kMagic);
    PutFixed64(&bytes, 24, bytes.size());
  }
  SignSections(&bytes);
  SignHead(&bytes);
  return bytes;
}

std::string MutateContainer(std::string bytes, size_t max_size,
                            std::mt19937& random) {
  auto parts = TakeApart(bytes);
  if (!parts) {
    MutateBytes(&bytes, max_size, random);
    return random() % 2 == 0 ? WithRightChecksums(std::move(bytes)) : bytes;
  }
  for (uint32_t left = 1 + random() % 3; left > 0; --left) {
    MutateParts(&*parts, max_size, random);
  }
  std::string mutant = PutTogether(*parts);
  if (mutant.size() > max_size) mutant = std::move(bytes);
  return random() % 8 == 0 ? Damage(std::move(mutant), random) : mutant;
}

std::string CrossContainers(std::string_view a, std::string_view b,
                            size_t max_size, std::mt19937& random) {
  auto parts = TakeApart(a);
  const auto others = TakeApart(b);
  if (!parts || !others || others->sections.empty()) {
    return CrossBytes(std::string(a), std::string(b), max_size, random);
  }
  for (uint32_t left = 1 + random() % 3; left > 0; --left) {
    const auto& other = others->sections[random() % others->sections.size()];
    // In the place of one of its type, where there is one.
    const auto same = std::ranges::find(parts->sections, other.type,
                                        &ContainerParts::Part::type);
    if (same != parts->sections.end() && random() % 8 != 0) {
      *same = other;
    } else {
      parts->sections.push_back(other);
    }
  }
  std::string both = PutTogether(*parts);
  return both.size() > max_size ? std::string(a) : both;
}

}  // namespace encore::cache
