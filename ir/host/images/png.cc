// PNG by libpng.
//
// libpng leaves a function that fails by longjmp. What it may jump over has no
// destructors: `Reader` is plain data, and the functions that call setjmp have
// no objects of their own.

#include "png.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include "encore/ir/host/images/decoders.h"
#include "encore/ir/host/images/library.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::host {
namespace {

struct Png {
  decltype(&png_create_read_struct) create_read;
  decltype(&png_create_info_struct) create_info;
  decltype(&png_destroy_read_struct) destroy_read;
  decltype(&png_error) error;
  decltype(&png_get_error_ptr) get_error_ptr;
  decltype(&png_get_IHDR) get_header;
  decltype(&png_get_io_ptr) get_io_ptr;
  decltype(&png_get_PLTE) get_palette;
  decltype(&png_longjmp) jump;
  decltype(&png_read_end) read_end;
  decltype(&png_read_image) read_image;
  decltype(&png_read_info) read_info;
  decltype(&png_read_update_info) update_info;
  decltype(&png_get_rowbytes) get_rowbytes;
  decltype(&png_set_expand_gray_1_2_4_to_8) set_expand_gray;
  decltype(&png_set_interlace_handling) set_interlaced;
  decltype(&png_set_keep_unknown_chunks) set_keep_chunks;
  decltype(&png_set_longjmp_fn) set_jump;
  decltype(&png_set_packing) set_packing;
  decltype(&png_set_read_fn) set_read;
  decltype(&png_set_strip_16) set_strip_16;
  decltype(&png_set_strip_alpha) set_strip_alpha;
  decltype(&png_set_user_limits) set_user_limits;
};

StatusOr<Png> Load() {
  Library library("libpng16.so.16", "libpng16-16");
  Png png;
  library.Bind("png_create_read_struct", &png.create_read);
  library.Bind("png_create_info_struct", &png.create_info);
  library.Bind("png_destroy_read_struct", &png.destroy_read);
  library.Bind("png_error", &png.error);
  library.Bind("png_get_error_ptr", &png.get_error_ptr);
  library.Bind("png_get_IHDR", &png.get_header);
  library.Bind("png_get_io_ptr", &png.get_io_ptr);
  library.Bind("png_get_PLTE", &png.get_palette);
  library.Bind("png_longjmp", &png.jump);
  library.Bind("png_read_end", &png.read_end);
  library.Bind("png_read_image", &png.read_image);
  library.Bind("png_read_info", &png.read_info);
  library.Bind("png_read_update_info", &png.update_info);
  library.Bind("png_get_rowbytes", &png.get_rowbytes);
  library.Bind("png_set_expand_gray_1_2_4_to_8", &png.set_expand_gray);
  library.Bind("png_set_interlace_handling", &png.set_interlaced);
  library.Bind("png_set_keep_unknown_chunks", &png.set_keep_chunks);
  library.Bind("png_set_longjmp_fn", &png.set_jump);
  library.Bind("png_set_packing", &png.set_packing);
  library.Bind("png_set_read_fn", &png.set_read);
  library.Bind("png_set_strip_16", &png.set_strip_16);
  library.Bind("png_set_strip_alpha", &png.set_strip_alpha);
  library.Bind("png_set_user_limits", &png.set_user_limits);
  return library.Found(png);
}

const StatusOr<Png>& Lib() {
  static const auto* const library = new StatusOr<Png>(Load());
  return *library;
}

struct Reader {
  const Png* lib = nullptr;
  const uint8_t* data = nullptr;
  size_t size = 0, at = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  png_uint_32 width = 0, height = 0;
  int bits = 0, colors = 0;
  png_colorp palette = nullptr;
  int palette_size = 0;
  size_t row_bytes = 0;
  char message[160] = {};
};
static_assert(std::is_trivially_destructible_v<Reader>);

void OnError(png_structp png, png_const_charp message) {
  auto* const reader = static_cast<Reader*>(Lib()->get_error_ptr(png));
  snprintf(reader->message, sizeof(reader->message), "%s", message);
  Lib()->jump(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep to, size_t count) {
  auto* const reader = static_cast<Reader*>(Lib()->get_io_ptr(png));
  if (count > reader->size - reader->at) Lib()->error(png, "truncated");
  memcpy(to, reader->data + reader->at, count);
  reader->at += count;
}

// False where the reader has a message.
bool ReadHeader(Reader* r) {
  if (setjmp(*r->lib->set_jump(r->png, longjmp, sizeof(jmp_buf))) != 0) {
    return false;
  }
  r->lib->set_read(r->png, r, OnRead);
  r->lib->set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  // Neither text nor colour profiles are looked at.
  r->lib->set_keep_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  r->lib->read_info(r->png, r->info);
  r->lib->get_header(r->png, r->info, &r->width, &r->height, &r->bits,
                     &r->colors, nullptr, nullptr, nullptr);
  return true;
}

// Gray of 16 bits stays so, and so do indices of the palette, a byte each; all
// else becomes 8 bits of gray or of colours.
bool Prepare(Reader* r) {
  if (setjmp(*r->lib->set_jump(r->png, longjmp, sizeof(jmp_buf))) != 0) {
    return false;
  }
  if (r->colors == PNG_COLOR_TYPE_PALETTE) {
    r->lib->get_palette(r->png, r->info, &r->palette, &r->palette_size);
    r->lib->set_packing(r->png);
  } else if (r->bits < 8) {
    r->lib->set_expand_gray(r->png);
  } else if (r->bits == 16 && r->colors != PNG_COLOR_TYPE_GRAY) {
    r->lib->set_strip_16(r->png);
  }
  r->lib->set_strip_alpha(r->png);
  r->lib->set_interlaced(r->png);
  r->lib->update_info(r->png, r->info);
  r->row_bytes = r->lib->get_rowbytes(r->png, r->info);
  return true;
}

bool ReadRows(Reader* r, png_bytepp rows) {
  if (setjmp(*r->lib->set_jump(r->png, longjmp, sizeof(jmp_buf))) != 0) {
    return false;
  }
  r->lib->read_image(r->png, rows);
  r->lib->read_end(r->png, nullptr);
  return true;
}

class Owned {
 public:
  Owned(const Png* lib, ImageBytes file) {
    reader.lib = lib;
    reader.data = file.data();
    reader.size = file.size();
    reader.png =
        lib->create_read(PNG_LIBPNG_VER_STRING, &reader, OnError, OnWarning);
    if (reader.png != nullptr) reader.info = lib->create_info(reader.png);
  }
  ~Owned() {
    if (reader.png == nullptr) return;
    reader.lib->destroy_read(&reader.png, &reader.info, nullptr);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  Status Error() const { return InvalidArgumentError(reader.message); }

  Reader reader;
};

// Rows of a size that does not depend on the file's damage.
Status CheckLength(const Reader& r) {
  constexpr int kChannels[] = {1, 0, 3, 1, 2, 0, 4};  // by colour type
  const auto bits = static_cast<uint64_t>(r.bits) * kChannels[r.colors];
  // Deflate makes at most 1032 bytes of one.
  if (bits * r.width * r.height / 8 / 1032 <= r.size) return OkStatus();
  return InvalidArgumentError("the file is too short for its pixels");
}

Literal ClippedGray(const Literal& wide) {
  Literal gray = NewPixels(wide.dims()[0], wide.dims()[1], 1);
  const ImageBytes pairs = wide.values<uint8_t>();
  const std::span<uint8_t> values = gray.mutable_values<uint8_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Clipped(Big16(pairs, 2 * i));
  }
  return gray;
}

StatusOr<Literal> ColorsOf(const Literal& indices, const Reader& r) {
  Literal pixels = NewPixels(indices.dims()[0], indices.dims()[1], 3);
  uint8_t* to = pixels.mutable_values<uint8_t>().data();
  for (const uint8_t index : indices.values<uint8_t>()) {
    if (index >= r.palette_size) {
      return InvalidArgumentError(StrCat("a pixel has colour ", int{index},
                                         " of a palette of ", r.palette_size));
    }
    const png_color color = r.palette[index];
    *to++ = color.red;
    *to++ = color.green;
    *to++ = color.blue;
  }
  return pixels;
}

StatusOr<Literal> ReadPixels(Owned* owned) {
  Reader& r = owned->reader;
  const bool is_wide = r.bits == 16 && r.colors == PNG_COLOR_TYPE_GRAY;
  const bool is_rgb = (r.colors & ~PNG_COLOR_MASK_ALPHA) == PNG_COLOR_TYPE_RGB;
  const int64_t pixel_bytes = is_wide ? 2 : is_rgb ? 3 : 1;
  const int64_t row_bytes = r.width * pixel_bytes;
  if (static_cast<int64_t>(r.row_bytes) != row_bytes) {
    return InternalError("libpng gives rows of another size");
  }
  Literal pixels = NewPixels(r.height, r.width, pixel_bytes);
  std::vector<png_bytep> rows(r.height);
  for (size_t y = 0; y < rows.size(); ++y) {
    rows[y] = pixels.mutable_values<uint8_t>().data() + y * row_bytes;
  }
  if (!ReadRows(&r, rows.data())) return owned->Error();
  if (is_wide) return ClippedGray(pixels);
  if (r.colors == PNG_COLOR_TYPE_PALETTE) return ColorsOf(pixels, r);
  return pixels;
}

}  // namespace

StatusOr<Literal> DecodePng(ImageBytes file, const ImageLimits& limits) {
  ENCORE_RETURN_IF_ERROR(Lib().status());
  Owned owned(&*Lib(), file);
  if (owned.reader.info == nullptr) {
    return ResourceExhaustedError("libpng does not start");
  }
  if (!ReadHeader(&owned.reader)) return owned.Error();
  ENCORE_RETURN_IF_ERROR(
      CheckSize(owned.reader.height, owned.reader.width, limits));
  ENCORE_RETURN_IF_ERROR(CheckLength(owned.reader));
  if (!Prepare(&owned.reader)) return owned.Error();
  return ReadPixels(&owned);
}

}  // namespace encore::host
