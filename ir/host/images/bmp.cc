// BMP of every header since OS/2's: 1, 4, 8, 16, 24 and 32 bits a pixel, by
// palette, by masks or in runs, from the top or from the bottom.

#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::host {
namespace {

constexpr size_t kFileHeader = 14;

enum Compression : uint32_t {
  kNone = 0,
  kRuns8 = 1,
  kRuns4 = 2,
  kMasks = 3,
  kMasksWithAlpha = 6,
};

using Color = std::array<uint8_t, 3>;

struct Header {
  size_t data = 0;  // where the pixels begin
  size_t size = 0;  // of the second header
  int64_t width = 0, height = 0;
  bool from_top = false;
  int bits = 0;
  uint32_t compression = kNone;
  std::array<uint32_t, 3> masks = {};  // of 16 and 32 bits: R, G, B
  std::vector<Color> palette;          // of up to 8 bits

  int64_t row_bytes() const { return (width * bits + 31) / 32 * 4; }
};

Status Truncated() { return InvalidArgumentError("the file is truncated"); }

// The palette, which ends at the latest where the pixels begin.
Status ReadPalette(ImageBytes file, uint32_t colors, Header* header) {
  const size_t entry = header->size == 12 ? 3 : 4;
  const size_t begin = kFileHeader + header->size;
  const size_t most = size_t{1} << header->bits;
  const size_t count = colors == 0 ? most : colors;
  if (count > most) {
    return InvalidArgumentError(
        StrCat("a palette of ", count, " colours for ", header->bits, " bits"));
  }
  if (file.size() < begin + count * entry) return Truncated();
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* const color = &file[begin + i * entry];
    header->palette.push_back({color[2], color[1], color[0]});
  }
  return OkStatus();
}

Status ReadMasks(ImageBytes file, Header* header) {
  if (header->compression == kNone) {
    header->masks = header->bits == 16
                        ? std::array<uint32_t, 3>{0x7C00, 0x3E0, 0x1F}
                        : std::array<uint32_t, 3>{0xFF0000, 0xFF00, 0xFF};
    return OkStatus();
  }
  // After the smallest header, within the larger ones.
  if (file.size() < kFileHeader + 40 + 12) return Truncated();
  for (size_t c = 0; c < 3; ++c) {
    const uint32_t mask = Little32(file, kFileHeader + 40 + 4 * c);
    header->masks[c] = mask;
    const int width = std::popcount(mask);
    const bool is_run = mask != 0 && (mask >> std::countr_zero(mask)) ==
                                         (uint64_t{1} << width) - 1;
    if (!is_run || width > 8 || (header->bits == 16 && mask > 0xFFFF)) {
      return InvalidArgumentError(
          StrCat("the mask ", mask, " of a colour is not supported"));
    }
  }
  return OkStatus();
}

bool IsSupported(const Header& header) {
  switch (header.compression) {
    case kNone:
      return header.bits == 1 || header.bits == 4 || header.bits == 8 ||
             header.bits == 16 || header.bits == 24 || header.bits == 32;
    case kRuns8:
      return header.bits == 8 && !header.from_top;
    case kRuns4:
      return header.bits == 4 && !header.from_top;
    case kMasks:
    case kMasksWithAlpha:
      return header.bits == 16 || header.bits == 32;
    default:
      return false;
  }
}

StatusOr<Header> ReadHeader(ImageBytes file, const ImageLimits& limits) {
  Header header;
  if (file.size() < kFileHeader + 12) return Truncated();
  header.data = Little32(file, 10);
  header.size = Little32(file, kFileHeader);
  uint32_t colors = 0;
  if (header.size == 12) {
    header.width = Little16(file, 18);
    header.height = Little16(file, 20);
    header.bits = static_cast<int>(Little16(file, 24));
  } else if (header.size >= 40 && header.size <= 124) {
    if (file.size() < kFileHeader + header.size) return Truncated();
    header.width = static_cast<int32_t>(Little32(file, 18));
    header.height = static_cast<int32_t>(Little32(file, 22));
    header.from_top = header.height < 0;
    if (header.from_top) header.height = -header.height;
    header.bits = static_cast<int>(Little16(file, 28));
    header.compression = Little32(file, 30);
    colors = Little32(file, 46);
  } else {
    return InvalidArgumentError(StrCat("a header of ", header.size, " bytes"));
  }
  if (!IsSupported(header)) {
    return InvalidArgumentError(StrCat("compression ", header.compression,
                                       " of ", header.bits,
                                       " bits a pixel is not supported"));
  }
  ENCORE_RETURN_IF_ERROR(CheckSize(header.height, header.width, limits));
  if (header.bits <= 8) {
    ENCORE_RETURN_IF_ERROR(ReadPalette(file, colors, &header));
  } else {
    ENCORE_RETURN_IF_ERROR(ReadMasks(file, &header));
  }
  if (header.data > file.size()) return Truncated();
  return header;
}

// Runs of palette indices, bottom row first: a pair of bytes is a run of one
// value (of 4 bits, of two by turns), or with 0 a command: the end of the row,
// the end of the image, a move, or that many values as they are. What nothing
// is said of has index 0.
class Runs {
 public:
  Runs(ImageBytes data, const Header& header, std::span<uint8_t> indices)
      : data_(data), header_(header), indices_(indices) {}

  Status Read() {
    while (y_ < header_.height) {
      if (data_.size() - at_ < 2) return Truncated();
      const uint8_t count = data_[at_], value = data_[at_ + 1];
      at_ += 2;
      if (count > 0) {
        for (int i = 0; i < count; ++i) Put(Value(value, i));
      } else if (value == 0) {
        x_ = 0;
        ++y_;
      } else if (value == 1) {
        return OkStatus();
      } else if (value == 2) {
        if (data_.size() - at_ < 2) return Truncated();
        x_ += data_[at_];
        y_ += data_[at_ + 1];
        at_ += 2;
      } else {
        ENCORE_RETURN_IF_ERROR(ReadAbsolute(value));
      }
      if (outside_) {
        return InvalidArgumentError("a run is longer than its row");
      }
    }
    return OkStatus();
  }

 private:
  uint8_t Value(uint8_t byte, int i) const {
    if (header_.bits == 8) return byte;
    return i % 2 == 0 ? byte >> 4 : byte & 15;
  }

  Status ReadAbsolute(size_t count) {
    const size_t bytes = header_.bits == 8 ? count : (count + 1) / 2;
    const size_t padded = (bytes + 1) / 2 * 2;
    if (data_.size() - at_ < padded) return Truncated();
    for (size_t i = 0; i < count; ++i) {
      const size_t at = at_ + (header_.bits == 8 ? i : i / 2);
      Put(Value(data_[at], static_cast<int>(i)));
    }
    at_ += padded;
    return OkStatus();
  }

  void Put(uint8_t index) {
    outside_ |= x_ >= header_.width || y_ >= header_.height;
    if (!outside_) {
      indices_[(header_.height - 1 - y_) * header_.width + x_++] = index;
    }
  }

  const ImageBytes data_;
  const Header& header_;
  const std::span<uint8_t> indices_;
  size_t at_ = 0;
  int64_t x_ = 0, y_ = 0;
  bool outside_ = false;
};

std::optional<Color> ColorAt(const Header& header, ImageBytes row, int64_t x) {
  if (header.bits <= 8) {
    const int64_t bit = x * header.bits;
    const int shift = static_cast<int>(8 - header.bits - bit % 8);
    const size_t index = row[bit / 8] >> shift & ((1 << header.bits) - 1);
    if (index >= header.palette.size()) return std::nullopt;
    return header.palette[index];
  }
  if (header.bits == 24) {
    return Color{row[3 * x + 2], row[3 * x + 1], row[3 * x]};
  }
  const uint32_t pixel =
      header.bits == 16 ? Little16(row, 2 * x) : Little32(row, 4 * x);
  Color color;
  for (size_t c = 0; c < 3; ++c) {
    const uint32_t mask = header.masks[c];
    color[c] =
        Scaled((pixel & mask) >> std::countr_zero(mask), std::popcount(mask));
  }
  return color;
}

}  // namespace

StatusOr<Literal> DecodeBmp(ImageBytes file, const ImageLimits& limits) {
  ENCORE_ASSIGN_OR_RETURN(Header header, ReadHeader(file, limits));
  ImageBytes data = file.subspan(header.data);
  std::vector<uint8_t> indices;
  int64_t row_bytes = header.row_bytes();
  if (header.compression == kRuns8 || header.compression == kRuns4) {
    indices.resize(header.width * header.height);
    ENCORE_RETURN_IF_ERROR(Runs(data, header, indices).Read());
    data = indices;
    row_bytes = header.width;
    header.bits = 8;
    header.from_top = true;
  }
  if (static_cast<int64_t>(data.size()) / row_bytes < header.height) {
    return Truncated();
  }
  Literal pixels = NewPixels(header.height, header.width, 3);
  uint8_t* to = pixels.mutable_values<uint8_t>().data();
  for (int64_t y = 0; y < header.height; ++y) {
    const int64_t from = header.from_top ? y : header.height - 1 - y;
    const ImageBytes row = data.subspan(from * row_bytes, row_bytes);
    for (int64_t x = 0; x < header.width; ++x) {
      const std::optional<Color> color = ColorAt(header, row, x);
      if (!color) {
        return InvalidArgumentError(StrCat("a pixel's colour is not among the ",
                                           header.palette.size(),
                                           " of the palette"));
      }
      to = std::copy(color->begin(), color->end(), to);
    }
  }
  return pixels;
}

}  // namespace encore::host
