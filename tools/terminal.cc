#include "encore/tools/terminal.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "encore/ir/support/strings.h"
#include "encore/ir/support/utf8.h"

namespace encore::tools {
namespace {

constexpr char kHex[] = "0123456789abcdef";

bool IsLineEndOrTab(char32_t code) { return code == '\n' || code == '\t'; }

// Whether a terminal could obey the character, or show others elsewhere than
// they stand: C0 and C1 controls, ends of lines and paragraphs, marks,
// embeddings, overrides and isolates of direction.
// Source: Unicode Standard Annex #9, section 2.
bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

void AppendByte(unsigned char byte, std::string* out) {
  *out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

std::string Escaped(std::string_view text, bool keeps_lines) {
  const auto plain = [=](char c) {
    return (c >= ' ' && c < 0x7f) || (keeps_lines && IsLineEndOrTab(c));
  };
  if (std::ranges::all_of(text, plain)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const auto [length, code] = FirstUtf8Character(text);
    if (length == 0 || (length == 1 && !plain(text[0]))) {
      AppendByte(static_cast<unsigned char>(text[0]), &out);
    } else if (length > 1 && IsControl(code)) {
      out += {'\\',
              'u',
              kHex[code >> 12 & 15],
              kHex[code >> 8 & 15],
              kHex[code >> 4 & 15],
              kHex[code & 15]};
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

// What could not be written is asked for at the end (ExitCodeOfOutput).
void Write(std::FILE* out, std::string_view bytes) {
  (void)!std::fwrite(bytes.data(), 1, bytes.size(), out);
}

}  // namespace

std::string Printable(std::string_view text) { return Escaped(text, true); }

std::string PrintableName(std::string_view name) {
  return Escaped(name, false);
}

void Print(std::string_view text) { Write(stdout, Printable(text)); }

void PrintError(std::string_view text) { Write(stderr, Printable(text)); }

void Printf(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<size_t>(std::max(size, 0)), '\0');
  // There is room for the NUL that ends it.
  (void)std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  Print(text);
}

void PrintLog(std::string_view line) {
  PrintError(StrCat("encore: ", PrintableName(line), "\n"));
}

Status WriteData(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0) {
    return OkStatus();
  }
  return ResourceExhaustedError("standard output cannot be written");
}

}  // namespace encore::tools
