#include "encore/tools/run/answers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace encore::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

TEST(AnswersTest, BestOfRowsTakesTheFirstOfEqualOnes) {
  const auto scores =
      Literal::FromValues<float>({1, 2, 3}, {0.5f, 0.25f, 0.5f, 0, -1, 2});
  EXPECT_THAT(BestOfRows(scores),
              ElementsAre(Field(&Guess::index, 0), Field(&Guess::index, 2)));
}

TEST(AnswersTest, CtcMergesRepeatsAndDropsBlanks) {
  const std::vector<std::string> alphabet = {"a", "ß"};
  const std::vector<Guess> steps = {{1, 0.5}, {1, 0.9}, {0, 1},
                                    {1, 1},   {2, 1},   {9, 0.5}};
  const Line line = DecodeCtc(steps, alphabet);
  EXPECT_EQ(line.text, "aaß?");
  EXPECT_DOUBLE_EQ(line.score, 0.75);
  EXPECT_EQ(DecodeCtc({}, alphabet).score, 0);
}

TEST(AnswersTest, BoxesAreGrownAndStayOnThePage) {
  Literal map(DType::kF32, {1, 1, 40, 60});
  const auto fill = [&](int64_t top, int64_t bottom, int64_t left,
                        int64_t right, double score) {
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) map.SetDouble(y * 60 + x, score);
    }
  };
  fill(1, 5, 1, 21, 0.9);     // a line at the page's corner
  fill(20, 24, 20, 40, 0.4);  // not sure enough
  fill(30, 32, 20, 40, 0.9);  // not high enough
  fill(34, 38, 2, 12, 0.8);
  fill(34, 38, 12, 22, 0.6);  // touches the one before
  const auto boxes = TextBoxes(map);
  ASSERT_EQ(boxes.size(), 2u);
  // 4 x 20 pixels: 1.6 * 80 / 48 is 2.67, rounded 3.
  EXPECT_EQ(boxes[0].left, 0);
  EXPECT_EQ(boxes[0].top, 0);
  EXPECT_EQ(boxes[0].right, 24);
  EXPECT_EQ(boxes[0].bottom, 8);
  EXPECT_NEAR(boxes[0].score, 0.9, 1e-6);
  EXPECT_EQ(boxes[1].left, 0);
  EXPECT_EQ(boxes[1].bottom, 40);
  EXPECT_NEAR(boxes[1].score, 0.7, 1e-6);
}

TEST(AnswersTest, SpeechBeginsLouderThanItEnds) {
  const std::vector<double> scores = {0.4, 0.5, 0.9, 0.4, 0.3, 0.45, 0.6};
  const std::vector<Stretch> found = Speech(scores);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].begin, 1);
  EXPECT_EQ(found[0].end, 4);
  EXPECT_NEAR(found[0].score, 0.6, 1e-12);
  EXPECT_EQ(found[1].begin, 6);
  EXPECT_EQ(found[1].end, 7);
  EXPECT_TRUE(Speech(std::span(scores).first(1)).empty());
}

TEST(AnswersTest, NotesEndWhereTheyFadeOrTheNextBegins) {
  Literal onsets(DType::kF32, {1, 100, 88}), frames(DType::kF32, {1, 100, 88});
  const auto play = [&](int64_t begin, int64_t end, int64_t key) {
    onsets.SetDouble(begin * 88 + key, 0.9);
    for (int64_t i = begin; i < end; ++i) frames.SetDouble(i * 88 + key, 0.5);
  };
  play(10, 40, 39);
  play(40, 60, 39);
  play(20, 30, 50);  // too short
  play(70, 90, 0);
  const auto notes = Notes(onsets, frames);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes[0].begin, 10);
  EXPECT_EQ(notes[0].end, 40);
  EXPECT_EQ(notes[0].midi, 60);
  EXPECT_NEAR(notes[0].level, 0.5, 1e-6);
  EXPECT_EQ(notes[1].begin, 40);
  EXPECT_EQ(notes[1].end, 60);
  EXPECT_EQ(notes[2].midi, 21);
}

TEST(AnswersTest, NotesHaveNames) {
  EXPECT_EQ(NoteName(60), "C4");
  EXPECT_EQ(NoteName(69), "A4");
  EXPECT_EQ(NoteName(22), "A#0");
}

}  // namespace
}  // namespace encore::tools
