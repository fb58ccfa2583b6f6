"""Normalizations and activations."""
import numpy as np

from case_inputs import Case, floats, ints


def simplified_layer_normalization():
    yield Case([floats('BS', 2, 3, 8), floats('', 8)], {}, [1, 1])
    yield Case([floats('BS', 2, 3, 8), floats('', 8)], {'axis': -1, 'epsilon': 0.1, 'stash_type': 1})
    yield Case([floats('B', 2, 3, 8), floats('', 3, 8)], {'axis': 1}, [1, 1])
    yield Case([floats('B', 4, 5, dtype=np.float16), floats('', 5, dtype=np.float16)], {'epsilon': 1e-6})
    yield Case([floats('B', 4, 5), floats('', 5, dtype=np.float16)], {}, [1, 1])
    yield Case([floats('B', 4, 5, dtype=np.float16), floats('', 5)])
    yield Case([floats('', 2, 2, 6, dtype=np.float64), floats('', 6, dtype=np.float64)])


def skip_layer_normalization():
    for shape, skip in (((2, 3, 8), (2, 3, 8)), ((2, 3, 8), (1, 3, 8)), ((2, 3, 8), (3, 8)), ((5, 8), (5, 8))):
        names = 'BS' if len(shape) == 3 else 'T'
        skip_names = {3: 'BS' if skip[0] == 2 else '.S', 2: 'S' if len(shape) == 3 else 'T'}[len(skip)]
        yield Case([floats(names, *shape), floats(skip_names, *skip), floats('', 8), floats('', 8)], {}, [1, 0, 0, 1])
    x = [floats('BS', 2, 3, 8), floats('BS', 2, 3, 8), floats('', 8), None, floats('', 8)]
    yield Case(x, {'epsilon': 0.125}, [1, 1, 1, 1])
    yield Case([*x[:3], floats('', 8), x[4]], {'epsilon': 1e-5}, [1])
    half = [floats('BS', 2, 2, 4, dtype=np.float16) for _ in range(2)]
    yield Case(half + [floats('', 4, dtype=np.float16) for _ in range(3)], {'epsilon': 1e-3}, [1, 0, 0, 1])


def skip_simplified_layer_normalization():
    for shape, skip in (((2, 3, 8), (2, 3, 8)), ((2, 3, 8), (1, 3, 8)), ((2, 3, 8), (3, 8)), ((5, 8), (5, 8))):
        names = 'BS' if len(shape) == 3 else 'T'
        skip_names = {3: 'BS' if skip[0] == 2 else '.S', 2: 'S' if len(shape) == 3 else 'T'}[len(skip)]
        yield Case([floats(names, *shape), floats(skip_names, *skip), floats('', 8)], {}, [1, 0, 0, 1])
    x = [floats('BS', 2, 3, 8), floats('BS', 2, 3, 8), floats('', 8), floats('', 8)]
    yield Case(x, {'epsilon': 0.125}, [1, 0, 1, 1])
    yield Case(x, {'epsilon': 1e-5})
    half = [floats('BS', 2, 2, 4, dtype=np.float16) for _ in range(2)]
    yield Case(half + [floats('', 4, dtype=np.float16) for _ in range(2)], {'epsilon': 1e-3}, [1, 0, 0, 1])


def embed_layer_normalization():
    for position, segment, mask, outputs, epsilon in (
        (None, True, True, [1, 1, 1], 1e-12), (None, True, False, [1, 1, 0], 1e-5), (None, False, True, [1, 1, 1], 0.1),
        ((2, 3), True, True, [1, 1, 1], 1e-12), ((1, 3), True, True, [1, 1], 1e-12), (None, False, False, [1, 1, 1], 1e-3)):
        ids = ints('BS', 0, 6, 2, 3)
        inputs = [ids, ints('BS', 0, 2, 2, 3) if segment else None, floats('', 6, 8), floats('', 7, 8),
                  floats('', 2, 8) if segment else None, floats('', 8), floats('', 8),
                  ints('BS', 0, 2, 2, 3) if mask else None]
        if position:
            inputs.append(ints('BS' if position[0] == 2 else '.S', 0, 7, *position))
        yield Case(inputs, {'epsilon': epsilon}, outputs)


# Activations.


def with_bias(bias, double):
    for names, shape in (('B', (3, 8)), ('BS', (2, 3, 5)), ('', (7,)), ('', (1, 2, 3, 4))):
        yield Case([floats(names, *shape)] + ([floats('', shape[-1])] if bias else []))
    yield Case([floats('B', 3, 8, limit=6)] + ([floats('', 8)] if bias else []))
    half = [floats('B', 3, 8, dtype=np.float16)]
    yield Case(half + ([floats('', 8, dtype=np.float16)] if bias else []))
    if double:
        yield Case([floats('B', 3, 8, dtype=np.float64)])


def bias_gelu():
    return with_bias(bias=True, double=False)


def fast_gelu():
    yield from with_bias(bias=True, double=False)
    yield from with_bias(bias=False, double=True)


def gelu():
    return with_bias(bias=False, double=False)


def quick_gelu():
    for alpha in ({}, {'alpha': 1.0}, {'alpha': 0.5}, {'alpha': -1.25}):
        yield Case([floats('BS', 2, 3, 5, limit=4)], alpha)
    yield Case([floats('B', 3, 8, dtype=np.float16)])
    yield Case([floats('', 3, 8, dtype=np.float64)], {'alpha': 2.0})
