#!/usr/bin/env python3
"""Writes the cases of decode_test: image files, and the pixels that Pillow gives for them.

    make_cases.py ir/host/images/testdata          (needs Pillow and NumPy)

`files` are decoded; `expected` has for each what convert("RGB") gives as FILE.ppm and what convert("L") gives as FILE.pgm.
What Pillow does not write is put together here. The files of `refused` are listed in decode_test.cc with what is wrong.
"""
import io
import pathlib
import shutil
import struct
import sys
import zlib

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 21, 10


def picture(channels, top=255):
    """Slopes, an edge and some noise, [HEIGHT, WIDTH, channels]."""
    random = np.random.default_rng(5)
    y, x, c = np.mgrid[0:HEIGHT, 0:WIDTH, 0:channels]
    smooth = (x * (c + 3) * 5 + y * (7 - c) * 3) % 256
    smooth = np.where(x > 14, 255 - smooth, smooth)
    noisy = np.clip(smooth + random.integers(-9, 10, smooth.shape), 0, 255)
    return (noisy * top // 255).astype(np.uint16 if top > 255 else np.uint8)


def image(mode):
    if mode == '1':
        return Image.fromarray(picture(1)[:, :, 0]).convert('1')
    if mode == 'P':
        return image('RGB').quantize(23)
    if mode == 'CMYK':
        return Image.frombytes('CMYK', (WIDTH, HEIGHT), picture(4).tobytes())
    if mode == 'I;16':
        return Image.fromarray(picture(1, 700)[:, :, 0])
    pixels = picture({'L': 1, 'LA': 2, 'RGB': 3, 'RGBA': 4}[mode])
    return Image.fromarray(pixels[:, :, 0] if mode == 'L' else pixels)


def saved(mode, form, **options):
    file = io.BytesIO()
    image(mode).save(file, form, **options)
    return file.getvalue()


def packed(values, bits):
    """Rows of values of `bits` bits, the first in the highest ones, each from a whole byte on."""
    rows = values.reshape(values.shape[0], -1)
    if bits == 16:
        return [row.astype('>u2').tobytes() for row in rows]
    split = (rows[:, :, None] >> np.arange(bits - 1, -1, -1)) & 1
    return [np.packbits(row.reshape(-1).astype(np.uint8)).tobytes() for row in split]


def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


def png(values, bits, colors, interlaced=False, palette=None, extra=b''):
    """PNG: `values` [HEIGHT, WIDTH, channels]; `colors`: 0 gray, 2 RGB, 3 palette, 4 gray and alpha, 6 RGBA."""
    steps = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    data = b''
    for x, y, dx, dy in steps if interlaced else [(0, 0, 1, 1)]:
        part = values[y::dy, x::dx]
        if part.size:
            data += b''.join(b'\0' + row for row in packed(part, bits))
    header = struct.pack('>IIBBBBB', values.shape[1], values.shape[0], bits, colors, 0, 0, int(interlaced))
    chunks = chunk(b'IHDR', header) + extra + (chunk(b'PLTE', palette) if palette else b'')
    return b'\x89PNG\r\n\x1a\n' + chunks + chunk(b'IDAT', zlib.compress(data)) + chunk(b'IEND', b'')


PALETTE = bytes((37 * i + 50 * c) % 256 for i in range(16) for c in range(3))
QUADS = b''.join(PALETTE[3 * i:3 * i + 3][::-1] + b'\0' for i in range(16))


def bmp(data, bits, compression=0, height=HEIGHT, after_header=b'', colors=0):
    header = struct.pack('<IiiHHIIiiII', 40, WIDTH, height, 1, bits, compression, len(data), 0, 0, colors, 0)
    begin = 14 + len(header) + len(after_header)
    return b'BM' + struct.pack('<IHHI', begin + len(data), 0, 0, begin) + header + after_header + data


def padded(rows):
    return b''.join(row + b'\0' * (-len(row) % 4) for row in rows)


def bmp_cases():
    rgb = picture(3).astype(np.uint32)
    bgr = [row[:, ::-1].tobytes() for row in picture(3)]
    x1555 = ((rgb[:, :, 0] >> 3) << 10 | (rgb[:, :, 1] >> 3) << 5 | rgb[:, :, 2] >> 3).astype('<u2')
    x565 = ((rgb[:, :, 0] >> 3) << 11 | (rgb[:, :, 1] >> 2) << 5 | rgb[:, :, 2] >> 3).astype('<u2')
    rgbx = (rgb[:, :, 0] << 24 | rgb[:, :, 1] << 16 | rgb[:, :, 2] << 8).astype('<u4')
    for mode in ('1', 'L', 'P', 'RGB', 'RGBA'):
        yield f'{mode.lower()}.bmp', saved(mode, 'BMP')
    yield 'top_down.bmp', bmp(padded(bgr), 24, height=-HEIGHT)
    yield 'bits_4.bmp', bmp(padded(packed(picture(1) % 16, 4)), 4, after_header=QUADS, colors=16)
    yield 'bits_16.bmp', bmp(padded(row.tobytes() for row in x1555), 16)
    yield 'masks_16.bmp', bmp(padded(row.tobytes() for row in x565), 16, 3,
                              after_header=struct.pack('<III', 0xF800, 0x7E0, 0x1F))
    yield 'masks_32.bmp', bmp(rgbx.tobytes(), 32, 3, after_header=struct.pack('<III', 0xFF000000, 0xFF0000, 0xFF00))
    core = struct.pack('<IHHHH', 12, WIDTH, HEIGHT, 1, 24)
    yield 'os2.bmp', b'BM' + struct.pack('<IHHI', 0, 0, 0, 26) + core + padded(bgr)
    # Runs, values as they are, moves.
    runs = bytes([9, 5, 0, 3, 1, 2, 3, 0, 0, 0, 21, 7, 0, 0, 0, 2, 4, 2, 3, 2, 5, 9, 0, 2, 0, 5, 9, 3, 0, 1])
    yield 'runs_8.bmp', bmp(runs, 8, 1, after_header=QUADS, colors=16)
    yield 'runs_4.bmp', bmp(bytes([9, 0x5A, 0, 4, 0x12, 0x34, 0, 0] + [21, 0x70, 0, 0] * 9 + [0, 1]), 4, 2,
                            after_header=QUADS, colors=16)


def png_cases():
    for mode in ('1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'I;16'):
        yield f'{mode.lower().replace(";", "_")}.png', saved(mode, 'PNG')
    for bits in (1, 2, 4):
        values = (picture(1) >> (8 - bits)).astype(np.uint8)
        yield f'gray_{bits}.png', png(values, bits, 0)
        yield f'palette_{bits}.png', png(values, bits, 3, palette=PALETTE[:3 << bits])
    yield 'interlaced_rgb.png', png(picture(3), 8, 2, True)
    yield 'interlaced_gray_2.png', png(picture(1) >> 6, 2, 0, True)
    yield 'interlaced_palette.png', png(picture(1) >> 4, 4, 3, True, palette=PALETTE)
    for name, colors, channels in (('gray', 0, 1), ('rgb', 2, 3), ('la', 4, 2), ('rgba', 6, 4)):
        yield f'wide_{name}.png', png(picture(channels, 65535 if colors else 600), 16, colors)
    yield 'gamma.png', png(picture(3), 8, 2, extra=chunk(b'gAMA', struct.pack('>I', 100000)))
    yield 'transparent_color.png', png(picture(3), 8, 2, extra=chunk(b'tRNS', picture(3)[0, 0].astype('>u2').tobytes()))
    yield 'transparent_palette.png', saved('P', 'PNG', transparency=bytes(range(0, 230, 10)))


def jpeg_cases():
    for mode in ('L', 'RGB', 'CMYK'):
        for progressive in (False, True):
            name = f'{mode.lower()}{"_progressive" if progressive else ""}.jpg'
            yield name, saved(mode, 'JPEG', quality=80, progressive=progressive)
    for subsampling in ('4:4:4', '4:2:2', '4:2:0', '4:1:1'):
        yield f'rgb_{subsampling.replace(":", "")}.jpg', saved('RGB', 'JPEG', quality=90, subsampling=subsampling)
    exif = Image.Exif()
    exif[0x112] = 6
    yield 'turned.jpg', saved('RGB', 'JPEG', quality=85, exif=exif)
    yield 'rgb_inside.jpg', saved('RGB', 'JPEG', quality=85, keep_rgb=True)
    yield 'restarts.jpg', saved('RGB', 'JPEG', quality=85, restart_marker_blocks=1)


def jpeg2000_cases():
    for mode in ('L', 'LA', 'RGB', 'RGBA', 'I;16'):
        yield f'{mode.lower().replace(";", "_")}.jp2', saved(mode, 'JPEG2000')
    yield 'rgb.j2k', saved('RGB', 'JPEG2000', no_jp2=True)
    yield 'lossy.jp2', saved('RGB', 'JPEG2000', irreversible=True, quality_mode='rates', quality_layers=[6], mct=1)
    yield 'tiles.jp2', saved('RGB', 'JPEG2000', tile_size=(8, 8), num_resolutions=2)


def pnm_cases():
    def text(values):
        return '\n'.join(' '.join(map(str, row)) for row in values.reshape(values.shape[0], -1)).encode() + b'\n'
    size = f'{WIDTH} {HEIGHT}\n'.encode()
    gray, rgb = picture(1), picture(3)
    yield 'text.pbm', b'P1\n# bits\n' + size + text(gray >> 7).replace(b' ', b'')
    yield 'text.pgm', b'P2 # levels\n' + size + b'200 # the most\n' + text(np.minimum(gray, 200))
    yield 'text.ppm', b'P3\n' + size + b'255\n' + text(rgb).replace(b'\n', b' # row\n', 2)
    yield 'bits.pbm', b'P4\n' + size + b''.join(packed(gray >> 7, 1))
    yield 'gray.pgm', b'P5\n' + size + b'255\n' + gray.tobytes()
    yield 'gray_100.pgm', b'P5 ' + size + b'100\n' + np.minimum(gray, 100).tobytes()
    yield 'gray_wide.pgm', b'P5 ' + size + b'65535\n' + picture(1, 600).astype('>u2').tobytes()
    yield 'gray_1000.pgm', b'P5 ' + size + b'1000\n' + picture(1, 9).astype('>u2').tobytes()
    yield 'rgb.ppm', b'P6\n' + size + b'255\n' + rgb.tobytes()
    yield 'rgb_wide.ppm', b'P6\n' + size + b'4000\n' + picture(3, 4000).astype('>u2').tobytes()


def tiff(entries, data, order='<'):
    """A TIFF of one directory; `entries`: {tag: (type, values)}, 273 and 324 relative to the data."""
    kinds = {3: 'H', 4: 'I'}
    tail, body = b'', b''
    begin = 8 + 2 + 12 * len(entries) + 4
    longer = sum(struct.calcsize(kinds[kind]) * len(values) for kind, values in entries.values()
                 if struct.calcsize(kinds[kind]) * len(values) > 4)
    for tag, (kind, values) in sorted(entries.items()):
        if tag in (273, 324):
            values = [begin + longer + value for value in values]
        raw = struct.pack(f'{order}{len(values)}{kinds[kind]}', *values)
        place = raw.ljust(4, b'\0')
        if len(raw) > 4:
            place = struct.pack(order + 'I', begin + len(tail))
            tail += raw
        body += struct.pack(order + 'HHI', tag, kind, len(values)) + place
    start = (b'II' if order == '<' else b'MM') + struct.pack(order + 'HI', 42, 8)
    return start + struct.pack(order + 'H', len(entries)) + body + b'\0' * 4 + tail + data


def tiled_tiff(values, side, separate=False, compress=False):
    channels = values.shape[2]
    planes = [values[:, :, c:c + 1] for c in range(channels)] if separate else [values]
    tiles = []
    for plane in planes:
        for y in range(0, HEIGHT, side):
            for x in range(0, WIDTH, side):
                tile = np.zeros((side, side, plane.shape[2]), values.dtype)
                part = plane[y:y + side, x:x + side]
                tile[:part.shape[0], :part.shape[1]] = part
                tiles.append(zlib.compress(tile.tobytes()) if compress else tile.tobytes())
    lengths = [len(tile) for tile in tiles]
    offsets = [sum(lengths[:i]) for i in range(len(tiles))]
    return tiff({256: (3, [WIDTH]), 257: (3, [HEIGHT]), 258: (3, [8 * values.dtype.itemsize] * channels),
                 259: (3, [8 if compress else 1]), 262: (3, [2 if channels >= 3 else 1]), 277: (3, [channels]),
                 284: (3, [2 if separate else 1]), 322: (3, [side]), 323: (3, [side]), 324: (4, offsets),
                 325: (4, lengths)}, b''.join(tiles))


def strip_tiff(values, bits, photometric, order='<', **more):
    rows = b''.join(packed(values, bits) if bits < 8 else [values.astype(f'{order}u{bits // 8}').tobytes()])
    channels = values.shape[2]
    entries = {256: (3, [WIDTH]), 257: (3, [HEIGHT]), 258: (3, [bits] * channels), 259: (3, [1]),
               262: (3, [photometric]), 273: (4, [0]), 277: (3, [channels]), 278: (3, [HEIGHT]), 279: (4, [len(rows)])}
    entries.update({int(tag[1:]): entry for tag, entry in more.items()})
    return tiff(entries, rows, order)


def tiff_cases():
    for mode in ('1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'CMYK', 'I;16'):
        yield f'{mode.lower().replace(";", "_")}.tif', saved(mode, 'TIFF')
    yield 'fax.tif', saved('1', 'TIFF', compression='group4')
    for compression in ('tiff_lzw', 'tiff_adobe_deflate', 'packbits', 'jpeg'):
        yield f'rgb_{compression}.tif', saved('RGB', 'TIFF', compression=compression)
    yield 'predictor.tif', saved('RGB', 'TIFF', compression='tiff_lzw', tiffinfo={317: 2})
    for orientation in range(2, 9):
        yield f'turned_{orientation}.tif', saved('RGB', 'TIFF', compression='tiff_lzw', tiffinfo={274: orientation})
    yield 'tiles.tif', tiled_tiff(picture(3), 16)
    yield 'tiles_gray.tif', tiled_tiff(picture(1), 16, compress=True)
    yield 'tiles_planes.tif', tiled_tiff(picture(3), 16, separate=True, compress=True)
    yield 'big_endian_wide.tif', strip_tiff(picture(3, 65535), 16, 2, '>')
    yield 'white_is_zero.tif', strip_tiff(picture(1), 8, 0)
    yield 'gray_4.tif', strip_tiff(picture(1) >> 4, 4, 1)
    yield 'palette_2.tif', strip_tiff(picture(1) >> 6, 2, 3, t320=(3, [v * 257 for v in PALETTE[:12]]))


def webp_cases():
    yield 'lossy.webp', saved('RGB', 'WEBP', quality=70)
    yield 'lossy_alpha.webp', saved('RGBA', 'WEBP', quality=70)
    yield 'lossless.webp', saved('RGB', 'WEBP', lossless=True)
    yield 'lossless_alpha.webp', saved('RGBA', 'WEBP', lossless=True, exact=True)


def refused_cases():
    frames = [image('RGB'), image('RGB').rotate(180)]
    file = io.BytesIO()
    frames[0].save(file, 'WEBP', save_all=True, append_images=frames[1:], lossless=True)
    yield 'animation.webp', file.getvalue()
    good = png(picture(3), 8, 2)
    yield 'checksum.png', good[:-13] + bytes([good[-13] ^ 1]) + good[-12:]
    yield 'palette.png', png(picture(1) >> 4, 4, 3, palette=PALETTE[:12])
    size = struct.pack('>II', 60000, 60000)
    header = b'IHDR' + size + good[24:29]
    yield 'huge.png', good[:12] + header + struct.pack('>I', zlib.crc32(header)) + good[33:]
    size = struct.pack('>II', 16000, 16000)
    header = b'IHDR' + size + good[24:29]
    yield 'large.png', good[:12] + header + struct.pack('>I', zlib.crc32(header)) + good[33:]
    for mode, form, name in (('RGB', 'JPEG', 'jpg'), ('RGB', 'PNG', 'png'), ('RGB', 'BMP', 'bmp'),
                             ('RGB', 'TIFF', 'tif'), ('RGB', 'WEBP', 'webp'), ('RGB', 'JPEG2000', 'jp2'),
                             ('RGB', 'PPM', 'ppm')):
        data = saved(mode, form)
        yield f'truncated.{name}', data[:len(data) * 2 // 3]
    yield 'huge.ppm', b'P6 99999999 99999999 255\n'
    yield 'huge.bmp', bmp(b'', 24, height=1 << 30)
    yield 'palette.bmp', bmp(padded(packed(picture(1) % 16, 4)), 4, after_header=QUADS[:16], colors=4)
    yield 'runs.bmp', bmp(bytes([200, 1, 0, 1]), 8, 1, after_header=QUADS, colors=16)
    yield 'maximum.pgm', b'P2 2 1 100 5 101 '
    yield 'huge.tif', strip_tiff(picture(3), 8, 2, t256=(4, [1 << 30]), t257=(4, [1 << 30]), t278=(4, [1 << 30]))
    yield 'float.tif', strip_tiff(picture(1).astype(np.uint32), 32, 1, t339=(3, [3]))
    yield 'premultiplied.tif', strip_tiff(picture(4), 8, 2, t338=(3, [1]))
    stream = bytearray(saved('RGB', 'JPEG2000', no_jp2=True))
    stream[8:16] = struct.pack('>II', 1 << 31, 1 << 31)
    stream[24:32] = struct.pack('>II', 1 << 31, 1 << 31)
    yield 'huge.j2k', bytes(stream)
    stream[24:32] = struct.pack('>II', 1, 1)
    yield 'tiles.j2k', bytes(stream)
    yield 'picture.gif', saved('P', 'GIF')


def write_pixels(path, pixels):
    kind = 'P6' if pixels.ndim == 3 else 'P5'
    path.write_bytes(f'{kind}\n{pixels.shape[1]} {pixels.shape[0]}\n255\n'.encode() + pixels.tobytes())


def main():
    root = pathlib.Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    for folder in ('files', 'expected', 'refused'):
        (root / folder).mkdir(parents=True)
    for cases in (bmp_cases, png_cases, jpeg_cases, jpeg2000_cases, pnm_cases, tiff_cases, webp_cases):
        for name, data in cases():
            (root / 'files' / name).write_bytes(data)
            for mode, suffix in (('RGB', 'ppm'), ('L', 'pgm')):
                pixels = np.array(Image.open(io.BytesIO(data)).convert(mode))
                write_pixels(root / 'expected' / f'{name}.{suffix}', pixels)
    for name, data in refused_cases():
        (root / 'refused' / name).write_bytes(data)


main()
