"""Inputs and seeds that the builders share: every array is a function of a name."""
import zlib

import numpy as np


def seed(name):
    return zlib.crc32(name.encode())


def random(name):
    return np.random.default_rng(seed(name))


def normal(name, *shape):
    return random(name).standard_normal(shape).astype(np.float32)


def ids(name, vocabulary, *shape):
    return random(name).integers(0, vocabulary, shape, dtype=np.int64)


def smooth(name, *shape):
    """Smooth values about zero with unit variance, [batch, channels, height, width]."""
    generator = random(name)
    batch, channels, height, width = shape
    total = np.zeros(shape)
    for step in (32, 8, 2):
        coarse = generator.standard_normal((batch, channels, -(-height // step), -(-width // step)))
        total += coarse.repeat(step, axis=2).repeat(step, axis=3)[:, :, :height, :width]
    return (total / total.std()).astype(np.float32)
