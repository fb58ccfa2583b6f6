#include "encore/ir/support/strings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "encore/ir/host/families.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "re2/re2.h"

namespace encore::host {
namespace {

using Strings = std::vector<std::string>;

Literals One(Literal literal) {
  Literals results;
  results.push_back(std::move(literal));
  return results;
}

StatusOr<Literals> Take(const HostContext& context) {
  // The end of each operand's numbers.
  std::vector<int64_t> ends;
  for (size_t k = 1; k < context.operands.size(); ++k) {
    ends.push_back((ends.empty() ? 0 : ends.back()) +
                   context.operand(k).element_count());
  }
  const Literal& indices = context.operand(0);
  Strings taken;
  taken.reserve(indices.element_count());
  for (int64_t i = 0; i < indices.element_count(); ++i) {
    const int64_t index = indices.AsInt(i);
    if (index < 0 || ends.empty() || index >= ends.back()) {
      return context.Error("number ", index, " of ",
                           ends.empty() ? 0 : ends.back(), " strings");
    }
    const auto end = std::upper_bound(ends.begin(), ends.end(), index);
    const int64_t k = end - ends.begin();
    taken.push_back(
        context.operand(k + 1).strings()[index - (k > 0 ? ends[k - 1] : 0)]);
  }
  return One(Literal::Strings(indices.dims(), std::move(taken)));
}

StatusOr<Literals> Binary(const HostContext& context) {
  const Strings& a = context.operand(0).strings();
  const Strings& b = context.operand(1).strings();
  const std::vector<int64_t>& dims = context.operand(0).dims();
  if (context.op == Op::kStringEqual) {
    Literal equal(DType::kBool, dims);
    for (size_t i = 0; i < a.size(); ++i) {
      equal.SetInt(static_cast<int64_t>(i), a[i] == b[i]);
    }
    return One(std::move(equal));
  }
  Strings joined;
  joined.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) joined.push_back(a[i] + b[i]);
  return One(Literal::Strings(dims, std::move(joined)));
}

// As ONNX's casts write numbers: "NaN", "INF", "-INF", "1e-05", "0.25", "1".
template <typename Float>
std::string FloatText(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

std::string NumberText(const Literal& numbers, int64_t i) {
  switch (numbers.dtype()) {
    case DType::kBool:
      return numbers.AsInt(i) != 0 ? "1" : "0";
    case DType::kU64:
      return StrCat(static_cast<uint64_t>(numbers.AsInt(i)));
    case DType::kF64:
      return FloatText(numbers.AsDouble(i));
    default:
      return IsFloat(numbers.dtype())
                 ? FloatText(static_cast<float>(numbers.AsDouble(i)))
                 : StrCat(numbers.AsInt(i));
  }
}

Literals Format(const HostContext& context) {
  const Literal& numbers = context.operand(0);
  Strings texts;
  texts.reserve(numbers.element_count());
  for (int64_t i = 0; i < numbers.element_count(); ++i) {
    texts.push_back(NumberText(numbers, i));
  }
  return One(Literal::Strings(numbers.dims(), std::move(texts)));
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }
char Upper(char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; }

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), Lower);
  return lowered;
}

// A decimal with the whole text, or inf or nan in any case.
std::optional<double> ParseFloat(std::string_view text) {
  const bool plus = text.starts_with('+');
  const std::string lowered = Lowered(plus ? text.substr(1) : text);
  if (plus && lowered.starts_with('-')) return std::nullopt;
  double value = 0;
  const char* end = lowered.data() + lowered.size();
  const auto parsed = std::from_chars(lowered.data(), end, value);
  if (parsed.ptr != end || lowered.empty()) return std::nullopt;
  if (parsed.ec == std::errc()) return value;
  if (parsed.ec != std::errc::result_out_of_range) return std::nullopt;
  // What is too large is an infinity, what is too small is 0.
  const double magnitude =
      lowered.find("e-") != std::string::npos ? 0.0 : HUGE_VAL;
  return lowered.starts_with('-') ? -magnitude : magnitude;
}

template <typename Int>
std::optional<Int> ParseInteger(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Int value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

bool SetNumber(std::string_view text, int64_t i, Literal* numbers) {
  if (numbers->dtype() == DType::kU64) {
    const auto value = ParseInteger<uint64_t>(text);
    if (value) numbers->SetInt(i, static_cast<int64_t>(*value));
    return value.has_value();
  }
  if (!IsFloat(numbers->dtype()) && numbers->dtype() != DType::kBool) {
    if (const auto value = ParseInteger<int64_t>(text)) {
      numbers->SetInt(i, *value);
      return true;
    }
  }
  const auto value = ParseFloat(text);
  if (value) numbers->SetDouble(i, *value);
  return value.has_value();
}

StatusOr<Literals> Parse(const HostContext& context) {
  const Literal& texts = context.operand(0);
  Literal numbers(context.attrs<ElementTypeAttrs>().dtype, texts.dims());
  for (int64_t i = 0; i < texts.element_count(); ++i) {
    if (!SetNumber(texts.strings()[i], i, &numbers)) {
      return context.Error("element ", i, " is ", Quote(texts.strings()[i]),
                           ", expected a number");
    }
  }
  return One(std::move(numbers));
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The pieces between runs of white space; after `most` splits the rest is one.
Strings SplitAtSpace(std::string_view text, int64_t most) {
  Strings pieces;
  size_t at = 0;
  while (true) {
    while (at < text.size() && IsSpace(text[at])) ++at;
    if (at == text.size()) return pieces;
    size_t end = at;
    if (static_cast<int64_t>(pieces.size()) == most) {
      end = text.size();
    } else {
      while (end < text.size() && !IsSpace(text[end])) ++end;
    }
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
}

Strings SplitAt(std::string_view text, std::string_view delimiter,
                int64_t most) {
  Strings pieces;
  while (static_cast<int64_t>(pieces.size()) != most) {
    const size_t found = text.find(delimiter);
    if (found == std::string_view::npos) break;
    pieces.emplace_back(text.substr(0, found));
    text.remove_prefix(found + delimiter.size());
  }
  pieces.emplace_back(text);
  return pieces;
}

StatusOr<Literals> Split(const HostContext& context) {
  const auto& attrs = context.attrs<StringSplitAttrs>();
  const Literal& texts = context.operand(0);
  std::vector<Strings> lists;
  size_t most = 0;
  Literal counts(DType::kI64, texts.dims());
  for (int64_t i = 0; i < texts.element_count(); ++i) {
    const std::string& text = texts.strings()[i];
    lists.push_back(attrs.delimiter.empty()
                        ? SplitAtSpace(text, attrs.max_split)
                        : SplitAt(text, attrs.delimiter, attrs.max_split));
    most = std::max(most, lists.back().size());
    counts.SetInt(i, static_cast<int64_t>(lists.back().size()));
  }
  // One long list among many short ones would be mostly padding.
  if (most > 0 && lists.size() > (size_t{1} << 30) / most) {
    return ResourceExhaustedError(
        StrCat(context.op, ": ", lists.size(), " lists of ", most, " pieces"));
  }
  Strings pieces;
  pieces.reserve(lists.size() * most);
  for (Strings& list : lists) {
    list.resize(most);
    std::move(list.begin(), list.end(), std::back_inserter(pieces));
  }
  std::vector<int64_t> dims = texts.dims();
  dims.push_back(static_cast<int64_t>(most));
  Literals results = One(Literal::Strings(std::move(dims), std::move(pieces)));
  results.push_back(std::move(counts));
  return results;
}

StatusOr<Literals> Normalize(const HostContext& context) {
  const auto& attrs = context.attrs<StringNormalizeAttrs>();
  const auto form = [&](const std::string& text) {
    return attrs.case_sensitive ? text : Lowered(text);
  };
  Strings stop_words;
  for (const std::string& word : attrs.stop_words.strings()) {
    stop_words.push_back(form(word));
  }
  std::ranges::sort(stop_words);
  const Literal& texts = context.operand(0);
  Strings kept;
  for (const std::string& text : texts.strings()) {
    if (std::ranges::binary_search(stop_words, form(text))) continue;
    kept.push_back(text);
    if (attrs.case_change == CaseChange::kNone) continue;
    std::ranges::transform(
        kept.back(), kept.back().begin(),
        attrs.case_change == CaseChange::kLower ? Lower : Upper);
  }
  if (kept.empty()) kept.emplace_back();
  std::vector<int64_t> dims = texts.dims();
  if (dims.size() == 2 && dims[0] != 1) {
    return context.Error("operand 0 has ", dims[0], " rows, expected 1");
  }
  dims.back() = static_cast<int64_t>(kept.size());
  return One(Literal::Strings(std::move(dims), std::move(kept)));
}

StatusOr<Literals> Match(const HostContext& context) {
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 pattern(context.attrs<StringMatchAttrs>().pattern, options);
  if (!pattern.ok()) {
    return context.Error("attribute pattern: ", pattern.error());
  }
  const Literal& texts = context.operand(0);
  Literal matches(DType::kBool, texts.dims());
  for (int64_t i = 0; i < texts.element_count(); ++i) {
    matches.SetInt(i, RE2::FullMatch(texts.strings()[i], pattern));
  }
  return One(std::move(matches));
}

}  // namespace

StatusOr<Literals> ApplyStringOp(const HostContext& context) {
  switch (context.op) {
    case Op::kTakeStrings:
      return Take(context);
    case Op::kStringConcat:
    case Op::kStringEqual:
      return Binary(context);
    case Op::kStringFormat:
      return Format(context);
    case Op::kStringParse:
      return Parse(context);
    case Op::kStringSplit:
      return Split(context);
    case Op::kStringNormalize:
      return Normalize(context);
    default:
      break;
  }
  ENCORE_CHECK(context.op == Op::kStringMatch) << context.op;
  return Match(context);
}

}  // namespace encore::host
