// Text helpers on std:: string types: concatenation, joining, splitting,
// numbers.
//
// Numbers print so that they read back to the same value: integers in decimal,
// floats in the shortest form that round-trips. No function depends on the
// locale.
#ifndef ENCORE_IR_SUPPORT_STRINGS_H_
#define ENCORE_IR_SUPPORT_STRINGS_H_

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace encore {

inline void AppendPiece(std::string* out, std::string_view piece) {
  out->append(piece);
}
inline void AppendPiece(std::string* out, char piece) { out->push_back(piece); }
// A template, so that a string literal does not decay to bool.
template <std::same_as<bool> T>
void AppendPiece(std::string* out, T piece) {
  out->append(piece ? "true" : "false");
}
template <typename T>
  requires((std::integral<T> || std::floating_point<T>) &&
           !std::same_as<T, bool>)
void AppendPiece(std::string* out, T piece) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), piece).ptr;
  out->append(buffer, end);
}
template <typename T>
  requires(requires(const T& t) { t.ToString(); })
void AppendPiece(std::string* out, const T& piece) {
  out->append(piece.ToString());
}

// The pieces one after another: strings, characters, numbers, booleans, and
// what has a ToString().
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (AppendPiece(&out, pieces), ...);
  return out;
}

template <typename... Pieces>
void StrAppend(std::string* out, const Pieces&... pieces) {
  (AppendPiece(out, pieces), ...);
}

// "a, b, c" for any range of pieces.
template <typename Range>
std::string StrJoin(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& piece : range) {
    if (!first) out.append(separator);
    first = false;
    AppendPiece(&out, piece);
  }
  return out;
}

// As above; `append(&out, piece)` writes each piece.
template <typename Range, typename Append>
std::string StrJoin(const Range& range, std::string_view separator,
                    Append append) {
  std::string out;
  bool first = true;
  for (const auto& piece : range) {
    if (!first) out.append(separator);
    first = false;
    append(&out, piece);
  }
  return out;
}

// The parts of `text` between separators; empty parts are kept, views into
// `text`.
std::vector<std::string_view> StrSplit(std::string_view text, char separator);

std::string_view StripWhitespace(std::string_view text);

// The whole of `text` as a number of base 10, or nothing.
std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<double> ParseDouble(std::string_view text);

// `text` in double quotes with ", \ and bytes outside printable ASCII escaped
// as in C
// (\n, \t, \xNN).
std::string Quote(std::string_view text);

// The inverse of Quote, quotes included; nothing where `text` is not of that
// form.
std::optional<std::string> Unquote(std::string_view text);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_STRINGS_H_
