#include "encore/opt/egraph/program/reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "encore/ir/support/strings.h"

namespace encore::opt::program {
namespace {

enum : uint8_t { kBlank = 1, kEndsAtom = 2 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\v', '\f'}) {
    classes[static_cast<uint8_t>(c)] = kBlank | kEndsAtom;
  }
  for (const char c : {'(', ')', ';'}) {
    classes[static_cast<uint8_t>(c)] = kEndsAtom;
  }
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

bool Is(uint8_t mask, char c) {
  return (kClasses[static_cast<uint8_t>(c)] & mask) != 0;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether `text` can only be meant as a number: an optional sign and then a
// digit, or a point and a digit.
bool StartsNumber(std::string_view text) {
  if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
  if (!text.empty() && text[0] == '.') text.remove_prefix(1);
  return !text.empty() && IsDigit(text[0]);
}

class Reader {
 public:
  Reader(std::string_view text, Interner* interner)
      : text_(text), interner_(interner) {
    file_.nodes.reserve(text.size() / 4 + 16);
  }

  SexprFile Run() {
    uint32_t complete = 0;  // nodes of complete top-level forms
    while (!file_.error.has_value() && SkipBlank()) {
      ReadToken();
      if (!file_.error.has_value() && open_.empty()) {
        complete = static_cast<uint32_t>(file_.nodes.size());
      }
    }
    if (!file_.error.has_value() && !open_.empty()) {
      Fail(file_.nodes[open_.back()].offset, "this ( is never closed");
    }
    file_.nodes.resize(complete);
    return std::move(file_);
  }

 private:
  void Fail(uint32_t offset, std::string message) {
    file_.error = ReadError{offset, std::move(message)};
  }

  // To the next token; false at the end.
  bool SkipBlank() {
    while (at_ < text_.size()) {
      if (Is(kBlank, text_[at_])) {
        ++at_;
      } else if (text_[at_] == ';') {
        at_ = static_cast<uint32_t>(
            std::min(text_.find('\n', at_), text_.size()));
      } else {
        return true;
      }
    }
    return false;
  }

  void Push(SexprKind kind, uint32_t offset, uint64_t payload) {
    const auto index = static_cast<uint32_t>(file_.nodes.size());
    file_.nodes.push_back({kind, offset, index + 1, payload});
  }

  void ReadToken() {
    switch (text_[at_]) {
      case '(':
        open_.push_back(static_cast<uint32_t>(file_.nodes.size()));
        Push(SexprKind::kList, at_++, 0);
        return;
      case ')':
        if (open_.empty()) return Fail(at_, "this ) closes nothing");
        ++at_;
        file_.nodes[open_.back()].end =
            static_cast<uint32_t>(file_.nodes.size());
        open_.pop_back();
        return;
      case '"':
        return ReadString();
      default:
        return ReadAtom();
    }
  }

  void ReadString() {
    const uint32_t start = at_++;
    std::string value;
    for (;; ++at_) {
      if (at_ >= text_.size()) return Fail(start, "string without end quote");
      char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        if (++at_ >= text_.size()) {
          return Fail(start, "string without end quote");
        }
        constexpr std::string_view kNames = "nt\\\"";
        constexpr std::string_view kValues = "\n\t\\\"";
        const size_t which = kNames.find(text_[at_]);
        if (which == std::string_view::npos) {
          return Fail(at_ - 1,
                      StrCat("unknown escape \\", text_[at_], " in a string"));
        }
        c = kValues[which];
      }
      value.push_back(c);
    }
    ++at_;
    Push(SexprKind::kString, start, interner_->Intern(value));
  }

  void ReadAtom() {
    const uint32_t start = at_;
    while (at_ < text_.size() && !Is(kEndsAtom, text_[at_])) ++at_;
    const std::string_view atom = text_.substr(start, at_ - start);
    if (StartsNumber(atom) && ReadNumber(atom, start)) return;
    if (atom == "true" || atom == "false") {
      return Push(SexprKind::kBool, start, atom == "true");
    }
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (atom == "inf") return PushFloat(start, kInf);
    if (atom == "-inf") return PushFloat(start, -kInf);
    if (atom == "NaN") {
      return PushFloat(start, std::numeric_limits<double>::quiet_NaN());
    }
    Push(SexprKind::kSymbol, start, interner_->Intern(atom));
  }

  void PushFloat(uint32_t offset, double value) {
    Push(SexprKind::kFloat, offset, std::bit_cast<uint64_t>(value));
  }

  // False where the atom is a symbol that looks like a number at its start.
  bool ReadNumber(std::string_view atom, uint32_t start) {
    const std::string_view digits = atom[0] == '+' ? atom.substr(1) : atom;
    int64_t integer = 0;
    const char* end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, integer);
    if (rest == end && error == std::errc()) {
      Push(SexprKind::kInteger, start, static_cast<uint64_t>(integer));
      return true;
    }
    if (rest == end) {
      Fail(start, StrCat("integer ", atom, " does not fit in 64 bits"));
      return true;
    }
    const std::optional<double> value = ParseDouble(digits);
    if (!value.has_value() || !std::isfinite(*value)) return false;
    PushFloat(start, *value);
    return true;
  }

  std::string_view text_;
  Interner* interner_;
  uint32_t at_ = 0;
  std::vector<uint32_t> open_;
  SexprFile file_;
};

}  // namespace

SexprFile Read(std::string_view text, Interner* interner) {
  return Reader(text, interner).Run();
}

}  // namespace encore::opt::program
