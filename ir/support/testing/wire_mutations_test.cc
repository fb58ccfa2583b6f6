#include "encore/ir/support/testing/wire_mutations.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace encore {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

constexpr size_t kMostBytes = 4096;

std::string Serialized(const UnknownFieldSet& fields) {
  std::string bytes;
  EXPECT_TRUE(fields.SerializeToString(&bytes));
  return bytes;
}

// A message in a message in a message, with a field of each type.
std::string Sample() {
  UnknownFieldSet innermost, middle, message;
  innermost.AddVarint(5, 77);
  innermost.AddFixed64(6, 2);
  middle.AddLengthDelimited(2, "name");
  middle.AddFixed32(3, 1);
  middle.AddLengthDelimited(4, Serialized(innermost));
  message.AddVarint(1, 300);
  message.AddLengthDelimited(7, Serialized(middle));
  return Serialized(message);
}

bool IsWhole(const std::string& message) {
  return UnknownFieldSet().ParseFromString(message);
}

// The payloads of the fields of a number, in messages of such.
std::vector<std::string> Inside(const std::vector<std::string>& messages,
                                int number) {
  std::vector<std::string> payloads;
  for (const std::string& message : messages) {
    UnknownFieldSet fields;
    if (!fields.ParseFromString(message)) continue;
    for (int i = 0; i < fields.field_count(); ++i) {
      const UnknownField& field = fields.field(i);
      if (field.number() == number &&
          field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
        payloads.push_back(field.length_delimited());
      }
    }
  }
  return payloads;
}

std::vector<std::string> Mutants(size_t max_size, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::string> mutants;
  for (int i = 0; i < 5000; ++i) {
    mutants.push_back(MutateMessage(Sample(), max_size, random));
  }
  return mutants;
}

TEST(WireMutations, AreTheSameForTheSameSeed) {
  EXPECT_EQ(Mutants(kMostBytes), Mutants(kMostBytes));
  EXPECT_NE(Mutants(kMostBytes), Mutants(kMostBytes, 2));
}

TEST(WireMutations, KeepFieldsWhole) {
  std::mt19937 random(1);
  for (int chain = 0; chain < 200; ++chain) {
    std::string message = Sample();
    for (int i = 0; i < 20; ++i) {
      message = random() % 4 == 0
                    ? CrossMessages(message, Sample(), kMostBytes, random)
                    : MutateMessage(message, kMostBytes, random);
      if (message.empty()) break;
      ASSERT_TRUE(IsWhole(message)) << "chain " << chain << ", mutant " << i;
    }
  }
}

TEST(WireMutations, KeepToTheSize) {
  for (const size_t most : {size_t{0}, size_t{10}, kMostBytes}) {
    for (const std::string& mutant : Mutants(most)) {
      EXPECT_LE(mutant.size(), most);
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(MutateMessage("no message", 12, random).size(), 12u);
    EXPECT_LE(CrossMessages(Sample(), Sample(), 12, random).size(), 12u);
  }
}

TEST(WireMutations, ReachTheInnermostMessage) {
  // A field of the innermost message, with the outer ones as they were.
  const auto innermost = Inside(Inside(Mutants(kMostBytes), 7), 4);
  const auto original = Inside(Inside({Sample()}, 7), 4);
  ASSERT_EQ(original.size(), 1u);
  int changed = 0;
  for (const std::string& message : innermost) {
    UnknownFieldSet fields;
    if (message != original[0] && fields.ParseFromString(message)) ++changed;
  }
  EXPECT_GT(changed, 500);
}

TEST(WireMutations, NestDeeply) {
  size_t depth = 0;
  std::vector<std::string> level = Mutants(kMostBytes);
  for (; !level.empty() && depth < 50; ++depth) level = Inside(level, 7);
  EXPECT_EQ(depth, 50u);
}

}  // namespace
}  // namespace encore
