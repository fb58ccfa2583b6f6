"""What the cases of make_cases.py are made of."""
import dataclasses
from dataclasses import dataclass, field

import numpy as np

# One for all, so that cases made in one order are the same.
random = np.random.default_rng(11)


@dataclass
class Input:
    array: np.ndarray
    names: str = ''  # of the dims; . is a constant


@dataclass
class Case:
    inputs: list
    attributes: dict = field(default_factory=dict)
    outputs: list = field(default_factory=lambda: [1])  # which are wanted
    tolerance: tuple = None  # absolute and relative


def floats(names, *shape, dtype=np.float32, grid=4, limit=2):
    return Input((random.integers(-limit * grid, limit * grid + 1, shape) / grid).astype(dtype), names)


def positive(names, *shape, dtype=np.float32):
    return Input((random.integers(1, 17, shape) / 64).astype(dtype), names)


def ints(names, low, high, *shape, dtype=np.int32):
    return Input(np.asarray(random.integers(low, high, shape), dtype), names)


def scalar(value, dtype=np.float32):
    return Input(np.asarray(value, dtype))


def static(case):
    """Without names of dims, where some are of inputs whose extents are constants."""
    inputs = [given and dataclasses.replace(given, names='') for given in case.inputs]
    return dataclasses.replace(case, inputs=inputs)


def codes(names, dtype, *shape):
    limits = np.iinfo(dtype)
    return ints(names, limits.min, limits.max + 1, *shape, dtype=dtype)
