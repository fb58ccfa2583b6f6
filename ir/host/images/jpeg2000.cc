// JPEG 2000, in a JP2 file or as a bare codestream, by OpenJPEG.

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/host/images/library.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "openjpeg-2.5/openjpeg.h"

namespace encore::host {
namespace {

// The library keeps tables of several kilobytes for each tile.
constexpr uint64_t kMaxTiles = 4096;
constexpr uint32_t kMaxComponents = 4;

struct OpenJpeg {
  decltype(&opj_create_decompress) create;
  decltype(&opj_decode) decode;
  decltype(&opj_destroy_codec) destroy_codec;
  decltype(&opj_end_decompress) end;
  decltype(&opj_image_destroy) destroy_image;
  decltype(&opj_read_header) read_header;
  decltype(&opj_set_default_decoder_parameters) set_defaults;
  decltype(&opj_set_error_handler) set_error_handler;
  decltype(&opj_setup_decoder) set_up;
  decltype(&opj_stream_create) create_stream;
  decltype(&opj_stream_destroy) destroy_stream;
  decltype(&opj_stream_set_read_function) set_read;
  decltype(&opj_stream_set_seek_function) set_seek;
  decltype(&opj_stream_set_skip_function) set_skip;
  decltype(&opj_stream_set_user_data) set_user_data;
  decltype(&opj_stream_set_user_data_length) set_length;
};

StatusOr<OpenJpeg> Load() {
  Library library("libopenjp2.so.7", "libopenjp2-7");
  OpenJpeg opj;
  library.Bind("opj_create_decompress", &opj.create);
  library.Bind("opj_decode", &opj.decode);
  library.Bind("opj_destroy_codec", &opj.destroy_codec);
  library.Bind("opj_end_decompress", &opj.end);
  library.Bind("opj_image_destroy", &opj.destroy_image);
  library.Bind("opj_read_header", &opj.read_header);
  library.Bind("opj_set_default_decoder_parameters", &opj.set_defaults);
  library.Bind("opj_set_error_handler", &opj.set_error_handler);
  library.Bind("opj_setup_decoder", &opj.set_up);
  library.Bind("opj_stream_create", &opj.create_stream);
  library.Bind("opj_stream_destroy", &opj.destroy_stream);
  library.Bind("opj_stream_set_read_function", &opj.set_read);
  library.Bind("opj_stream_set_seek_function", &opj.set_seek);
  library.Bind("opj_stream_set_skip_function", &opj.set_skip);
  library.Bind("opj_stream_set_user_data", &opj.set_user_data);
  library.Bind("opj_stream_set_user_data_length", &opj.set_length);
  return library.Found(opj);
}

// Where the first codestream begins: a JP2 file is a list of boxes.
std::optional<size_t> FindCodestream(ImageBytes file) {
  if (file[0] == 0xFF) return 0;
  size_t at = 0;
  while (file.size() - at >= 8) {
    uint64_t length = Big32(file, at), header = 8;
    if (length == 1) {
      if (file.size() - at < 16) return std::nullopt;
      length = uint64_t{Big32(file, at + 8)} << 32 | Big32(file, at + 12);
      header = 16;
    } else if (length == 0) {
      length = file.size() - at;
    }
    if (StartsWith(file.subspan(at + 4), "jp2c")) return at + header;
    if (length < header || length > file.size() - at) return std::nullopt;
    at += length;
  }
  return std::nullopt;
}

// What the first marker segment says, before the library takes memory by it.
Status CheckHeader(ImageBytes file, const ImageLimits& limits) {
  const std::optional<size_t> begin = FindCodestream(file);
  if (!begin || file.size() - *begin < 42 ||
      Big32(file, *begin) != 0xFF4FFF51) {
    return InvalidArgumentError("no codestream, or a truncated one");
  }
  std::array<uint64_t, 8> sizes;  // image, its offset, tile, its offset
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = Big32(file, *begin + 8 + 4 * i);
  }
  const uint32_t components = Big16(file, *begin + 40);
  if (components < 1 || components > kMaxComponents) {
    return InvalidArgumentError(
        StrCat(components, " components are not supported"));
  }
  uint64_t tiles = 1;
  for (const int axis : {0, 1}) {
    const uint64_t end = sizes[axis], offset = sizes[2 + axis];
    const uint64_t tile = sizes[4 + axis], tile_offset = sizes[6 + axis];
    if (end <= offset || tile == 0 || tile_offset > offset ||
        tile_offset + tile <= offset) {
      return InvalidArgumentError("the header contradicts itself");
    }
    tiles *= (end - tile_offset + tile - 1) / tile;
    if (tiles > kMaxTiles) {
      return ResourceExhaustedError(
          StrCat("the header says more than ", kMaxTiles, " tiles"));
    }
  }
  return CheckSize(static_cast<int64_t>(sizes[1] - sizes[3]),
                   static_cast<int64_t>(sizes[0] - sizes[2]), limits);
}

// A file in memory as OpenJPEG reads it.
struct Source {
  ImageBytes file;
  size_t at = 0;
};

OPJ_SIZE_T OnRead(void* to, OPJ_SIZE_T count, void* data) {
  auto* const source = static_cast<Source*>(data);
  const size_t left = source->file.size() - source->at;
  if (left == 0) return static_cast<OPJ_SIZE_T>(-1);
  const size_t read = std::min<size_t>(count, left);
  memcpy(to, source->file.data() + source->at, read);
  source->at += read;
  return read;
}

OPJ_BOOL OnSeek(OPJ_OFF_T at, void* data) {
  auto* const source = static_cast<Source*>(data);
  if (at < 0 || static_cast<uint64_t>(at) > source->file.size()) {
    return OPJ_FALSE;
  }
  source->at = static_cast<size_t>(at);
  return OPJ_TRUE;
}

OPJ_OFF_T OnSkip(OPJ_OFF_T count, void* data) {
  auto* const source = static_cast<Source*>(data);
  const auto left = static_cast<int64_t>(source->file.size() - source->at);
  if (count < 0 || count > left) return -1;
  source->at += static_cast<size_t>(count);
  return count;
}

// The first message counts: later ones say what follows from it.
void OnError(const char* message, void* data) {
  auto* const error = static_cast<std::string*>(data);
  if (!error->empty()) return;
  *error = message;
  while (error->ends_with('\n')) error->pop_back();
}

class Decoder {
 public:
  Decoder(const OpenJpeg& opj, ImageBytes file)
      : opj_(opj),
        source_{file},
        codec_(opj.create(file[0] == 0xFF ? OPJ_CODEC_J2K : OPJ_CODEC_JP2)),
        stream_(opj.create_stream(OPJ_J2K_STREAM_CHUNK_SIZE, OPJ_TRUE)) {
    if (stream_ == nullptr) return;
    opj_.set_read(stream_, OnRead);
    opj_.set_seek(stream_, OnSeek);
    opj_.set_skip(stream_, OnSkip);
    opj_.set_user_data(stream_, &source_, nullptr);
    opj_.set_length(stream_, file.size());
  }
  ~Decoder() {
    if (image_ != nullptr) opj_.destroy_image(image_);
    if (stream_ != nullptr) opj_.destroy_stream(stream_);
    if (codec_ != nullptr) opj_.destroy_codec(codec_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // The image, which lives as long as this does.
  StatusOr<const opj_image_t*> Decode() {
    if (codec_ == nullptr || stream_ == nullptr) {
      return ResourceExhaustedError("OpenJPEG does not start");
    }
    opj_.set_error_handler(codec_, OnError, &error_);
    opj_dparameters_t parameters;
    opj_.set_defaults(&parameters);
    if (!opj_.set_up(codec_, &parameters) ||
        !opj_.read_header(stream_, codec_, &image_) ||
        !opj_.decode(codec_, stream_, image_) || !opj_.end(codec_, stream_)) {
      return InvalidArgumentError(
          error_.empty() ? "the data are damaged or truncated" : error_);
    }
    return image_;
  }

 private:
  const OpenJpeg& opj_;
  Source source_;
  std::string error_;
  opj_codec_t* const codec_;
  opj_stream_t* const stream_;
  opj_image_t* image_ = nullptr;
};

Status CheckImage(const opj_image_t& image) {
  const bool is_color = image.numcomps >= 3;
  if (image.color_space != OPJ_CLRSPC_UNSPECIFIED &&
      image.color_space != OPJ_CLRSPC_UNKNOWN &&
      image.color_space != (is_color ? OPJ_CLRSPC_SRGB : OPJ_CLRSPC_GRAY)) {
    return InvalidArgumentError(
        StrCat("colour space ", static_cast<int>(image.color_space), " of ",
               image.numcomps, " components is not supported"));
  }
  for (OPJ_UINT32 i = 0; i < image.numcomps; ++i) {
    const opj_image_comp_t& part = image.comps[i];
    if (part.data == nullptr || part.w != image.comps[0].w ||
        part.h != image.comps[0].h || part.dx != 1 || part.dy != 1) {
      return InvalidArgumentError(
          "components of different sizes are not supported");
    }
    if (part.prec < 1 || part.prec > 16) {
      return InvalidArgumentError(
          StrCat(part.prec, " bits of a component are not supported"));
    }
  }
  return OkStatus();
}

// A sample as 8 bits: of more the high ones, but for gray, which is brought to
// 16 and clipped.
uint8_t Sample(const opj_image_comp_t& part, size_t i, bool is_gray) {
  const int prec = static_cast<int>(part.prec);
  const int64_t low = part.sgnd ? -(int64_t{1} << (prec - 1)) : 0;
  const int64_t value = part.data[i] - low;
  if (prec <= 8) return Clipped(value << (8 - prec));
  return Clipped(is_gray ? value << (16 - prec) : value >> (prec - 8));
}

}  // namespace

StatusOr<Literal> DecodeJpeg2000(ImageBytes file, const ImageLimits& limits) {
  static const auto* const library = new StatusOr<OpenJpeg>(Load());
  ENCORE_RETURN_IF_ERROR(CheckHeader(file, limits));
  ENCORE_RETURN_IF_ERROR(library->status());
  Decoder decoder(**library, file);
  ENCORE_ASSIGN_OR_RETURN(const opj_image_t* const image, decoder.Decode());
  if (image->numcomps < 1) return InvalidArgumentError("there are no pixels");
  ENCORE_RETURN_IF_ERROR(CheckImage(*image));
  ENCORE_RETURN_IF_ERROR(
      CheckSize(image->comps[0].h, image->comps[0].w, limits));
  const size_t channels = image->numcomps >= 3 ? 3 : 1;
  Literal pixels = NewPixels(image->comps[0].h, image->comps[0].w,
                             static_cast<int64_t>(channels));
  const std::span<uint8_t> values = pixels.mutable_values<uint8_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Sample(image->comps[i % channels], i / channels, channels == 1);
  }
  return pixels;
}

}  // namespace encore::host
