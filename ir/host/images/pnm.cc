// Portable bitmaps, graymaps and pixmaps (netpbm's pages pbm, pgm and ppm): P1
// to P3 are text, P4 to P6 bytes.

#include <cmath>
#include <optional>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::host {
namespace {

bool IsSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The words of a text in which '#' begins a comment up to the end of its line.
class Words {
 public:
  Words(ImageBytes file, size_t at) : file_(file), at_(at) {}

  size_t at() const { return at_; }

  // The next number, of at most 9 digits.
  std::optional<int64_t> Number() {
    SkipSpace();
    const size_t begin = at_;
    int64_t value = 0;
    while (at_ < file_.size() && file_[at_] >= '0' && file_[at_] <= '9' &&
           at_ - begin < 9) {
      value = 10 * value + (file_[at_++] - '0');
    }
    const bool ends =
        at_ == file_.size() || IsSpace(file_[at_]) || file_[at_] == '#';
    if (at_ == begin || !ends) return std::nullopt;
    return value;
  }

  // The next digit, which need not stand alone.
  std::optional<int64_t> Digit() {
    SkipSpace();
    if (at_ == file_.size() || file_[at_] < '0' || file_[at_] > '9') {
      return std::nullopt;
    }
    return file_[at_++] - '0';
  }

 private:
  void SkipSpace() {
    for (; at_ < file_.size(); ++at_) {
      if (file_[at_] == '#') {
        while (at_ < file_.size() && file_[at_] != '\n') ++at_;
        if (at_ == file_.size()) return;
      } else if (!IsSpace(file_[at_])) {
        return;
      }
    }
  }

  const ImageBytes file_;
  size_t at_;
};

struct Header {
  int64_t width = 0, height = 0, max = 1;
  int64_t channels = 1;
  bool is_bits = false, is_text = false;
  size_t data = 0;
};

StatusOr<Header> ReadHeader(ImageBytes file, const ImageLimits& limits) {
  Header header;
  const int kind = file[1] - '0';
  header.is_text = kind <= 3;
  header.is_bits = kind % 3 == 1;
  header.channels = kind % 3 == 0 ? 3 : 1;
  Words words(file, 2);
  const auto width = words.Number(), height = words.Number();
  const auto max = header.is_bits ? 1 : words.Number();
  if (!width || !height || !max) {
    return InvalidArgumentError("the header is not of numbers");
  }
  header.width = *width;
  header.height = *height;
  header.max = *max;
  if (header.max < 1 || header.max > 65535) {
    return InvalidArgumentError(
        StrCat("the largest value is ", header.max, ", expected 1 to 65535"));
  }
  ENCORE_RETURN_IF_ERROR(CheckSize(header.height, header.width, limits));
  // One space ends the header of bytes.
  header.data = words.at();
  if (!header.is_text) {
    if (header.data == file.size() || !IsSpace(file[header.data])) {
      return InvalidArgumentError("the header does not end");
    }
    ++header.data;
  }
  return header;
}

// What the values of a file become.
class Scale {
 public:
  explicit Scale(const Header& header)
      : max_(header.max),
        is_bits_(header.is_bits),
        // Gray of two bytes keeps its range and is clipped.
        out_(header.channels == 1 && header.max > 255 ? 65535 : 255) {}

  // Nothing for what is too large.
  std::optional<uint8_t> operator()(int64_t value) const {
    if (value > max_) return std::nullopt;
    if (is_bits_) return value == 0 ? 255 : 0;
    if (max_ == out_) return Clipped(value);
    const double share = static_cast<double>(value) / static_cast<double>(max_);
    return Clipped(std::llrint(share * static_cast<double>(out_)));
  }

 private:
  const int64_t max_;
  const bool is_bits_;
  const int64_t out_;
};

Status TooLarge(const Header& header) {
  return InvalidArgumentError(
      StrCat("a value is not between 0 and ", header.max));
}

Status ReadText(ImageBytes file, const Header& header,
                std::span<uint8_t> values) {
  const Scale scale(header);
  Words words(file, header.data);
  for (uint8_t& value : values) {
    const auto number = header.is_bits ? words.Digit() : words.Number();
    if (!number) {
      return InvalidArgumentError(
          "a value is no number, or the file is truncated");
    }
    const std::optional<uint8_t> scaled = scale(*number);
    if (!scaled) return TooLarge(header);
    value = *scaled;
  }
  return OkStatus();
}

Status ReadBytes(ImageBytes data, const Header& header,
                 std::span<uint8_t> values) {
  const Scale scale(header);
  const int64_t row_values = header.width * header.channels;
  const int64_t row_bytes = header.is_bits     ? (header.width + 7) / 8
                            : header.max > 255 ? 2 * row_values
                                               : row_values;
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t y = static_cast<int64_t>(i) / row_values;
    const int64_t x = static_cast<int64_t>(i) % row_values;
    const ImageBytes row = data.subspan(y * row_bytes, row_bytes);
    const int64_t value = header.is_bits     ? row[x / 8] >> (7 - x % 8) & 1
                          : header.max > 255 ? Big16(row, 2 * x)
                                             : row[x];
    const std::optional<uint8_t> scaled = scale(value);
    if (!scaled) return TooLarge(header);
    values[i] = *scaled;
  }
  return OkStatus();
}

// The bytes that the values take at least.
int64_t DataBytes(const Header& header) {
  if (header.is_bits && !header.is_text) {
    return (header.width + 7) / 8 * header.height;
  }
  const int64_t values = header.width * header.height * header.channels;
  return !header.is_text && header.max > 255 ? 2 * values : values;
}

}  // namespace

StatusOr<Literal> DecodePnm(ImageBytes file, const ImageLimits& limits) {
  ENCORE_ASSIGN_OR_RETURN(const Header header, ReadHeader(file, limits));
  if (static_cast<int64_t>(file.size() - header.data) < DataBytes(header)) {
    return InvalidArgumentError("the file is truncated");
  }
  Literal pixels = NewPixels(header.height, header.width, header.channels);
  const std::span<uint8_t> values = pixels.mutable_values<uint8_t>();
  ENCORE_RETURN_IF_ERROR(
      header.is_text ? ReadText(file, header, values)
                     : ReadBytes(file.subspan(header.data), header, values));
  return pixels;
}

}  // namespace encore::host
