#include "encore/backends/cuda/codegen/device_library.h"

#include <cctype>
#include <cstddef>

#include "encore/backends/cuda/codegen/scalar_code.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dtype.h"
#include "encore/ir/types/float_formats.h"

namespace encore::backends::cuda {
namespace {

void AppendInteger(DType dtype, std::string* text) {
  const int bits = BitWidth(dtype);
  const bool is_signed = IsSigned(dtype);
  StrAppend(text, is_signed ? "ENCORE_SIGNED(" : "ENCORE_UNSIGNED(", dtype,
            ", ", CType(dtype), ", ", is_signed ? "i" : "u",
            bits == 64 ? "64" : "32", ", ", bits, ")\n");
}

void AppendNarrow(DType dtype, std::string* text) {
  constexpr std::string_view kSpecials[] = {"kInfinityAndNan", "kNan",
                                            "kNanForNegativeZero", "kFinite",
                                            "kNanUnsigned"};
  const FloatFormat& format = FormatOf(dtype);
  StrAppend(text, "ENCORE_NARROW(", dtype, ", ", format.exponent_bits, ", ",
            format.mantissa_bits, ", ", format.bias, ", ",
            kSpecials[static_cast<int>(format.specials)], ")\n");
}

void AppendRows(DType dtype, std::string* text) {
  const int bits = BitWidth(dtype);
  if (!IsFloat(dtype)) AppendInteger(dtype, text);
  if (IsFloat(dtype) && bits <= 8) AppendNarrow(dtype, text);
  if (IsPacked(dtype)) {
    StrAppend(text, "ENCORE_PACKED(", dtype, ", ", CType(dtype), ", ", bits,
              ")\n");
  } else if (IsFloat(dtype) && bits == 8) {
    StrAppend(text, "ENCORE_BYTE(", dtype, ")\n");
  } else if (!IsFloat(dtype) || bits >= 32) {
    StrAppend(text, "ENCORE_PLAIN(", dtype, ", ", CType(dtype), ")\n");
  }
}

// Whether a name in `text` ends in an underscore and the dtype.
bool Mentions(std::string_view text, DType dtype) {
  const std::string name = StrCat("_", dtype);
  for (size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if (end == text.size() ||
        !std::isalnum(static_cast<unsigned char>(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string DeviceLibraryFor(std::string_view functions) {
  const std::string_view parts = DeviceLibraryText();
  std::string text(parts);
  for (const DType dtype : AllDTypes()) {
    if (IsString(dtype) || dtype == DType::kBool) continue;
    if (!Mentions(functions, dtype) && !Mentions(parts, dtype)) continue;
    AppendRows(dtype, &text);
  }
  return text;
}

}  // namespace encore::backends::cuda
