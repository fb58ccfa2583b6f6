#include "encore/tools/run/answers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::tools {
namespace {

// A matrix of one of the models' outputs, as doubles.
struct Matrix {
  explicit Matrix(const Literal& literal)
      : rows(literal.dims()[literal.rank() - 2]),
        columns(literal.dims()[literal.rank() - 1]),
        values(static_cast<size_t>(rows * columns)) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = literal.AsDouble(static_cast<int64_t>(i));
    }
  }
  double& at(int64_t row, int64_t column) {
    return values[static_cast<size_t>(row * columns + column)];
  }

  int64_t rows, columns;
  std::vector<double> values;
};

// What is connected with the pixel `start` and above `threshold`; the pixels
// are set to 0 on the way.
Box TakeConnected(Matrix& map, std::pair<int64_t, int64_t> start,
                  double threshold) {
  Box box{start.second, start.first, start.second + 1, start.first + 1, 0};
  std::vector<std::pair<int64_t, int64_t>> left = {start};
  double sum = map.at(start.first, start.second);
  map.at(start.first, start.second) = 0;
  int64_t count = 0;
  while (!left.empty()) {
    const auto [row, column] = left.back();
    left.pop_back();
    ++count;
    box.left = std::min(box.left, column);
    box.top = std::min(box.top, row);
    box.right = std::max(box.right, column + 1);
    box.bottom = std::max(box.bottom, row + 1);
    for (int64_t y = std::max<int64_t>(row - 1, 0);
         y < std::min(row + 2, map.rows); ++y) {
      for (int64_t x = std::max<int64_t>(column - 1, 0);
           x < std::min(column + 2, map.columns); ++x) {
        if (!(map.at(y, x) > threshold)) continue;
        sum += map.at(y, x);
        map.at(y, x) = 0;
        left.emplace_back(y, x);
      }
    }
  }
  box.score = sum / static_cast<double>(count);
  return box;
}

// The frame after the last above the threshold of the note that begins at
// `begin`.
int64_t EndOfNote(Matrix& energy, int64_t begin, int64_t key) {
  constexpr double kThreshold = 0.3;
  constexpr int64_t kGap = 11;
  int64_t end = begin + 1, below = 0;
  for (; end < energy.rows - 1 && below < kGap; ++end) {
    below = energy.at(end, key) < kThreshold ? below + 1 : 0;
  }
  return end - below;
}

}  // namespace

std::vector<Guess> BestOfRows(const Literal& scores) {
  const int64_t width = scores.dims().back();
  ENCORE_CHECK(width > 0);
  std::vector<Guess> best(static_cast<size_t>(scores.element_count() / width));
  for (size_t row = 0; row < best.size(); ++row) {
    for (int64_t i = 0; i < width; ++i) {
      const double score =
          scores.AsDouble(static_cast<int64_t>(row) * width + i);
      if (i == 0 || score > best[row].score) best[row] = {i, score};
    }
  }
  return best;
}

Line DecodeCtc(std::span<const Guess> steps,
               std::span<const std::string> alphabet) {
  Line line;
  int64_t before = 0, characters = 0;
  for (const Guess& step : steps) {
    if (step.index != 0 && step.index != before) {
      const auto letter = static_cast<size_t>(step.index - 1);
      line.text += letter < alphabet.size() ? alphabet[letter] : "?";
      line.score += step.score;
      ++characters;
    }
    before = step.index;
  }
  if (characters > 0) line.score /= static_cast<double>(characters);
  return line;
}

std::vector<Box> TextBoxes(const Literal& map) {
  constexpr double kThreshold = 0.3, kMinScore = 0.5, kUnclip = 1.6;
  constexpr int64_t kMinSide = 3;
  Matrix left(map);
  std::vector<Box> boxes;
  for (int64_t row = 0; row < left.rows; ++row) {
    for (int64_t column = 0; column < left.columns; ++column) {
      if (!(left.at(row, column) > kThreshold)) continue;
      Box box = TakeConnected(left, {row, column}, kThreshold);
      const int64_t width = box.right - box.left, height = box.bottom - box.top;
      if (std::min(width, height) < kMinSide || box.score < kMinScore) continue;
      const auto margin = static_cast<int64_t>(
          std::lround(kUnclip * static_cast<double>(width * height) /
                      static_cast<double>(2 * (width + height))));
      box.left = std::max<int64_t>(box.left - margin, 0);
      box.top = std::max<int64_t>(box.top - margin, 0);
      box.right = std::min(box.right + margin, left.columns);
      box.bottom = std::min(box.bottom + margin, left.rows);
      boxes.push_back(box);
    }
  }
  return boxes;
}

std::vector<Note> Notes(const Literal& onsets, const Literal& frames) {
  constexpr double kOnset = 0.5;
  constexpr int64_t kMinLength = 11;
  constexpr int kLowestKey = 21;
  Matrix onset(onsets), level(frames), energy(frames);
  std::vector<Note> notes;
  // Later notes first: a note ends where the next of its key begins.
  for (int64_t begin = onset.rows - 2; begin > 0; --begin) {
    for (int64_t key = onset.columns - 1; key >= 0; --key) {
      const double peak = onset.at(begin, key);
      if (!(peak >= kOnset && peak > onset.at(begin - 1, key) &&
            peak > onset.at(begin + 1, key))) {
        continue;
      }
      const int64_t end = EndOfNote(energy, begin, key);
      if (end - begin <= kMinLength) continue;
      Note note{begin, end, kLowestKey + static_cast<int>(key), 0};
      for (int64_t i = begin; i < end; ++i) {
        note.level += level.at(i, key) / static_cast<double>(end - begin);
        for (int64_t k = std::max<int64_t>(key - 1, 0);
             k < std::min(key + 2, energy.columns); ++k) {
          energy.at(i, k) = 0;
        }
      }
      notes.push_back(note);
    }
  }
  std::reverse(notes.begin(), notes.end());
  return notes;
}

std::vector<Stretch> Speech(std::span<const double> scores) {
  constexpr double kBegin = 0.5, kEnd = 0.35;
  std::vector<Stretch> found;
  bool inside = false;
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto frame = static_cast<int64_t>(i);
    if (!inside && scores[i] >= kBegin) found.push_back({frame, frame, 0});
    inside = scores[i] >= (inside ? kEnd : kBegin);
    if (!inside) continue;
    found.back().end = frame + 1;
    found.back().score += scores[i];
  }
  for (Stretch& stretch : found) {
    stretch.score /= static_cast<double>(stretch.end - stretch.begin);
  }
  return found;
}

std::string NoteName(int midi) {
  constexpr const char* kNames[] = {"C",  "C#", "D",  "D#", "E",  "F",
                                    "F#", "G",  "G#", "A",  "A#", "B"};
  return StrCat(kNames[midi % 12], midi / 12 - 1);
}

}  // namespace encore::tools
