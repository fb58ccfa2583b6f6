#!/usr/bin/env python3
"""Makes the calls of the example models: real inputs, and what ONNX Runtime gives for them.

  tests/benchmarks/peers && ~/.cache/encore/peers/bin/python tools/run/examples/make.py

Writes tools/run/examples/MODEL/CALL.npz, tensors in/NAME and out/NAME (the whole format: call_file.h), and
the calls of tools/run/testdata. To keep the files small, floats
are stored as f16. Inputs are rounded before they are run, so that nothing is lost with them; of the
outputs the relative error is at most 2^-11, and what is below FLUSH is 0. Whole numbers are stored in the
smallest type.
"""
import math
import os
import zipfile

import numpy as np
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
HOME = os.environ.get('ENCORE_HOME') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'encore')
DEPS = os.environ.get('ENCORE_DEPS') or os.path.join(HOME, 'deps')
OCR = 'rapidocr-onnxruntime==1.4.4/rapidocr_onnxruntime/models/'
MODELS = {
    'magika': 'magika==1.0.3/magika/models/standard_v3_3/model.onnx',
    'basic_pitch': 'basic-pitch==0.4.0/basic_pitch/saved_models/icassp_2022/nmp.onnx',
    'ppocrv4_det': OCR + 'ch_PP-OCRv4_det_infer.onnx',
    'ppocrv4_rec': OCR + 'ch_PP-OCRv4_rec_infer.onnx',
    'ppocrv4_cls': OCR + 'ch_ppocr_mobile_v2.0_cls_infer.onnx',
}
VAD = 'silero-vad==6.2.3/silero_vad/data/'
FLUSH = 2e-6


def file_bytes(path):
    """magika's features: the first and last 1024 bytes, stripped and padded with 256."""
    block, size, pad = 4096, 1024, 256
    with open(os.path.join(ROOT, path), 'rb') as file:
        content = file.read()
    first, last = content[:block].lstrip()[:size], content[-block:].rstrip()[-size:]
    tokens = (list(first) + [pad] * (size - len(first)) +
              [pad] * (size - len(last)) + list(last))
    return np.array([tokens], np.int32)


def magika():
    for path in ('tools/run/examples/make.py', 'CONTRIBUTING.md', 'tools/deps/setup',
                 'tools/command.h', 'BUILD.bazel'):
        yield os.path.basename(path), file_bytes(path)


def tone(seconds, rate, midi):
    """A plucked string: six harmonics that fade faster the higher they are."""
    t = np.arange(int(seconds * rate)) / rate
    frequency = 440.0 * 2 ** ((midi - 69) / 12)
    wave = sum(np.exp(-(1.5 + 0.8 * k) * t) / k**2 * np.sin(2 * math.pi * k * frequency * t)
               for k in range(1, 7) if k * frequency < rate / 2)
    return wave * np.minimum(1, t / 0.005) * np.minimum(1, (seconds - t) / 0.02)


def melody(notes):
    """Two seconds, as the model takes them, of (begin, seconds, midi number)."""
    rate, samples = 22050, 43844
    wave = np.zeros(samples)
    for begin, seconds, midi in notes:
        sound, at = tone(seconds, rate, midi), int(begin * rate)
        wave[at:at + len(sound)] += sound[:samples - at]
    return (0.6 * wave / np.abs(wave).max()).reshape(1, samples, 1).astype(np.float32)


def basic_pitch():
    yield 'scale', melody([(0.1 + 0.35 * i, 0.33, midi) for i, midi in enumerate((60, 62, 64, 65, 67))])


def draw(size, texts):
    """White page, black text: (x, y, height, text)."""
    page = Image.new('RGB', size, 'white')
    pen = ImageDraw.Draw(page)
    for x, y, height, text in texts:
        pen.text((x, y), text, 'black', ImageFont.load_default(height))
    return page


def pixels(image):
    """[1, 3, H, W] between -1 and 1."""
    values = np.asarray(image, np.float32) / 127.5 - 1
    return np.ascontiguousarray(values.transpose(2, 0, 1))[None]


def line(text, width):
    """A line as cut from a page, 48 pixels high, what is left of the width zeros."""
    font = ImageFont.load_default(32)
    image = draw((math.ceil(font.getlength(text)) + 12, 48), [(6, 4, 32, text)])
    if image.width > width:
        image = image.resize((width, 48), Image.BICUBIC)
    return image, width


def padded(image, width):
    values = np.zeros((1, 3, 48, width), np.float32)
    values[..., :image.width] = pixels(image)
    return values


def ppocrv4_det():
    yield 'page', pixels(draw((640, 640), [
        (60, 50, 44, 'Compile once,'), (60, 110, 44, 'replay anywhere'),
        (60, 230, 24, 'A program comes in as a tensor graph.'),
        (60, 270, 24, 'It is improved in an e-graph, lowered to steps'),
        (60, 310, 24, 'over numbered slots, and replayed.'),
        (60, 430, 30, '1 compile'), (360, 430, 30, '0.4 s'),
        (60, 480, 30, '1000 replays'), (360, 480, 30, '4.9 s'),
        (420, 590, 20, 'page 1 of 12')]))


def ppocrv4_rec():
    for name, text in (('line_1', 'Compile once, replay'), ('line_2', 'Step 42: 3.14 us'),
                       ('line_3', 'GRAPH {x; y}')):
        yield name, padded(*line(text, 320))


def ppocrv4_cls():
    image, width = line('replay me', 192)
    yield 'upright', padded(image, width)
    yield 'turned', padded(image.rotate(180), width)


def resonance(wave, frequency, width, rate):
    radius = math.exp(-math.pi * width / rate)
    first, second = 2 * radius * math.cos(2 * math.pi * frequency / rate), -radius * radius
    out, last, before = np.zeros_like(wave), 0.0, 0.0
    for i, x in enumerate(wave):
        last, before = (1 - radius) * x + first * last + second * before, last
        out[i] = last
    return out


def syllable(seconds, pitch, formants, rate, noise):
    """A vowel: pulses of a falling pitch through three resonances."""
    t = np.arange(int(seconds * rate)) / rate
    contour = pitch * (1.1 - 0.25 * t / seconds + 0.02 * np.sin(2 * np.pi * 5 * t))
    pulses = np.diff(np.floor(np.cumsum(contour) / rate), prepend=0.0)
    source = 20 * resonance(pulses, 0, 100, rate) + 0.02 * noise[:len(t)]
    wave = sum(gain * resonance(source, formant, 60 + 0.05 * formant, rate)
               for formant, gain in zip(formants, (1, 0.6, 0.3)))
    return np.diff(wave, prepend=0) * np.sin(np.pi * t / seconds)**0.5


def speech(samples, rate):
    """Two phrases of syllables that begin with a hiss, between stretches of faint noise."""
    vowels = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
    random = np.random.default_rng(7)
    wave = np.zeros(samples)
    for begin, count in ((0.55, 5), (2.05, 4)):
        for k in range(count):
            noise, at = random.standard_normal(rate), int((begin + 0.2 * k) * rate)
            hiss = np.diff(noise[:rate // 20], prepend=0) * np.hanning(rate // 20)
            wave[at:at + len(hiss)] += 0.05 * hiss
            vowel = syllable(0.17, 125 + 6 * (k % 3), vowels[(2 * k + count) % 5], rate, noise)
            at += rate // 25
            wave[at:at + len(vowel)] += vowel / np.abs(vowel).max()
    return 0.5 * wave / np.abs(wave).max() + 0.001 * random.standard_normal(samples)


def frames(count, rate):
    """Each frame behind the end of the one before: [count, 1, 9/8 of 32 ms]."""
    size = rate * 32 // 1000
    wave = np.concatenate([np.zeros(size // 8), speech(100 * size, rate)])
    return np.stack([wave[None, i * size:(i + 1) * size + size // 8] for i in range(count)]).astype(np.float32)


def voice_calls(model, chunks, rates):
    """Successive calls of the voice detector; its state goes from each to the next."""
    session = onnxruntime.InferenceSession(os.path.join(DEPS, 'models', VAD, model),
                                           providers=['CPUExecutionProvider'])
    given, state = small(chunks), np.zeros((2, 1, 128), np.float32)
    tensors = {'each/in/input': given, 'carry/state=stateN': state.astype(np.float16)}
    results = []
    for chunk, rate in zip(given, rates):
        feed = {'input': chunk.astype(np.float32), 'state': state}
        if any(each.name == 'sr' for each in session.get_inputs()):
            feed['sr'] = np.array(rate, np.int64)
        results.append(session.run(None, feed))
        state = results[-1][1]
    if 'sr' in feed:
        same = len(set(rates)) == 1
        tensors['in/sr' if same else 'each/in/sr'] = np.array(rates[0] if same else rates, np.int64)
    for i, output in enumerate(session.get_outputs()):
        tensors['each/out/' + output.name] = small(np.stack([result[i] for result in results]))
    return tensors


def voice():
    rate, tests = 16000, os.path.join(HERE, '..', 'testdata')
    os.makedirs(tests, exist_ok=True)
    save(os.path.join(HERE, 'silero_vad', 'speech.npz'),
         voice_calls('silero_vad.onnx', frames(100, rate), [rate] * 100))
    save(os.path.join(tests, 'silero_half.npz'), voice_calls('silero_vad_half.onnx', frames(30, rate), [rate] * 30))
    save(os.path.join(tests, 'silero_rates.npz'),
         voice_calls('silero_vad.onnx', frames(30, 8000), ([8000] * 5 + [rate]) * 5))


def small(array):
    if array.dtype.kind == 'f':
        return np.where(np.abs(array) < FLUSH, 0, array).astype(np.float16)
    for dtype in (np.uint8, np.int16):
        if array.min() >= np.iinfo(dtype).min and array.max() <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array


def write(path, tensors):
    """As np.savez_compressed, without the time, so that the same tensors give the same file."""
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in tensors.items():
            entry = zipfile.ZipInfo(name + '.npy', (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, 'w') as file:
                np.lib.format.write_array(file, np.asarray(array, order='C'))


def save(path, tensors):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path, tensors)
    print(os.path.relpath(path, ROOT), os.path.getsize(path))


def main():
    voice()
    for model, calls in (('magika', magika), ('basic_pitch', basic_pitch), ('ppocrv4_det', ppocrv4_det),
                         ('ppocrv4_rec', ppocrv4_rec), ('ppocrv4_cls', ppocrv4_cls)):
        session = onnxruntime.InferenceSession(os.path.join(DEPS, 'models', MODELS[model]),
                                               providers=['CPUExecutionProvider'])
        for name, value in calls():
            given = small(value)
            feed = {session.get_inputs()[0].name: given.astype(value.dtype)}
            tensors = {'in/' + session.get_inputs()[0].name: given}
            for output, result in zip(session.get_outputs(), session.run(None, feed)):
                tensors['out/' + output.name] = small(result)
            save(os.path.join(HERE, model, name + '.npz'), tensors)


if __name__ == '__main__':
    main()
