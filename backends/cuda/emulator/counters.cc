#include "encore/backends/cuda/emulator/counters.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "encore/ir/support/strings.h"

namespace encore::ptx {
namespace {

// Distinct values of `values`, which are put in order.
size_t Distinct(std::span<uint64_t> values) {
  if (!std::ranges::is_sorted(values)) std::ranges::sort(values);
  return static_cast<size_t>(std::ranges::unique(values).begin() -
                             values.begin());
}

}  // namespace

uint64_t CountSectors(const std::array<uint64_t, 32>& addresses, uint32_t mask,
                      uint32_t bytes) {
  std::array<uint64_t, 64> sectors;
  size_t count = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uint64_t at = addresses[std::countr_zero(rest)];
    // Aligned accesses of up to 32 bytes lie in one sector.
    sectors[count++] = at / 32;
    const uint64_t last = (at + bytes - 1) / 32;
    if (last != at / 32) sectors[count++] = last;
  }
  return Distinct(std::span(sectors).first(count));
}

SharedPasses CountSharedPasses(const std::array<uint64_t, 32>& addresses,
                               uint32_t mask, uint32_t bytes) {
  SharedPasses out;
  // 32 lanes of a word, 16 of two, 8 of four go together.
  const uint32_t words = std::max(bytes / 4, 1u);
  const uint32_t lanes = std::max(32 / words, 1u);
  for (uint32_t first = 0; first < 32; first += lanes) {
    std::array<uint64_t, 64> used;
    size_t count = 0;
    for (uint32_t lane = first; lane < first + lanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (uint32_t w = 0; w < words; ++w) {
        used[count++] = addresses[lane] / 4 + w;
      }
    }
    if (count == 0) continue;
    const size_t distinct = Distinct(std::span(used).first(count));
    std::array<uint32_t, 32> banks = {};
    for (size_t i = 0; i < distinct; ++i) ++banks[used[i] % 32];
    out.passes += *std::ranges::max_element(banks);
    out.least += (distinct + 31) / 32;
  }
  return out;
}

std::string Counters::ToString() const {
  std::string out;
  const auto line = [&](std::string_view name, uint64_t value) {
    if (value != 0) StrAppend(&out, name, " ", value, "\n");
  };
  line("steps", steps);
  for (size_t i = 0; i < warp_instructions.size(); ++i) {
    const std::string_view name = Name(static_cast<InstructionClass>(i));
    line(StrCat("warp instructions, ", name), warp_instructions[i]);
    line(StrCat("thread instructions, ", name), thread_instructions[i]);
  }
  for (size_t i = 0; i < bytes_read.size(); ++i) {
    const std::string_view name = Name(static_cast<Space>(i));
    line(StrCat("bytes read, ", name), bytes_read[i]);
    line(StrCat("bytes written, ", name), bytes_written[i]);
  }
  line("global requests", global_requests);
  line("global sectors", global_sectors);
  line("shared requests", shared_requests);
  line("shared passes", shared_passes);
  line("bank conflicts", BankConflicts());
  line("barriers", barriers);
  line("divergent branches", divergent_branches);
  return out;
}

}  // namespace encore::ptx
