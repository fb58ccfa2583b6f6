#include "encore/backends/cuda/emulator/access.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "encore/backends/cuda/emulator/address_map.h"
#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

std::string Hex(uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), kDigits[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + out;
}

std::string_view Verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "reads";
    case AccessKind::kWrite:
      return "writes";
    case AccessKind::kAtomic:
      return "updates";
    case AccessKind::kArrive:
      return "writes by cp.async";
  }
  return "";
}

// An access at hand, for messages.
struct Request {
  Warp& warp;
  const Instruction& i;
  uint32_t lane;
  Place place;
  uint32_t bytes;
  AccessKind kind;

  std::byte* Refuse(std::string_view why) const {
    warp.Fail(i, lane,
              StrCat(Verb(kind), " ", bytes, " bytes of ", Name(place.space),
                     " memory at ", Hex(place.address), ": ", why));
    return nullptr;
  }
};

std::byte* RefuseBounds(const Request& request, const Region* near) {
  std::string why = "no allocation is there";
  if (near != nullptr) {
    StrAppend(&why, "; ", near->name, " has ", near->size, " bytes from ",
              Hex(near->address), " on");
  }
  return request.Refuse(why);
}

std::byte* Local(const Request& request) {
  Warp& warp = request.warp;
  const uint64_t size = warp.program->local_bytes;
  const uint64_t at = request.place.address - kLocalBegin;
  if (request.place.address < kLocalBegin || request.bytes > size ||
      at > size - request.bytes) {
    return request.Refuse(StrCat("out of bounds, a thread has ", size,
                                 " bytes from ", Hex(kLocalBegin), " on"));
  }
  if (warp.local.empty()) warp.local.resize(size * 32);
  return warp.local.data() + request.lane * size + at;
}

std::byte* KernelParameter(const Request& request) {
  const auto parameters = request.warp.launch->config.parameters;
  const uint64_t at = request.place.address;
  if (request.kind != AccessKind::kRead) {
    return request.Refuse("parameters of a kernel are read only");
  }
  if (request.bytes > parameters.size() ||
      at > parameters.size() - request.bytes) {
    return request.Refuse(
        StrCat("out of bounds, there are ", parameters.size(), " bytes"));
  }
  return const_cast<std::byte*>(parameters.data()) + at;
}

std::byte* RefuseRace(const Request& request, const Race& race) {
  const Warp& warp = request.warp;
  const uint32_t in_block = race.warp % warp.launch->warps_per_block;
  const bool same_block = race.warp / warp.launch->warps_per_block ==
                          warp.clock.warp() / warp.launch->warps_per_block;
  return request.Refuse(
      StrCat("races with a ", race.earlier_was_write ? "write" : "read",
             " in line ", race.line, " by lane ", race.lane, " of warp ",
             in_block, same_block ? " of the block" : " of another block",
             "; no barrier, fence or atomic orders them"));
}

std::byte* InRegion(const Request& request, Region& region) {
  const uint64_t offset = request.place.address - region.address;
  const uint64_t bytes = request.bytes;
  const bool reads =
      request.kind == AccessKind::kRead || request.kind == AccessKind::kAtomic;
  if (request.kind != AccessKind::kArrive &&
      region.shadow.AnyInFlight(offset, bytes)) {
    return request.Refuse(
        "a cp.async writes there that has not been waited for");
  }
  if (reads) {
    if (const auto at = region.shadow.FirstUninitialized(offset, bytes)) {
      return request.Refuse(StrCat("the byte at ", Hex(region.address + *at),
                                   " was never written"));
    }
  }
  if (request.kind != AccessKind::kRead) {
    if (region.read_only) return request.Refuse("it is read only");
    region.shadow.MarkInitialized(offset, bytes);
  }
  if (request.warp.launch->options.check_races) {
    Accessor who;
    who.clock = &request.warp.clock;
    who.lane = request.lane;
    who.line = request.i.line;
    who.strong = request.kind == AccessKind::kAtomic || IsStrong(request.i);
    who.block_scope = request.i.Has(Modifier::kCta);
    const auto race = request.kind == AccessKind::kRead
                          ? region.shadow.Read(offset, bytes, who)
                          : region.shadow.Write(offset, bytes, who);
    if (race.has_value()) return RefuseRace(request, *race);
  }
  return region.bytes + offset;
}

std::pair<uint64_t, uint64_t> LocationKey(const Warp& warp, Space space,
                                          uint64_t address) {
  const Place place = Resolve(space, address);
  const bool shared = place.space == Space::kShared;
  return {place.address, shared ? warp.block->number + 1 : 0};
}

}  // namespace

Place Resolve(Space space, uint64_t address) {
  if (space != Space::kGeneric) return {space, address};
  const Space found = SpaceAt(address);
  return {found, address - WindowOf(found)};
}

std::byte* Access(Warp& warp, const Instruction& i, uint32_t lane, Space space,
                  uint64_t address, uint32_t bytes, AccessKind kind) {
  const Request request{warp, i, lane, Resolve(space, address), bytes, kind};
  const uint64_t at = request.place.address;
  if (at % bytes != 0) {
    return request.Refuse(
        StrCat("misaligned, it must be a multiple of ", bytes));
  }
  switch (request.place.space) {
    case Space::kLocal:
      return Local(request);
    case Space::kParam:
      return KernelParameter(request);
    case Space::kShared: {
      Region& shared = warp.block->shared;
      if (!shared.Contains(at, bytes)) {
        return request.Refuse(StrCat("out of bounds, the block has ",
                                     shared.size, " bytes from ",
                                     Hex(shared.address), " on"));
      }
      return InRegion(request, shared);
    }
    default: {
      Region* region = warp.launch->memory.Find(at);
      if (region == nullptr || !region->Contains(at, bytes)) {
        return RefuseBounds(request, warp.launch->memory.Before(at));
      }
      return InRegion(request, *region);
    }
  }
}

std::array<uint64_t, 32> Addresses(const Warp& warp, const Instruction& i,
                                   uint32_t operand, int which) {
  const uint64_t* base = warp.Source(i, operand);
  const auto offset = static_cast<uint64_t>(i.offset[which]);
  std::array<uint64_t, 32> out;
  for (size_t lane = 0; lane < 32; ++lane) out[lane] = base[lane] + offset;
  const Space space = which == 0 ? i.space : i.source_space;
  if (space == Space::kShared || space == Space::kLocal ||
      space == Space::kParam) {
    // Addresses of 32 bits, whatever register they are in.
    for (uint64_t& address : out) address &= 0xffffffffu;
  }
  return out;
}

void CountAccess(Warp& warp, Space space,
                 const std::array<uint64_t, 32>& addresses, uint32_t mask,
                 uint32_t bytes, AccessKind kind) {
  if (mask == 0) return;
  Counters& counters = warp.launch->counters;
  // A warp's addresses are of one space but in strange kernels.
  const Space reached = Resolve(space, addresses[std::countr_zero(mask)]).space;
  const auto index = static_cast<size_t>(reached);
  const auto all = static_cast<uint64_t>(std::popcount(mask)) * bytes;
  if (kind != AccessKind::kWrite) counters.bytes_read[index] += all;
  if (kind != AccessKind::kRead) counters.bytes_written[index] += all;
  if (reached == Space::kGlobal) {
    ++counters.global_requests;
    counters.global_sectors += CountSectors(addresses, mask, bytes);
  } else if (reached == Space::kShared) {
    const SharedPasses passes = CountSharedPasses(addresses, mask, bytes);
    ++counters.shared_requests;
    counters.shared_passes += passes.passes;
    counters.shared_least_passes += passes.least;
  }
}

bool IsStrong(const Instruction& i) {
  using enum Modifier;
  return i.Has(kVolatile) || i.Has(kRelaxed) || i.Has(kAcquire) ||
         i.Has(kRelease) || i.Has(kAcqRel);
}

void Fence(Warp& warp) {
  if (!warp.launch->options.check_races) return;
  if (warp.acquired != nullptr) {
    warp.clock.Join(*warp.acquired);
    warp.acquired.reset();
  }
  warp.fenced = std::make_unique<EpochMap>();
  warp.clock.PublishTo(warp.fenced.get());
  warp.clock.BeginEpoch();
}

void Acquire(Warp& warp, const Instruction& i, Space space, uint64_t address) {
  if (warp.launch->released.empty()) return;
  const auto found =
      warp.launch->released.find(LocationKey(warp, space, address));
  if (found == warp.launch->released.end()) return;
  if (i.Has(Modifier::kAcquire) || i.Has(Modifier::kAcqRel)) {
    warp.clock.Join(found->second);
    return;
  }
  if (warp.acquired == nullptr) warp.acquired = std::make_unique<EpochMap>();
  for (const auto& [other, epoch] : found->second) {
    uint32_t& known = (*warp.acquired)[other];
    known = std::max(known, epoch);
  }
}

void Publish(Warp& warp, const Instruction& i, Space space, uint64_t address) {
  if (!warp.launch->options.check_races) return;
  const bool releases = i.Has(Modifier::kRelease) || i.Has(Modifier::kAcqRel);
  if (!releases && warp.fenced == nullptr) return;
  EpochMap& released = warp.launch->released[LocationKey(warp, space, address)];
  if (releases) {
    warp.clock.PublishTo(&released);
    warp.clock.BeginEpoch();
    return;
  }
  for (const auto& [other, epoch] : *warp.fenced) {
    uint32_t& known = released[other];
    known = std::max(known, epoch);
  }
}

}  // namespace encore::ptx
