// What the outputs of the example models mean: from scores to a file type, a
// line of text, boxes of text, notes.
//
// Pure functions over tensors; scores lie between 0 and 1.
#ifndef ENCORE_TOOLS_RUN_ANSWERS_H_
#define ENCORE_TOOLS_RUN_ANSWERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/types/literal.h"

namespace encore::tools {

struct Guess {
  int64_t index = 0;
  double score = 0;
};

// The largest element of each row, a row being all elements along the last
// axis; the first of several. REQUIRES a last axis that is not empty.
std::vector<Guess> BestOfRows(const Literal& scores);

struct Line {
  std::string text;
  double score = 0;  // mean over its characters; 0 for an empty line
};
// Connectionist temporal classification, greedy: of successive equal indices
// one counts, index 0 is blank, index i is alphabet[i - 1]. Indices past the
// alphabet's end give "?".
Line DecodeCtc(std::span<const Guess> steps,
               std::span<const std::string> alphabet);

struct Box {
  int64_t left = 0, top = 0, right = 0, bottom = 0;  // pixels, ends excluded
  double score = 0;
};
// Upright boxes around the connected pixels (eight neighbours) of a map
// [1, 1, height, width] above 0.3 whose mean score is at least 0.5, from top to
// bottom. The model shrinks text by its area / perimeter * 1.6, which is added
// again.
// Source: Liao et al., Real-time Scene Text Detection with Differentiable
// Binarization, https://arxiv.org/abs/1911.08947.
std::vector<Box> TextBoxes(const Literal& map);

struct Note {
  int64_t begin = 0, end = 0;  // frames, end excluded
  int midi = 0;
  double level = 0;
};
// Notes of [1, frames, 88 keys from midi number 21 on], in the order of their
// begin: where an onset has a local maximum in time of at least 0.5, as long as
// the frames stay above 0.3 with gaps below 11 frames, if that is more than 11
// frames. A note takes its frames, and its neighbours', from earlier ones.
// Source: Bittner et al., A Lightweight Instrument-Agnostic Model for
// Polyphonic Note Transcription, https://arxiv.org/abs/2203.09893.
// REQUIRES equal shapes of rank 3 with 1 first.
std::vector<Note> Notes(const Literal& onsets, const Literal& frames);

struct Stretch {
  int64_t begin = 0, end = 0;  // frames, end excluded
  double score = 0;            // the mean of its frames'
};
// Where there is speech, from the score of each frame: from the first of at
// least 0.5 to before the first of the frames below 0.35 that follow.
std::vector<Stretch> Speech(std::span<const double> scores);

// "C4" for 60.
std::string NoteName(int midi);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_RUN_ANSWERS_H_
