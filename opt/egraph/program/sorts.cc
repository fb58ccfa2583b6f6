#include "encore/opt/egraph/program/sorts.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "encore/ir/support/strings.h"

namespace encore::opt::program {
namespace {

void AppendF64(double value, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
    return;
  }
  if (std::isinf(value)) {
    out->append(value < 0 ? "-inf" : "inf");
    return;
  }
  char buffer[512];  // the longest finite one has about 330 characters
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                 std::chars_format::fixed)
                       .ptr;
  const std::string_view text(buffer, end - buffer);
  out->append(text);
  if (text.find('.') == std::string_view::npos) out->append(".0");
}

}  // namespace

uint64_t F64Bits(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (value == 0) value = 0;  // drops the sign
  return std::bit_cast<uint64_t>(value);
}

double F64Value(uint64_t bits) { return std::bit_cast<double>(bits); }

void AppendLiteral(SortId sort, uint64_t bits, const Interner& names,
                   std::string* out) {
  switch (sort) {
    case kI64Sort:
      StrAppend(out, static_cast<int64_t>(bits));
      return;
    case kF64Sort:
      AppendF64(F64Value(bits), out);
      return;
    case kStringSort:
      out->push_back('"');
      for (const char c : names.Text(static_cast<uint32_t>(bits))) {
        if (c == '"' || c == '\\') out->push_back('\\');
        out->push_back(c);
      }
      out->push_back('"');
      return;
    case kBoolSort:
      out->append(bits != 0 ? "true" : "false");
      return;
    default:
      out->append("()");
  }
}

}  // namespace encore::opt::program
