#include "encore/ir/support/testing/text_mutations.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/testing/byte_mutations.h"

namespace encore {
namespace {

enum class Kind : uint8_t { kWord, kNumber, kString, kMark };

struct Range {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

struct Token : Range {
  Kind kind;
};

enum class Unit : uint8_t { kToken, kTokens, kLine, kGroup };

constexpr std::string_view kOpening = "([{<", kClosing = ")]}>";

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Where the token at `at` ends.
size_t EndOfToken(std::string_view text, size_t at) {
  const char first = text[at];
  size_t end = at + 1;
  if (first == '"') {
    while (end < text.size() && text[end] != '"' && text[end] != '\n') {
      end += text[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, text.size());
  }
  if (!IsWordPart(first)) return end;
  const bool number = IsDigit(first);
  while (end < text.size() &&
         (IsWordPart(text[end]) || (number && text[end] == '.'))) {
    ++end;
  }
  return end;
}

std::vector<Token> TokensOf(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    if (IsSpace(text[at])) {
      ++at;
      continue;
    }
    const char c = text[at];
    const Kind kind = c == '"'        ? Kind::kString
                      : IsDigit(c)    ? Kind::kNumber
                      : IsWordPart(c) ? Kind::kWord
                                      : Kind::kMark;
    tokens.push_back({{at, EndOfToken(text, at)}, kind});
    at = tokens.back().end;
  }
  return tokens;
}

Range LineAt(std::string_view text, size_t at) {
  const size_t before =
      at == 0 ? std::string_view::npos : text.substr(0, at).rfind('\n');
  const size_t after = text.find('\n', at);
  return {before == std::string_view::npos ? 0 : before + 1,
          after == std::string_view::npos ? text.size() : after + 1};
}

// From an opening bracket to the one that closes it; the token alone where it
// opens nothing.
Range GroupAt(std::string_view text, const std::vector<Token>& tokens,
              size_t opening) {
  size_t depth = 0;
  for (size_t i = opening; i < tokens.size(); ++i) {
    const char c = text[tokens[i].begin];
    if (kOpening.find(c) != std::string_view::npos) ++depth;
    if (kClosing.find(c) != std::string_view::npos && depth > 0) --depth;
    if (depth == 0) return {tokens[opening].begin, tokens[i].end};
  }
  return tokens[opening];
}

// REQUIRES: there is a token.
Range PickGroup(std::string_view text, const std::vector<Token>& tokens,
                std::mt19937& random) {
  const size_t start = random() % tokens.size();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t at = (start + i) % tokens.size();
    if (kOpening.find(text[tokens[at].begin]) != std::string_view::npos) {
      return GroupAt(text, tokens, at);
    }
  }
  return tokens[start];
}

// REQUIRES: there is a token.
Range Pick(std::string_view text, const std::vector<Token>& tokens, Unit unit,
           std::mt19937& random) {
  const size_t at = random() % tokens.size();
  switch (unit) {
    case Unit::kToken:
      return GroupAt(text, tokens, at);
    case Unit::kTokens: {
      const size_t last = std::min(at + random() % 6, tokens.size() - 1);
      return {tokens[at].begin, tokens[last].end};
    }
    case Unit::kLine:
      return LineAt(text, tokens[at].begin);
    case Unit::kGroup:
      return PickGroup(text, tokens, random);
  }
  return tokens[at];
}

Unit PickUnit(std::mt19937& random) { return static_cast<Unit>(random() % 4); }

// A token of the same kind as one of `tokens` that is `like`, mostly.
Range PickLike(std::string_view text, const std::vector<Token>& tokens,
               Unit unit, const Range& like, std::mt19937& random) {
  if (unit != Unit::kToken || random() % 4 == 0) {
    return Pick(text, tokens, unit, random);
  }
  const auto same = std::ranges::find(tokens, like.begin, &Token::begin);
  const size_t start = random() % tokens.size();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[(start + i) % tokens.size()];
    if (same == tokens.end() || token.kind == same->kind) return token;
  }
  return tokens[start];
}

std::string_view Part(std::string_view text, const Range& range) {
  return text.substr(range.begin, range.size());
}

// `text` with `piece` in the place of `range`; words do not grow together.
std::string Replaced(std::string_view text, const Range& range,
                     std::string_view piece) {
  std::string made(text.substr(0, range.begin));
  for (const std::string_view part : {piece, text.substr(range.end)}) {
    if (!made.empty() && !part.empty() && IsWordPart(made.back()) &&
        IsWordPart(part.front())) {
      made += ' ';
    }
    made += part;
  }
  return made;
}

std::string Swapped(std::string_view text, Range a, Range b) {
  if (a.begin > b.begin) std::swap(a, b);
  if (a.end > b.begin) return std::string(text);
  std::string made(text.substr(0, a.begin));
  made += Part(text, b);
  made += text.substr(a.end, b.begin - a.end);
  made += Part(text, a);
  made += text.substr(b.end);
  return made;
}

std::string BoundaryNumber(uint64_t value, std::mt19937& random) {
  constexpr auto kNumbers =
      std::to_array<std::string_view>({"0",
                                       "1",
                                       "-1",
                                       "2",
                                       "3",
                                       "16",
                                       "64",
                                       "127",
                                       "128",
                                       "-128",
                                       "255",
                                       "256",
                                       "65535",
                                       "65536",
                                       "1048577",
                                       "2147483647",
                                       "-2147483648",
                                       "2147483648",
                                       "4294967295",
                                       "4294967296",
                                       "4611686018427387904",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "9223372036854775808",
                                       "-9223372036854775809",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "99999999999999999999999999",
                                       "-0",
                                       "-0.0",
                                       "0.5",
                                       "1e38",
                                       "1e-50",
                                       "1e308",
                                       "1e999",
                                       "-1e999",
                                       "inf",
                                       "-inf",
                                       "nan",
                                       "0x7fffffff",
                                       "0xffffffffffffffff",
                                       "0f7F800000",
                                       "0d7FF8000000000000",
                                       "00",
                                       "1."});
  if (random() % 2 == 0)
    return std::string(kNumbers[random() % kNumbers.size()]);
  const uint64_t number = HostileInteger(value, random);
  return random() % 4 == 0 ? std::to_string(static_cast<int64_t>(number))
                           : std::to_string(number);
}

// Another number in the place of digits, which may end a name.
std::string NumberReplaced(const std::string& text, std::mt19937& random) {
  std::vector<Range> numbers;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsDigit(text[i])) continue;
    if (i == 0 || !IsDigit(text[i - 1])) numbers.push_back({i, i});
    numbers.back().end = i + 1;
  }
  if (numbers.empty()) return text + BoundaryNumber(0, random);
  Range range = numbers[random() % numbers.size()];
  uint64_t value = 0;
  for (const char digit : Part(text, range)) {
    value = value * 10 + static_cast<uint64_t>(digit - '0');
  }
  if (range.begin > 0 && text[range.begin - 1] == '-') --range.begin;
  std::string made = text.substr(0, range.begin);
  made += BoundaryNumber(value, random);
  made += text.substr(range.end);
  return made;
}

// What is between brackets, with itself in the place of a part, and so on.
std::string Nested(const std::string& text, const std::vector<Token>& tokens,
                   size_t max_size, std::mt19937& random) {
  const Range group = PickGroup(text, tokens, random);
  const auto first =
      std::ranges::upper_bound(tokens, group.begin, {}, &Token::begin);
  const auto last =
      std::ranges::lower_bound(tokens, group.end, {}, &Token::end);
  if (first >= last) return text;
  const Token inner =
      first[random() % static_cast<size_t>(std::distance(first, last))];
  const std::string head = text.substr(group.begin, inner.begin - group.begin);
  const std::string tail = text.substr(inner.end, group.end - inner.end);
  const size_t room = max_size - std::min(max_size, text.size());
  const size_t times = std::min<size_t>(size_t{1} << random() % 13,
                                        room / (head.size() + tail.size()));
  std::string made = text.substr(0, inner.begin);
  for (size_t i = 0; i < times; ++i) made += head;
  made += Part(text, inner);
  for (size_t i = 0; i < times; ++i) made += tail;
  return made + text.substr(inner.end);
}

}  // namespace

std::string MutateText(std::string text, size_t max_size,
                       std::mt19937& random) {
  const std::vector<Token> tokens = TokensOf(text);
  if (tokens.empty() || text.find('\0') != std::string::npos) {
    MutateBytes(&text, max_size, random);
    return text;
  }
  const Unit unit = PickUnit(random);
  const Range range = Pick(text, tokens, unit, random);
  const Range other = PickLike(text, tokens, unit, range, random);
  switch (random() % 10) {
    case 0:
      text = Replaced(text, range, "");
      break;
    case 1:
      text = Replaced(text, {range.end, range.end},
                      std::string(Part(text, range)));
      break;
    case 2:
      text = Replaced(text, {other.begin, other.begin},
                      std::string(Part(text, range)));
      break;
    case 3:
      text = Swapped(text, range, other);
      break;
    case 4:
    case 5:
    case 6:
      text = Replaced(text, range, std::string(Part(text, other)));
      break;
    case 7:
    case 8:
      text = NumberReplaced(text, random);
      break;
    default:
      text = Nested(text, tokens, max_size, random);
  }
  if (text.size() > max_size) text.resize(max_size);
  return text;
}

std::string CrossTexts(const std::string& a, const std::string& b,
                       size_t max_size, std::mt19937& random) {
  const std::vector<Token> of_a = TokensOf(a), of_b = TokensOf(b);
  if (of_a.empty() || of_b.empty()) return CrossBytes(a, b, max_size, random);
  const Unit unit = PickUnit(random);
  const Range at = Pick(a, of_a, unit, random);
  const Range from = Pick(b, of_b, unit, random);
  std::string both;
  switch (random() % 3) {
    case 0:
      both = a.substr(0, at.begin) + b.substr(from.begin);
      break;
    case 1:
      both = Replaced(a, {at.end, at.end}, Part(b, from));
      break;
    default:
      both = Replaced(a, at, Part(b, from));
  }
  if (both.size() > max_size) both.resize(max_size);
  return both;
}

}  // namespace encore
