#include "encore/backends/cpu/winograd/schedule.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "encore/backends/cpu/codegen/tile_schedule.h"
#include "encore/backends/cpu/machine.h"
#include "encore/ir/support/integers.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {
namespace {

constexpr std::string_view kPrefix = "winograd";
// Each partition has scratch memory of its own: no more than threads, or these.
constexpr int64_t kMostPartitions = 16;
// Vectors of a span at most: scratch memory is for as many.
constexpr int64_t kMostSpanVectors = 16;
// A vector instruction of the transforms, where one of a product is a cycle:
// these shuffle, and wait for what they have just stored.
constexpr double kTransformCycles = 3;
// To add a vector of a partial sum to those before, in cycles, and the share of
// that to store one.
constexpr double kAddCycles = 1.5, kStoreShare = 0.7;
// Channels of a partial sum at least: shorter ones take longer to add up than
// to compute.
constexpr int64_t kLeastSumChannels = 8;
// Rows of a split at least.
constexpr int64_t kLeastSplitRows = 32;

// To transform, write and fault in a byte of weights once.
constexpr double kSecondsPerWeightByte = 1.0 / 5e9;

// Sets the register tile that takes least for the vectors of a span. The cycles
// of a channel at one point of the transform, for all rows.
double ChooseTile(const WindowedSum& sum, Isa isa, WinogradSchedule* s) {
  const int registers = isa == Isa::kAvx512 ? 32 : 16;
  const int64_t usual = s->span_vectors;
  double best = std::numeric_limits<double>::infinity();
  for (int u = 1; u <= std::min<int64_t>(usual, 3); ++u) {
    const int fitting = std::min((registers - 4) / u, (registers - 1) / u - 1);
    const int most =
        static_cast<int>(std::min<int64_t>(sum.rows, std::min(fitting, 14)));
    for (int r = std::max(1, most - 7); r <= most; ++r) {
      const double cycles = PointCycles(sum.rows, usual, r, u);
      if (cycles >= best) continue;
      best = cycles;
      s->rows = r;
      s->tile_vectors = u;
    }
  }
  return best;
}

// Instructions of a transform of the data, or of the results.
double DataTransform(const WinogradTransform& t) {
  if (t.is_identity()) return 0;
  return t.points() * (static_cast<double>(t.pairs.size()) + 1) / 2;
}

double ResultTransform(const WinogradTransform& t) {
  return t.is_identity() ? 0 : static_cast<double>(t.outputs * t.points()) / 2;
}

// Instructions that transform a vector of tiles of one channel of the data, or
// of one row of the results.
double DataInstructions(const WinogradSchedule& s) {
  const double n = s.lines.points(), q = s.columns.points(),
               m = s.columns.outputs;
  if (s.columns.is_identity()) return 2 * n + DataTransform(s.lines);
  // Loads and shuffles into q phases, transforms, stores.
  const double columns = m + 2 * q + DataTransform(s.columns) + q;
  if (s.lines.is_identity()) return columns;
  // Lines: loads, transforms and two stores of m vectors of columns.
  return 1.3 * m * (n + DataTransform(s.lines) + 2 * n) + n * columns;
}

double ResultInstructions(const WinogradSchedule& s) {
  const double n = s.lines.points(), q = s.columns.points(),
               m = s.columns.outputs;
  const double shuffles = s.columns.is_identity() ? 0 : 2 * m;
  return q * (n + ResultTransform(s.lines)) +
         s.lines.outputs * (ResultTransform(s.columns) + shuffles + m);
}

// What the parts of a schedule take, in cycles.
struct Parts {
  double products = 0;  // of all units
  double data = 0;      // of all spans, once
  double results = 0;   // of all units
};

// Of the vectors of the largest span.
Parts PartsOf(const WindowedSum& sum, const WinogradSchedule& s,
              double tile_cycles) {
  const auto channels = static_cast<double>(sum.channels);
  const auto vectors = static_cast<double>(s.span_vectors);
  Parts parts;
  const auto additions =
      static_cast<double>(CeilDiv(sum.channels, s.sum_channels) - 1);
  const auto rows = static_cast<double>(sum.rows);
  const auto tiles = static_cast<double>(
      s.groups * CeilDiv<int64_t>(s.span_vectors, s.tile_vectors));
  parts.products =
      static_cast<double>(s.points()) *
      (channels * tile_cycles + (additions + 1) * tiles * kTileCycles +
       (additions + kStoreShare) * rows * vectors * kAddCycles);
  parts.data = vectors * channels * kTransformCycles * DataInstructions(s);
  parts.results = vectors * rows * kTransformCycles * ResultInstructions(s);
  return parts;
}

// Sets the fewest partial sums whose error is small enough, else those that err
// least.
void ChooseSums(const WindowedSum& sum, WinogradSchedule* s) {
  s->error_ratio = std::numeric_limits<double>::infinity();
  const int64_t most = CeilDiv(sum.channels, kLeastSumChannels);
  for (int64_t sums = 1; sums <= most && s->error_ratio > kMostErrorRatio;
       ++sums) {
    const double ratio = ErrorRatio(s->lines, s->columns, sum.channels, sums);
    if (ratio >= s->error_ratio) continue;
    s->error_ratio = ratio;
    s->sum_channels = CeilDiv(sum.channels, sums);
  }
}

// Bytes that a span with all splits moves between a core's second level of
// cache and what is behind: weights, and where these do not fit beside, the
// data once for each chunk, and the products.
double MovedBytes(const WindowedSum& sum, const WinogradSchedule& s) {
  const double floats = 4 * static_cast<double>(s.points() * s.span_vectors);
  const double data = floats * static_cast<double>(sum.channels * s.lanes);
  const auto chunk_rows =
      static_cast<double>(std::min<int64_t>(s.chunk_groups * s.rows, sum.rows));
  const double products = floats * chunk_rows * s.lanes;
  const double chunks = static_cast<double>(sum.rows) / chunk_rows;
  const auto weights = static_cast<double>(s.weights_bytes(sum));
  const auto cache = static_cast<double>(kSecondCacheBytes);
  double bytes = weights;
  if (data + products > cache) bytes += data * (1 + chunks);
  if (products > cache / 2) bytes += 2 * products * chunks;
  return bytes;
}

// Sets how the work is cut, for so many spans and splits, and what it takes.
void Cut(const WindowedSum& sum, Isa isa, int64_t spans, int64_t splits,
         WinogradSchedule* s) {
  s->spans = spans;
  s->span_vectors = CeilDiv<int64_t>(s->vectors, spans);
  const double tile_cycles = ChooseTile(sum, isa, s);
  s->groups = CeilDiv<int64_t>(sum.rows, s->rows);
  s->splits = std::min(splits, s->groups);
  const Parts parts = PartsOf(sum, *s, tile_cycles);
  const int64_t group_bytes =
      s->points() * s->rows * s->span_vectors * s->lanes * 4;
  const int64_t most = CeilDiv<int64_t>(s->groups, s->splits);
  const int64_t few =
      std::clamp<int64_t>(kSecondCacheBytes / 4 / group_bytes, 1, most);
  double moved = std::numeric_limits<double>::infinity();
  for (const int64_t groups : {few, most}) {
    WinogradSchedule chunked = *s;
    chunked.chunk_groups = groups;
    const double bytes = MovedBytes(sum, chunked);
    if (bytes >= moved) continue;
    moved = bytes;
    s->chunk_groups = groups;
  }
  s->unit_cycles = (parts.products + parts.results + moved / kBytesPerCycle) /
                       static_cast<double>(s->splits) +
                   parts.data;
  s->partitions = std::min(s->spans * s->splits,
                           std::max<int64_t>(kMostPartitions, s->threads));
}

}  // namespace

int64_t WinogradSchedule::weights_pitch(const WindowedSum& sum) const {
  // Not a power of two: points lie in different sets of the caches.
  return groups * sum.channels * rows + lanes;
}

int64_t WinogradSchedule::weights_bytes(const WindowedSum& sum) const {
  return points() * weights_pitch(sum) * int64_t{sizeof(float)};
}

double WinogradSchedule::cycles() const {
  const int64_t parallel = std::min<int64_t>(partitions, threads);
  const auto rounds =
      static_cast<double>(CeilDiv<int64_t>(spans * splits, parallel));
  return unit_cycles * rounds;
}

double WinogradSchedule::load_seconds(const WindowedSum& sum) const {
  return static_cast<double>(weights_bytes(sum)) * kSecondsPerWeightByte;
}

std::string WinogradName::ToString() const {
  return StrCat(kPrefix, outputs, "/", threads);
}

std::optional<WinogradName> WinogradName::Parse(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto outputs = ParseInt64(name.substr(0, slash));
  const auto threads = ParseInt64(name.substr(slash + 1));
  if (!outputs || (*outputs != 2 && *outputs != 4) || !threads ||
      *threads < 1 || *threads > std::numeric_limits<int>::max()) {
    return std::nullopt;
  }
  return WinogradName{static_cast<int>(*outputs), static_cast<int>(*threads)};
}

WinogradSchedule MakeWinogradSchedule(const WindowedSum& sum,
                                      const WinogradName& name, Isa isa) {
  const auto transform_of = [&](int64_t window) {
    return window == 1 ? WindowOfOne() : WindowOfThree(name.outputs);
  };
  WinogradSchedule s;
  s.threads = name.threads;
  s.lines = transform_of(sum.line_window);
  s.columns = transform_of(sum.column_window);
  s.lanes = VectorBits(isa) / 32;
  s.tile_lines = CeilDiv<int64_t>(sum.result_height, s.lines.outputs);
  s.tile_columns = CeilDiv<int64_t>(sum.result_width, s.columns.outputs);
  if (s.by_lines()) s.tile_columns = RoundUp<int64_t>(s.tile_columns, s.lanes);
  s.vectors =
      CeilDiv<int64_t>(sum.images() * s.tile_lines * s.tile_columns, s.lanes);
  ChooseSums(sum, &s);
  std::vector<int64_t> spans = {1};
  for (int64_t vectors = 1; vectors <= kMostSpanVectors; ++vectors) {
    spans.push_back(RoundUp<int64_t>(CeilDiv<int64_t>(s.vectors, vectors), 2));
  }
  std::optional<WinogradSchedule> best;
  for (const int64_t n : spans) {
    if (n > s.vectors) continue;
    for (const int64_t splits : {1, 2, 4, 8}) {
      if (splits > 1 && sum.rows / splits < kLeastSplitRows) continue;
      WinogradSchedule cut = s;
      Cut(sum, isa, n, splits, &cut);
      if (!best || cut.cycles() < best->cycles()) {
        best = cut;
      }
    }
  }
  return *best;
}

}  // namespace encore::backends::cpu
