#include "encore/backends/cpu/winograd/windowed_sum.h"

#include <algorithm>
#include <utility>

namespace encore::backends::cpu {
namespace {

constexpr int64_t kWindow = 3;

class WindowMatcher {
 public:
  explicit WindowMatcher(const SumRegion& sum)
      : sum_(sum),
        source_(sum.FlatLoad(sum.lhs())),
        weights_(sum.FlatLoad(sum.rhs())) {
    found_.source = sum.Load(sum.lhs()).number;
    found_.weights = sum.Load(sum.rhs()).number;
  }

  bool Match();
  WindowedSum Take() { return std::move(found_); }

 private:
  // A dim with a window: the variable of the result, and that of the taps.
  struct Dim {
    uint32_t result = 0, tap = 0;
    int64_t padding = 0, extent = 0;  // of the source
  };
  // What the source holds where an index is beyond it is 0.
  bool FillsWithZero() const;
  // Windows, and at most one more variable that is summed over.
  bool MatchReduced();
  // What runs along the result beside windows: one variable of rows, batches.
  bool MatchOuter();
  // What is checked is the dims with windows, each by itself.
  bool MatchChecks();
  // Sets all of lines and columns.
  bool PlaceWindows();
  void PlaceLines(const Dim& dim);
  void PlaceColumns(const Dim& dim);
  // Columns where they have no window.
  bool BatchToColumns();
  bool HasWindow(uint32_t variable) const {
    return std::ranges::any_of(
        windows_, [&](const Dim& dim) { return dim.result == variable; });
  }

  const SumRegion& sum_;
  const FlatAccess& source_;
  const FlatAccess& weights_;
  std::vector<Dim> windows_;
  WindowedSum found_;
};

bool WindowMatcher::FillsWithZero() const {
  const ExprId fill = sum_.Load(sum_.lhs()).fill;
  if (!fill.valid()) return true;
  const Expr& value = sum_.region().expr(fill);
  return value.kind == Expr::Kind::kConstant && value.bits == 0;
}

bool WindowMatcher::MatchReduced() {
  bool channels = false;
  for (const uint32_t tap : sum_.flat().reduced[0]) {
    const Size step = source_.address.Coefficient(tap);
    const auto is_result = [&](uint32_t v) {
      return source_.address.Coefficient(v) == step &&
             weights_.address.Coefficient(v) == 0 && !HasWindow(v);
    };
    const auto at = std::ranges::find_if(sum_.flat().outer, is_result);
    if (sum_.flat().extents[tap] == kWindow && !(step == 0) &&
        at != sum_.flat().outer.end()) {
      windows_.push_back({.result = *at,
                          .tap = tap,
                          .padding = 0,
                          .extent = sum_.flat().extents[*at] + kWindow - 1});
      continue;
    }
    if (channels) return false;
    channels = true;
    found_.channels = sum_.flat().extents[tap];
    found_.channel_stride = step;
    found_.weights_channel = weights_.address.Coefficient(tap);
  }
  return windows_.size() == 1 || windows_.size() == 2;
}

bool WindowMatcher::MatchOuter() {
  for (const uint32_t v : sum_.flat().outer) {
    if (HasWindow(v)) continue;
    const Size step = source_.address.Coefficient(v);
    const Size row = weights_.address.Coefficient(v);
    if ((step == 0) == (row == 0)) return false;
    if (row == 0) {
      found_.batches.push_back(
          {static_cast<int>(v), sum_.flat().extents[v], step});
      continue;
    }
    if (found_.row_variable >= 0) return false;
    found_.row_variable = static_cast<int>(v);
    found_.rows = sum_.flat().extents[v];
    found_.weights_row = row;
  }
  return found_.row_variable >= 0;
}

bool WindowMatcher::MatchChecks() {
  for (const DynamicIndex& index : source_.dynamic) {
    if (!index.checked || index.indirect.valid() || index.divisor != 1 ||
        index.block != 1 || !(index.stride == 0)) {
      return false;
    }
    const auto at = std::ranges::find_if(windows_, [&](const Dim& dim) {
      return index.index.terms.size() == 2 &&
             index.index.Coefficient(dim.result) == 1 &&
             index.index.Coefficient(dim.tap) == 1;
    });
    if (at == windows_.end()) return false;
    at->padding = -int64_t{index.index.offset};
    at->extent = index.extent;
    if (at->padding < 0 || at->padding >= kWindow) return false;
  }
  return true;
}

void WindowMatcher::PlaceLines(const Dim& dim) {
  found_.line_variable = static_cast<int>(dim.result);
  found_.line_window = kWindow;
  found_.result_height = sum_.flat().extents[dim.result];
  found_.height = dim.extent;
  found_.top = dim.padding;
  found_.line_stride = source_.address.Coefficient(dim.result);
  found_.weights_line = weights_.address.Coefficient(dim.tap);
}

void WindowMatcher::PlaceColumns(const Dim& dim) {
  found_.column_variable = static_cast<int>(dim.result);
  found_.column_window = kWindow;
  found_.result_width = sum_.flat().extents[dim.result];
  found_.width = dim.extent;
  found_.left = dim.padding;
  found_.weights_column = weights_.address.Coefficient(dim.tap);
}

bool WindowMatcher::BatchToColumns() {
  const auto at =
      std::ranges::find(found_.batches, 1, &WindowedSum::Batch::stride);
  if (at == found_.batches.end()) return false;
  found_.column_variable = at->variable;
  found_.result_width = found_.width = at->extent;
  found_.batches.erase(at);
  return true;
}

bool WindowMatcher::PlaceWindows() {
  for (const Dim& dim : windows_) {
    if (source_.address.Coefficient(dim.result) == 1) {
      // An image of one column has lines one element apart as well.
      if (found_.column_variable >= 0) return false;
      PlaceColumns(dim);
    } else if (found_.line_variable < 0) {
      PlaceLines(dim);
    } else {
      return false;
    }
  }
  if (found_.column_variable < 0 && !BatchToColumns()) return false;
  found_.source_offset =
      source_.address.offset + found_.top * found_.line_stride + found_.left;
  found_.weights_offset = weights_.address.offset;
  return true;
}

bool WindowMatcher::Match() {
  const auto is_plain = [](const FlatAccess& access) {
    return access.repeats.empty() && access.panel == FlatAccess::kNoPanel;
  };
  return FillsWithZero() && is_plain(source_) && is_plain(weights_) &&
         weights_.dynamic.empty() && MatchReduced() && MatchOuter() &&
         MatchChecks() && PlaceWindows();
}

}  // namespace

int64_t WindowedSum::images() const {
  int64_t images = 1;
  for (const Batch& batch : batches) images *= batch.extent;
  return images;
}

std::optional<WindowedSum> FindWindowedSum(const SumRegion& sum,
                                           const std::vector<bool>& weights) {
  if (!weights[sum.Load(sum.rhs()).number]) return std::nullopt;
  WindowMatcher matcher(sum);
  if (!matcher.Match()) return std::nullopt;
  return matcher.Take();
}

}  // namespace encore::backends::cpu
