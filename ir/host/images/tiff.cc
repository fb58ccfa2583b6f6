// TIFF by libtiff, which decompresses strips and tiles; what their samples mean
// is here. Its own conversion to RGBA blends with alpha and rounds differently.

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/host/images/library.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "tiffio.h"

namespace encore::host {
namespace {

struct LibTiff {
  decltype(&TIFFClientOpenExt) open;
  decltype(&TIFFClose) close;
  decltype(&TIFFComputeStrip) compute_strip;
  decltype(&TIFFComputeTile) compute_tile;
  decltype(&TIFFGetField) get_field;
  decltype(&TIFFGetFieldDefaulted) get_or_default;
  decltype(&TIFFIsTiled) is_tiled;
  decltype(&TIFFOpenOptionsAlloc) new_options;
  decltype(&TIFFOpenOptionsFree) free_options;
  decltype(&TIFFOpenOptionsSetErrorHandlerExtR) on_error;
  decltype(&TIFFOpenOptionsSetMaxSingleMemAlloc) limit_memory;
  decltype(&TIFFOpenOptionsSetWarningHandlerExtR) on_warning;
  decltype(&TIFFReadEncodedStrip) read_strip;
  decltype(&TIFFReadEncodedTile) read_tile;
  decltype(&TIFFSetField) set_field;
  decltype(&TIFFStripSize64) strip_size;
  decltype(&TIFFTileSize64) tile_size;
};

StatusOr<LibTiff> Load() {
  Library library("libtiff.so.6", "libtiff6");
  LibTiff tiff;
  library.Bind("TIFFClientOpenExt", &tiff.open);
  library.Bind("TIFFClose", &tiff.close);
  library.Bind("TIFFComputeStrip", &tiff.compute_strip);
  library.Bind("TIFFComputeTile", &tiff.compute_tile);
  library.Bind("TIFFGetField", &tiff.get_field);
  library.Bind("TIFFGetFieldDefaulted", &tiff.get_or_default);
  library.Bind("TIFFIsTiled", &tiff.is_tiled);
  library.Bind("TIFFOpenOptionsAlloc", &tiff.new_options);
  library.Bind("TIFFOpenOptionsFree", &tiff.free_options);
  library.Bind("TIFFOpenOptionsSetErrorHandlerExtR", &tiff.on_error);
  library.Bind("TIFFOpenOptionsSetMaxSingleMemAlloc", &tiff.limit_memory);
  library.Bind("TIFFOpenOptionsSetWarningHandlerExtR", &tiff.on_warning);
  library.Bind("TIFFReadEncodedStrip", &tiff.read_strip);
  library.Bind("TIFFReadEncodedTile", &tiff.read_tile);
  library.Bind("TIFFSetField", &tiff.set_field);
  library.Bind("TIFFStripSize64", &tiff.strip_size);
  library.Bind("TIFFTileSize64", &tiff.tile_size);
  return library.Found(tiff);
}

// A file in memory as libtiff reads it, and the first thing that it complains
// about.
struct Source {
  ImageBytes file;
  uint64_t at = 0;
  std::string error = {};
};

tmsize_t OnRead(thandle_t handle, void* to, tmsize_t count) {
  auto* const source = static_cast<Source*>(handle);
  if (count <= 0 || source->at >= source->file.size()) return 0;
  const size_t read = std::min<size_t>(count, source->file.size() - source->at);
  memcpy(to, source->file.data() + source->at, read);
  source->at += read;
  return static_cast<tmsize_t>(read);
}

tmsize_t OnWrite(thandle_t, void*, tmsize_t) { return 0; }

toff_t OnSeek(thandle_t handle, toff_t offset, int whence) {
  auto* const source = static_cast<Source*>(handle);
  if (whence == SEEK_CUR) offset += source->at;
  if (whence == SEEK_END) offset += source->file.size();
  return source->at = offset;
}

int OnClose(thandle_t) { return 0; }

toff_t OnSize(thandle_t handle) {
  return static_cast<Source*>(handle)->file.size();
}

int OnError(TIFF*, void* data, const char*, const char* format,
            va_list arguments) {
  auto* const source = static_cast<Source*>(data);
  if (source->error.empty()) {
    std::array<char, 200> text = {};
    vsnprintf(text.data(), text.size(), format, arguments);
    source->error = text.data();
  }
  return 1;
}

int OnWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Layout {
  uint32_t width = 0, height = 0;
  uint16_t bits = 1, samples = 1, photometric = 0;
  bool separate = false;
  uint16_t orientation = ORIENTATION_TOPLEFT;
  size_t channels = 1;  // that count: the others are alpha and the like
  // Of a strip or tile.
  bool tiled = false;
  uint32_t part_width = 0, part_height = 0;
};

class Decoder {
 public:
  Decoder(const LibTiff& lib, ImageBytes file, const ImageLimits& limits)
      : lib_(lib), limits_(limits), source_{file} {
    TIFFOpenOptions* const options = lib_.new_options();
    if (options == nullptr) return;
    lib_.limit_memory(options, MaxBytes());
    lib_.on_error(options, OnError, &source_);
    lib_.on_warning(options, OnWarning, nullptr);
    tiff_ = lib_.open("", "rm", &source_, OnRead, OnWrite, OnSeek, OnClose,
                      OnSize, nullptr, nullptr, options);
    lib_.free_options(options);
  }
  ~Decoder() {
    if (tiff_ != nullptr) lib_.close(tiff_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  StatusOr<Literal> Decode() {
    if (tiff_ == nullptr) return Damaged();
    ENCORE_RETURN_IF_ERROR(ReadLayout());
    ENCORE_RETURN_IF_ERROR(CheckKind());
    ENCORE_RETURN_IF_ERROR(ReadParts());
    ENCORE_ASSIGN_OR_RETURN(Literal samples, ReadSamples());
    ENCORE_ASSIGN_OR_RETURN(Literal pixels, Colors(std::move(samples)));
    return Oriented(std::move(pixels));
  }

 private:
  // Eight bytes a pixel, and tables.
  tmsize_t MaxBytes() const { return 8 * limits_.max_pixels + (1 << 20); }

  Status Damaged() const {
    return InvalidArgumentError(source_.error.empty()
                                    ? "the file is damaged or truncated"
                                    : source_.error);
  }

  Status ReadLayout();
  Status CheckKind();
  Status ReadParts();
  StatusOr<Literal> ReadSamples();
  StatusOr<Literal> Colors(Literal samples);
  Literal Oriented(Literal pixels) const;

  Status ReadPart(uint32_t x, uint32_t y, uint16_t plane,
                  std::vector<uint8_t>* part);
  void CopyPart(ImageBytes part, uint32_t x, uint32_t y, uint16_t plane,
                std::span<uint8_t> samples) const;
  // Sample i of a row, as 8 bits.
  uint8_t Sample(const uint8_t* row, size_t i) const;
  size_t RowBytes() const {
    const size_t samples = layout_.separate ? 1 : layout_.samples;
    return (size_t{layout_.part_width} * samples * layout_.bits + 7) / 8;
  }

  const LibTiff& lib_;
  const ImageLimits& limits_;
  Source source_;
  TIFF* tiff_ = nullptr;
  Layout layout_;
};

Status Decoder::ReadLayout() {
  uint16_t format = SAMPLEFORMAT_UINT, planar = PLANARCONFIG_CONTIG,
           compression = COMPRESSION_NONE;
  if (!lib_.get_field(tiff_, TIFFTAG_IMAGEWIDTH, &layout_.width) ||
      !lib_.get_field(tiff_, TIFFTAG_IMAGELENGTH, &layout_.height) ||
      !lib_.get_field(tiff_, TIFFTAG_PHOTOMETRIC, &layout_.photometric)) {
    return InvalidArgumentError("the size or the kind of colours is missing");
  }
  lib_.get_or_default(tiff_, TIFFTAG_BITSPERSAMPLE, &layout_.bits);
  lib_.get_or_default(tiff_, TIFFTAG_SAMPLESPERPIXEL, &layout_.samples);
  lib_.get_or_default(tiff_, TIFFTAG_ORIENTATION, &layout_.orientation);
  lib_.get_or_default(tiff_, TIFFTAG_SAMPLEFORMAT, &format);
  lib_.get_or_default(tiff_, TIFFTAG_PLANARCONFIG, &planar);
  lib_.get_or_default(tiff_, TIFFTAG_COMPRESSION, &compression);
  layout_.separate = planar == PLANARCONFIG_SEPARATE && layout_.samples > 1;
  ENCORE_RETURN_IF_ERROR(CheckSize(layout_.height, layout_.width, limits_));
  if (format != SAMPLEFORMAT_UINT) {
    return InvalidArgumentError("samples that are not unsigned integers");
  }
  uint16_t extra = 0;
  uint16_t* kinds = nullptr;
  lib_.get_or_default(tiff_, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
  for (uint16_t i = 0; i < extra; ++i) {
    if (kinds[i] == EXTRASAMPLE_ASSOCALPHA) {
      return InvalidArgumentError(
          "colours that are multiplied by alpha are not supported");
    }
  }
  // Their conversion to RGB is part of JPEG.
  if (layout_.photometric == PHOTOMETRIC_YCBCR &&
      compression == COMPRESSION_JPEG && layout_.samples == 3 &&
      !layout_.separate) {
    lib_.set_field(tiff_, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    layout_.photometric = PHOTOMETRIC_RGB;
  }
  return OkStatus();
}

Status Decoder::CheckKind() {
  const int bits = layout_.bits;
  bool supported = bits == 8;
  switch (layout_.photometric) {
    case PHOTOMETRIC_MINISBLACK:
      supported |= bits == 16;
      [[fallthrough]];
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_PALETTE:
      supported |= bits == 1 || bits == 2 || bits == 4;
      layout_.channels = 1;
      break;
    case PHOTOMETRIC_RGB:
      supported |= bits == 16;
      layout_.channels = 3;
      break;
    case PHOTOMETRIC_SEPARATED:
      supported |= bits == 16;
      layout_.channels = 4;
      break;
    default:
      supported = false;
  }
  if (supported && layout_.samples >= layout_.channels) return OkStatus();
  return InvalidArgumentError(StrCat("colours of kind ", layout_.photometric,
                                     " with ", layout_.samples, " samples of ",
                                     bits, " bits are not supported"));
}

Status Decoder::ReadParts() {
  layout_.tiled = lib_.is_tiled(tiff_) != 0;
  uint64_t bytes = 0;
  if (layout_.tiled) {
    lib_.get_field(tiff_, TIFFTAG_TILEWIDTH, &layout_.part_width);
    lib_.get_field(tiff_, TIFFTAG_TILELENGTH, &layout_.part_height);
    bytes = lib_.tile_size(tiff_);
  } else {
    layout_.part_width = layout_.width;
    lib_.get_or_default(tiff_, TIFFTAG_ROWSPERSTRIP, &layout_.part_height);
    layout_.part_height = std::min(layout_.part_height, layout_.height);
    bytes = lib_.strip_size(tiff_);
  }
  if (layout_.part_width == 0 || layout_.part_height == 0 || bytes == 0) {
    return Damaged();
  }
  if (bytes > static_cast<uint64_t>(MaxBytes())) {
    return ResourceExhaustedError(
        StrCat("a strip or tile of ", bytes, " bytes"));
  }
  if (bytes / RowBytes() < layout_.part_height) {
    return InvalidArgumentError("strips or tiles of another size");
  }
  return OkStatus();
}

Status Decoder::ReadPart(uint32_t x, uint32_t y, uint16_t plane,
                         std::vector<uint8_t>* part) {
  const auto size = static_cast<tmsize_t>(part->size());
  const tmsize_t read =
      layout_.tiled
          ? lib_.read_tile(tiff_, lib_.compute_tile(tiff_, x, y, 0, plane),
                           part->data(), size)
          : lib_.read_strip(tiff_, lib_.compute_strip(tiff_, y, plane),
                            part->data(), size);
  return read < 0 ? Damaged() : OkStatus();
}

uint8_t Decoder::Sample(const uint8_t* row, size_t i) const {
  const int bits = layout_.bits;
  if (bits == 8) return row[i];
  if (bits == 16) {
    uint16_t value;
    memcpy(&value, row + 2 * i, sizeof(value));
    return layout_.channels == 1 ? Clipped(value) : value >> 8;
  }
  const size_t bit = i * bits;
  const uint32_t value =
      row[bit / 8] >> (8 - bits - bit % 8) & ((1u << bits) - 1);
  return layout_.photometric == PHOTOMETRIC_PALETTE
             ? static_cast<uint8_t>(value)
             : Scaled(value, bits);
}

void Decoder::CopyPart(ImageBytes part, uint32_t x, uint32_t y, uint16_t plane,
                       std::span<uint8_t> samples) const {
  const size_t channels = layout_.channels;
  const uint32_t rows = std::min(layout_.part_height, layout_.height - y);
  const uint32_t columns = std::min(layout_.part_width, layout_.width - x);
  for (uint32_t r = 0; r < rows; ++r) {
    const uint8_t* const row = part.data() + r * RowBytes();
    uint8_t* to = &samples[(size_t{y + r} * layout_.width + x) * channels];
    for (uint32_t c = 0; c < columns; ++c, to += channels) {
      if (layout_.separate) {
        to[plane] = Sample(row, c);
        continue;
      }
      for (size_t k = 0; k < channels; ++k) {
        to[k] = Sample(row, size_t{c} * layout_.samples + k);
      }
    }
  }
}

StatusOr<Literal> Decoder::ReadSamples() {
  const auto channels = static_cast<int64_t>(layout_.channels);
  Literal samples = NewPixels(layout_.height, layout_.width, channels);
  const std::span<uint8_t> values = samples.mutable_values<uint8_t>();
  std::vector<uint8_t> part(layout_.tiled ? lib_.tile_size(tiff_)
                                          : lib_.strip_size(tiff_));
  const int64_t planes = layout_.separate ? channels : 1;
  for (uint16_t plane = 0; plane < planes; ++plane) {
    for (uint64_t y = 0; y < layout_.height; y += layout_.part_height) {
      for (uint64_t x = 0; x < layout_.width; x += layout_.part_width) {
        ENCORE_RETURN_IF_ERROR(ReadPart(x, y, plane, &part));
        CopyPart(part, x, y, plane, values);
      }
    }
  }
  return samples;
}

StatusOr<Literal> Decoder::Colors(Literal samples) {
  if (layout_.photometric == PHOTOMETRIC_SEPARATED) return CmykAsRgb(samples);
  if (layout_.photometric == PHOTOMETRIC_MINISWHITE) {
    for (uint8_t& value : samples.mutable_values<uint8_t>()) {
      value = 255 - value;
    }
  }
  if (layout_.photometric != PHOTOMETRIC_PALETTE) return samples;
  std::array<uint16_t*, 3> palette = {};
  if (!lib_.get_field(tiff_, TIFFTAG_COLORMAP, &palette[0], &palette[1],
                      &palette[2])) {
    return InvalidArgumentError("the palette is missing");
  }
  Literal pixels = NewPixels(layout_.height, layout_.width, 3);
  uint8_t* to = pixels.mutable_values<uint8_t>().data();
  for (const uint8_t index : samples.values<uint8_t>()) {
    for (const uint16_t* const color : palette) *to++ = color[index] >> 8;
  }
  return pixels;
}

// With the first row on top and the first column at the left.
Literal Decoder::Oriented(Literal pixels) const {
  const int kind = layout_.orientation;
  if (kind <= ORIENTATION_TOPLEFT || kind > ORIENTATION_LEFTBOT) return pixels;
  const bool swap = kind >= ORIENTATION_LEFTTOP;
  const bool flip_x =
      kind == ORIENTATION_TOPRIGHT || kind == ORIENTATION_BOTRIGHT ||
      kind == ORIENTATION_RIGHTBOT || kind == ORIENTATION_LEFTBOT;
  const bool flip_y =
      kind == ORIENTATION_BOTRIGHT || kind == ORIENTATION_BOTLEFT ||
      kind == ORIENTATION_RIGHTTOP || kind == ORIENTATION_RIGHTBOT;
  const int64_t height = pixels.dims()[0], width = pixels.dims()[1];
  const int64_t channels = pixels.dims()[2];
  Literal turned =
      NewPixels(swap ? width : height, swap ? height : width, channels);
  const uint8_t* const from = pixels.values<uint8_t>().data();
  uint8_t* to = turned.mutable_values<uint8_t>().data();
  for (int64_t r = 0; r < turned.dims()[0]; ++r) {
    for (int64_t c = 0; c < turned.dims()[1]; ++c) {
      const int64_t y = swap ? c : r, x = swap ? r : c;
      const int64_t source =
          (flip_y ? height - 1 - y : y) * width + (flip_x ? width - 1 - x : x);
      to = std::copy_n(from + source * channels, channels, to);
    }
  }
  return turned;
}

}  // namespace

StatusOr<Literal> DecodeTiff(ImageBytes file, const ImageLimits& limits) {
  static const auto* const library = new StatusOr<LibTiff>(Load());
  ENCORE_RETURN_IF_ERROR(library->status());
  return Decoder(**library, file, limits).Decode();
}

}  // namespace encore::host
