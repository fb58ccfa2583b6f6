// A number that is a whole text.
#ifndef ENCORE_IR_SUPPORT_PARSE_NUMBER_H_
#define ENCORE_IR_SUPPORT_PARSE_NUMBER_H_

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace encore {

// The number that `text` is, in the C locale's decimal form: nothing where
// anything else stands in it, white space and a leading + included, or where T
// cannot hold it. T is an integer or floating-point type; a float is rounded to
// the nearest.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_PARSE_NUMBER_H_
