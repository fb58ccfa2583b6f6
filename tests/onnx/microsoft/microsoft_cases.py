"""The cases that make_cases.py runs: for each operator, attributes and inputs."""
import dataclasses
import itertools
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

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


# Normalizations.


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


# Products and convolutions.


def fused_mat_mul():
    for a, b in itertools.product((0, 1), (0, 1)):
        yield Case([floats('B', 2, *((4, 3) if a else (3, 4))), floats('B', 2, *((5, 4) if b else (4, 5)))],
                   {'alpha': 0.5, 'transA': a, 'transB': b})
    for a, b in itertools.product((0, 1), (0, 1)):
        # [2, 3] batches of a 4 x 5 times a 5 x 2 matrix, with the batch dims behind the rows.
        left = floats('', *((5, 2, 3, 4) if a else (4, 2, 3, 5)))
        yield Case([left, floats('', 2, 3, 5, 2)], {'transBatchA': 1, 'transA': a, 'transB': 0})
        right = floats('', *((2, 2, 3, 5) if b else (5, 2, 3, 2)))
        yield Case([floats('', 2, 3, 4, 5), right], {'transBatchB': 1, 'transB': b})
    yield Case([floats('', 4), floats('', 4, 3)], {'transA': 1, 'alpha': -2.0})
    yield Case([floats('B', 2, 4), floats('', 4)], {'transB': 1})
    yield Case([floats('B', 2, 4, dtype=np.float16), floats('', 3, 4, dtype=np.float16)], {'transB': 1})
    yield Case([floats('B', 2, 4, dtype=np.float64), floats('', 3, 4, dtype=np.float64)], {'transB': 1, 'alpha': 3.0})


def fused_conv():
    activations = [('Relu', []), ('Sigmoid', []), ('Tanh', []), ('HardSwish', []), ('LeakyRelu', [0.1]),
                   ('Clip', [-1.0, 1.5]), ('HardSigmoid', [0.3, 0.4])]
    for activation, parameters in activations:
        attributes = {'activation': activation, 'kernel_shape': [3, 3]}
        if parameters:
            attributes['activation_params'] = parameters
        yield Case([floats('B', 1, 2, 5, 5), floats('', 3, 2, 3, 3), floats('', 3)], attributes)
    yield Case([floats('B', 1, 2, 5, 5), floats('', 3, 2, 3, 3)])
    yield Case([floats('B', 2, 2, 4, 4), floats('', 3, 2, 3, 3), floats('', 3), floats('B', 2, 3, 4, 4)],
               {'activation': 'Relu', 'pads': [1, 1, 1, 1]})
    yield Case([floats('', 1, 4, 6), floats('', 4, 2, 3), None, floats('', 1, 4, 3)],
               {'activation': 'Tanh', 'group': 2, 'strides': [2], 'auto_pad': 'SAME_UPPER'})
    yield Case([floats('', 1, 2, 6, 6), floats('', 2, 1, 2, 2)],
               {'activation': 'LeakyRelu', 'activation_params': [0.5], 'group': 2, 'dilations': [2, 3]})


def fused_gemm():
    for activation, parameters in (('Relu', {}), ('Sigmoid', {}), ('Tanh', {}), ('Softplus', {}), ('Softsign', {}),
                                   ('LeakyRelu', {'alpha': 0.1}), ('Elu', {'alpha': 0.5}), ('Celu', {'alpha': 0.5}),
                                   ('ThresholdedRelu', {'alpha': 0.75}), ('HardSigmoid', {'alpha': 0.3, 'beta': 0.4}),
                                   ('Selu', {'alpha': 1.5, 'gamma': 1.1}), ('ScaledTanh', {'alpha': 0.5, 'beta': 0.25}),
                                   ('ParametricSoftplus', {'alpha': 0.5, 'beta': 0.25})):
        attributes = {f'activation_{name}': value for name, value in parameters.items()}
        yield Case([floats('B', 3, 4), floats('', 4, 5), floats('', 5)], {'activation': activation, **attributes})
    yield Case([floats('', 4, 3), floats('', 5, 4), floats('', 3, 1)],
               {'activation': 'Relu', 'transA': 1, 'transB': 1, 'alpha': 0.5, 'beta': 2.0})
    yield Case([floats('B', 3, 4), floats('', 4, 5)], {'activation': 'Tanh', 'alpha': 0.25})
    yield Case([floats('B', 3, 4, dtype=np.float16), floats('', 4, 5, dtype=np.float16)], {'activation': 'Relu'})


# Weights in blocks.


def packed(values, bits):
    """Along the last dim, low bits first."""
    per_byte = 8 // bits
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, -values.shape[-1] % per_byte)])
    parts = padded.reshape(*padded.shape[:-1], -1, per_byte).astype(np.uint32)
    return sum(parts[..., i] << (bits * i) for i in range(per_byte)).astype(np.uint8)


def n_bits(bits, k, n, block, zero=None, groups=False, bias=False, dtype=np.float32, flat=False, batch=(2, 3), **more):
    blocks = -(-k // block)
    weights = packed(random.integers(0, 2**bits, (n, blocks, block)), bits)
    scales = positive('', n, blocks, dtype=dtype)
    inputs = [floats('BS'[:len(batch)], *batch, k, dtype=dtype), Input(weights), scales]
    if zero == 'packed':
        inputs.append(Input(packed(random.integers(0, 2**bits, (n, blocks)), bits)))
    elif zero == 'floats':
        inputs.append(Input((random.integers(0, 2**bits * 2, (n, blocks)) / 2).astype(dtype)))
    if flat:
        for given in inputs[2:]:
            given.array = given.array.reshape(-1)
    inputs += [None] * (4 - len(inputs))
    inputs.append(ints('', 0, blocks, k) if groups else None)
    inputs.append(floats('', n, dtype=dtype) if bias else None)
    tolerance = (1e-2, 4e-3) if dtype == np.float16 else (1e-4, 1e-5)
    return Case(inputs, {'K': k, 'N': n, 'bits': bits, 'block_size': block, **more}, tolerance=tolerance)


def mat_mul_n_bits():
    for bits in (2, 4, 8):
        yield n_bits(bits, 40, 5, 16)
        yield n_bits(bits, 40, 5, 16, 'packed')
    yield n_bits(4, 40, 5, 16, 'floats')
    yield n_bits(2, 48, 3, 16, 'floats', bias=True)
    yield n_bits(4, 40, 5, 16, groups=True)
    yield n_bits(4, 48, 3, 16, 'floats', groups=True)
    yield n_bits(4, 32, 5, 16, 'packed', bias=True, batch=(3,))
    yield n_bits(4, 32, 5, 16, 'packed', flat=True, accuracy_level=1)
    yield n_bits(4, 32, 5, 32, 'packed', dtype=np.float16)
    yield n_bits(4, 32, 5, 16, 'floats', bias=True, dtype=np.float16)
    yield n_bits(4, 40, 4, 64, 'packed')
    yield n_bits(8, 32, 4, 32, 'packed', bias=True, accuracy_level=0)


def gather_blocks(storage, bits, shape, block, gather, quantize, zero, indices=(2, 2), dtype=np.float32, wild=False,
                  index_dtype=np.int64):
    axis = quantize % len(shape)
    blocked = list(shape)
    blocked[axis] = -(-shape[axis] // block)
    low, high = (-8, 8) if storage == ml_dtypes.int4 else (0, 2**bits)
    values, points = random.integers(low, high, shape), random.integers(low, high, blocked)
    if storage == np.uint8:
        values, points = packed(values, bits), packed(points, bits)
    extent = shape[gather]
    at = ints('I' if indices else '', -extent, extent, *indices, dtype=index_dtype)
    if wild:
        at.array.reshape(-1)[:2] = (extent, -extent - 1)
    return Case([Input(values.astype(storage)), at, positive('', *blocked, dtype=dtype),
                 Input(points.astype(storage)) if zero else None],
                {'bits': bits, 'block_size': block, 'gather_axis': gather, 'quantize_axis': quantize})


def gather_block_quantized():
    for bits, zero in itertools.product((2, 4, 8), (True, False)):
        yield gather_blocks(np.uint8, bits, (6, 48), 16, 0, 1, zero)
    yield gather_blocks(np.uint8, 4, (5, 2, 32), 16, 0, -1, True, index_dtype=np.int32)
    yield gather_blocks(np.uint8, 4, (5, 32), 16, 0, 1, True, wild=True)
    yield gather_blocks(np.uint8, 4, (5, 32), 32, 0, 1, True, indices=(), dtype=np.float16)
    for storage in (ml_dtypes.int4, ml_dtypes.uint4):
        yield gather_blocks(storage, 4, (4, 32), 16, 0, 1, True)
        yield gather_blocks(storage, 4, (4, 32), 16, 0, 1, False)
        yield gather_blocks(storage, 4, (20, 4), 16, 0, 0, True)
        yield gather_blocks(storage, 4, (2, 20, 3), 16, 2, 1, True, indices=(3,))
        yield gather_blocks(storage, 4, (3, 2, 16), 16, 1, -1, False, wild=True)
    for block, scales in ((16, (4, 2)), (0, (4, 1)), (16, (1, 2)), (0, (1, 1))):
        data = (random.integers(-16, 17, (4, 20)) / 8).astype(ml_dtypes.float8_e4m3fn)
        yield Case([Input(data), ints('I', -4, 4, 3, dtype=np.int64), positive('', *scales)],
                   {'block_size': block, 'quantize_axis': 1})


# Quantized tensors. One step is how far two roundings may be apart; scales are such that there are few ties.
STEP = (1, 0)
QUANTIZED = (np.uint8, np.int8)


def zero_point(dtype, given=True):
    return ints('', 100, 140, dtype=np.uint8) if given and dtype == np.uint8 else (
        ints('', -20, 20, dtype=np.int8) if given else None)


def quantized(names, dtype, *shape, zero=True, scale=0.0517):
    return [codes(names, dtype, *shape), scalar(scale), zero_point(dtype, zero)]


def q_linear_binary():
    for dtype in QUANTIZED:
        yield Case([*quantized('B', dtype, 3, 8), *quantized('B', dtype, 3, 8, scale=0.0313), scalar(0.1033),
                    zero_point(dtype)], tolerance=STEP)
        yield Case([*quantized('B', dtype, 3, 8), *quantized('', dtype, 8, scale=0.0313), scalar(0.1033),
                    zero_point(dtype)], tolerance=STEP)
        yield Case([*quantized('', dtype), *quantized('BC', dtype, 2, 5), scalar(0.1033)], tolerance=STEP)
        yield Case([*quantized('', dtype, 2, 1, 5), *quantized('', dtype, 3, 1), scalar(0.2077), zero_point(dtype)],
                   tolerance=STEP)


def q_linear_where():
    for dtype in QUANTIZED:
        for shape in ((3, 8), (8,), (1,)):
            yield Case([Input(random.integers(0, 2, (3, 8)).astype(bool), 'B'),
                        *quantized('B' if len(shape) == 2 else '', dtype, *shape),
                        *quantized('B', dtype, 3, 8, scale=0.0313), scalar(0.0617), zero_point(dtype)], tolerance=STEP)


def q_linear_sigmoid():
    for dtype in QUANTIZED:
        yield Case([*quantized('B', dtype, 3, 8), scalar(1 / 256), zero_point(dtype)], tolerance=STEP)
        yield Case([*quantized('BC', dtype, 2, 3, 4, zero=False), scalar(1 / 200), None], tolerance=STEP)
        yield Case([*quantized('', dtype, 16, zero=False, scale=0.01), scalar(1 / 64), zero_point(dtype)],
                   tolerance=STEP)


def q_linear_leaky_relu():
    for dtype in QUANTIZED:
        for alpha in ({}, {'alpha': 0.2}, {'alpha': 0.5}):
            yield Case([*quantized('B', dtype, 3, 8), scalar(0.0617), zero_point(dtype)], alpha, tolerance=STEP)
        yield Case([*quantized('B', dtype, 3, 8, zero=False), scalar(0.0411), None], {'alpha': 0.1}, tolerance=STEP)


def q_linear_softmax():
    for dtype in QUANTIZED:
        for shape, attributes in (((3, 8), {'opset': 13}), ((2, 3, 4), {'opset': 13, 'axis': 1}),
                                  ((2, 3, 4), {'opset': 12, 'axis': 1}), ((2, 3, 4), {'opset': 11, 'axis': 2})):
            yield Case([*quantized('B', dtype, *shape, scale=0.02), scalar(1 / 256), zero_point(dtype)], attributes,
                       tolerance=STEP)


def q_linear_global_average_pool():
    for dtype, last in itertools.product(QUANTIZED, (0, 1)):
        for shape in ((2, 3, 4, 5), (1, 8, 6)):
            yield Case([*quantized('B', dtype, *shape), scalar(0.0213), zero_point(dtype)], {'channels_last': last},
                       tolerance=STEP)


def q_linear_average_pool():
    for dtype in QUANTIZED:
        for attributes in ({'kernel_shape': [2, 2]}, {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1]},
                           {'kernel_shape': [3, 3], 'pads': [1, 0, 1, 1], 'count_include_pad': 1},
                           {'kernel_shape': [2, 2], 'strides': [2, 2], 'ceil_mode': 1},
                           {'kernel_shape': [3, 2], 'auto_pad': 'SAME_UPPER', 'strides': [2, 1]}):
            yield Case([*quantized('B', dtype, 1, 2, 5, 5), scalar(0.0411), zero_point(dtype)], attributes,
                       tolerance=STEP)
        yield Case([*quantized('B', dtype, 1, 5, 5, 2), scalar(0.0411), zero_point(dtype)],
                   {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1], 'channels_last': 1}, tolerance=STEP)
    yield Case([*quantized('', np.uint8, 1, 2, 6), scalar(0.0411), zero_point(np.uint8)], {'kernel_shape': [3]}, tolerance=STEP)


def q_linear_conv():
    for last, attributes in ((0, {}), (1, {}), (1, {'strides': [2, 2], 'pads': [1, 1, 1, 1]}), (0, {'group': 2}),
                             (1, {'dilations': [2, 2]}), (1, {'auto_pad': 'SAME_LOWER'})):
        x = quantized('B', np.uint8, *((1, 5, 5, 2) if last else (1, 2, 5, 5)))
        w = [weights('', np.int8, 4, 2 // attributes.get('group', 1), 2, 2), scalar(0.02), scalar(0, np.int8)]
        yield Case([*x, *w, scalar(0.2077), zero_point(np.uint8), ints('', -99, 99, 4)],
                   {'channels_last': last, **attributes}, tolerance=STEP)


def q_linear_concat():
    for dtype in QUANTIZED:
        for axis, shapes in ((0, ((2, 3), (1, 3))), (1, ((2, 3), (2, 1), (2, 2))), (-1, ((2, 2, 2), (2, 2, 3)))):
            parts = [quantized('', dtype, *shape, scale=scale) for shape, scale in zip(shapes, (0.0517, 0.0313, 0.0817))]
            yield Case([scalar(0.0617), zero_point(dtype), *sum(parts, [])], {'axis': axis}, tolerance=STEP)


def quantize_linear():
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        yield Case([floats('B', 3, 8), scalar(0.02), ints('', 0, 9, dtype=dtype)], tolerance=STEP)
    yield Case([floats('B', 3, 8), scalar(0.02)], tolerance=STEP)
    yield Case([floats('', 3, 8), positive('', 8), ints('', 0, 9, 8, dtype=np.uint8)], {'axis': 1}, tolerance=STEP)
    yield Case([floats('', 3, 4, 2), positive('', 3), ints('', -9, 9, 3, dtype=np.int8)], {'axis': 0}, tolerance=STEP)
    yield Case([floats('B', 3, 8, dtype=np.float16), scalar(0.0625, np.float16), ints('', -9, 9, dtype=np.int8)],
               tolerance=STEP)


def dequantize_linear():
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        yield Case([codes('B', dtype, 3, 8), scalar(0.02), ints('', 0, 9, dtype=dtype)])
    yield Case([codes('B', np.int32, 3, 8), scalar(0.02)])
    yield Case([codes('', np.uint8, 3, 8), positive('', 8), ints('', 0, 9, 8, dtype=np.uint8)], {'axis': 1})
    yield Case([codes('', np.int8, 3, 4, 2), positive('', 3), ints('', -9, 9, 3, dtype=np.int8)], {'axis': -3})
    yield Case([codes('B', np.int8, 3, 8), scalar(0.0625, np.float16), ints('', -9, 9, dtype=np.int8)])


# Products by quantized weights.


def weights(names, dtype, *shape):
    """Of 7 bits where they are signed: ONNX Runtime's sums of two products of u8 and i8 saturate on some processors."""
    return ints(names, -64, 64, *shape, dtype=dtype) if dtype == np.int8 else codes(names, dtype, *shape)


def dynamic_quantize_mat_mul():
    for dtype, bias in itertools.product(QUANTIZED, (True, False)):
        yield Case([floats('B', 3, 6), weights('', dtype, 6, 5), scalar(0.02), zero_point(dtype),
                    floats('', 5) if bias else None])
        yield Case([floats('BS', 2, 3, 6), weights('', dtype, 6, 5), positive('', 5),
                    ints('', 0, 20, 5, dtype=dtype) if bias else None, floats('', 5)])
    yield Case([floats('B', 2, 3, 4), weights('B', np.int8, 2, 4, 3), scalar(0.02)])


def mat_mul_integer_to_float():
    for left, right in itertools.product(QUANTIZED, QUANTIZED):
        if (left, right) == (np.int8, np.uint8):
            continue
        yield Case([codes('B', left, 3, 6), weights('', right, 6, 5), scalar(0.02), scalar(0.03), zero_point(left),
                    zero_point(right), floats('', 5)])
        yield Case([codes('BS', left, 2, 3, 6), weights('', right, 6, 5), scalar(0.02), positive('', 5), zero_point(left),
                    ints('', 0, 20, 5, dtype=right)])
    yield Case([codes('B', np.uint8, 3, 6), weights('', np.int8, 6, 5), scalar(0.02), scalar(0.03)])


def q_gemm():
    for (left, right), a, b in zip(((np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8), (np.uint8, np.int8)),
                                   (0, 1, 0, 1), (0, 0, 1, 1)):
        matrices = [codes('', left, *((6, 3) if a else (3, 6))), scalar(0.02), zero_point(left),
                    weights('', right, *((5, 6) if b else (6, 5))), positive('', 5), ints('', 0, 1, 5, dtype=right),
                    ints('', -99, 99, 5)]
        attributes = {'transA': a, 'transB': b, 'alpha': 0.5}
        yield Case(matrices, attributes)
        yield Case([*matrices, scalar(0.5), zero_point(left)], attributes, tolerance=STEP)


def dynamic_quantize_lstm():
    for directions, scales, dtype, attributes in (
        (1, (1,), np.int8, {}), (1, (1, 8), np.int8, {'direction': 'reverse'}),
        (2, (2,), np.uint8, {'direction': 'bidirectional'}), (1, (1,), np.uint8, {'clip': 0.5}),
        (1, (1, 8), np.int8, {'input_forget': 1}), (2, (2, 8), np.int8, {'direction': 'bidirectional'}),
        (1, (1,), np.int8, {'activations': ['HardSigmoid', 'Tanh', 'Relu'], 'activation_alpha': [0.3],
                            'activation_beta': [0.4]})):
        zero = Input(np.full(scales, 128 if dtype == np.uint8 else 0, dtype))
        scale = [Input((random.integers(1, 9, scales) / 512).astype(np.float32)) for _ in range(2)]
        full = 'clip' not in attributes
        initial = [floats('.B', directions, 2, 2) if full else None for _ in range(2)]
        peepholes = floats('', directions, 6) if full and directions == 1 else None
        yield Case([floats('TB', 4, 2, 3), weights('', dtype, directions, 3, 8), weights('', dtype, directions, 2, 8),
                    floats('', directions, 16), None, *initial, peepholes, scale[0], zero, scale[1], zero],
                   {'hidden_size': 2, **attributes}, [1, 1, 1], tolerance=(1e-4, 1e-4))


# Attention.


def rotary_embedding():
    heads, length, width = 2, 3, 8
    caches = [floats('', 10, width // 2), floats('', 10, width // 2)]
    narrow = [floats('', 10, 2), floats('', 10, 2)]
    positions = ints('BS', 0, 10, 2, length, dtype=np.int64)
    for interleaved in (0, 1):
        flat = floats('BS', 2, length, heads * width)
        split = floats('B.S', 2, heads, length, width)
        yield Case([flat, positions, *caches], {'interleaved': interleaved})
        yield Case([split, positions, *caches], {'interleaved': interleaved})
        yield Case([flat, Input(np.array([4])), *caches], {'interleaved': interleaved, 'num_heads': heads})
        partial = {'interleaved': interleaved, 'num_heads': heads, 'rotary_embedding_dim': 4}
        yield Case([flat, positions, *narrow], partial)
        yield Case([split, positions, *narrow], partial)
    yield Case([flat, positions, *caches], {'scale': 1.0, 'is_packed_batching': 1})
    half = [floats('BS', 2, length, heads * width, dtype=np.float16), positions]
    yield Case(half + [floats('', 10, width // 2, dtype=np.float16) for _ in range(2)])


def masks(batch, queries, keys):
    """Keys that are seen, as each form of a mask says them."""
    yield None
    yield Input(np.array([keys - 1, keys] * (batch // 2), np.int32), 'B')
    yield ints('BT', 0, 2, batch, keys)
    yield ints('BST', 0, 2, batch, queries, keys)


def multi_head_attention():
    batch, length, heads, width = 2, 3, 2, 4
    hidden = heads * width

    def queries(**more):
        return floats('BS', batch, length, hidden, **more)

    for mask in masks(batch, length, length):
        if mask is not None:
            mask.names = mask.names.replace('T', 'S')
        yield Case([queries(), queries(), queries(), None, mask], {'num_heads': heads, 'mask_filter_value': -1.5})
    yield Case([queries(), queries(), queries(), floats('', 3 * hidden)], {'num_heads': heads, 'scale': 0.25})
    yield Case([queries(), queries(), queries()], {'num_heads': heads, 'unidirectional': 1})
    for one, all_heads in itertools.product((1, batch), (1, heads)):
        bias = floats('B.SS' if one == batch else '..SS', one, all_heads, length, length)
        yield Case([queries(), queries(), queries(), None, ints('BS', 0, 2, batch, length), bias],
                   {'num_heads': heads, 'mask_filter_value': -2.0})
    cache = [floats('B.P', batch, heads, 5, width) for _ in range(2)]
    for causal in (0, 1):
        yield Case([queries(), queries(), queries(), floats('', 3 * hidden), None, None, *cache],
                   {'num_heads': heads, 'unidirectional': causal}, [1, 1, 1])
    yield static(Case([queries(), queries(), queries(), None, ints('', 0, 2, batch, 8), floats('', 1, 1, length, 8),
                       *cache], {'num_heads': heads}, [1, 1, 1]))
    for values in (width, 3):  # of another length and width
        keys = [floats('BL', batch, 5, hidden), floats('BL', batch, 5, heads * values)]
        yield Case([queries(), *keys, floats('', 2 * hidden + heads * values), ints('BL', 0, 2, batch, 5)],
                   {'num_heads': heads}, [1, 1, 1])
    yield Case([queries(), floats('B.L', batch, heads, 5, width), floats('B.L', batch, heads, 5, width)],
               {'num_heads': heads}, [1])
    half = [queries(dtype=np.float16) for _ in range(3)]
    yield Case(half, {'num_heads': heads, 'unidirectional': 1})


def attention():
    batch, length, heads, width, inner = 2, 3, 2, 4, 6
    hidden = heads * width

    def operands(values=hidden, **more):
        whole = 2 * hidden + values
        return [floats('BS', batch, length, inner, **more), floats('', inner, whole, limit=1, **more),
                floats('', whole, **more)]

    for mask in masks(batch, length, length):
        if mask is not None:
            mask.names = mask.names.replace('T', 'S')
        yield Case([*operands(), mask], {'num_heads': heads, 'mask_filter_value': -1.5}, [1, 1])
    ends = Input(np.array([2, 3, 1, 0], np.int32))
    yield static(Case([*operands(), ends], {'num_heads': heads, 'mask_filter_value': -1.5}))
    lengths = Input(np.array([2, 3, 0, 3, 6, 0, 3, 6], np.int32))
    yield static(Case([*operands(), lengths], {'num_heads': heads, 'mask_filter_value': -1.5}))
    yield Case(operands(), {'num_heads': heads, 'unidirectional': 1, 'scale': 0.25}, [1, 1])
    cache = floats('.B.P', 2, batch, heads, 5, width)
    for causal in (0, 1):
        yield Case([*operands(), None, cache], {'num_heads': heads, 'unidirectional': causal}, [1, 1])
    yield static(Case([*operands(), ints('', 0, 2, batch, 8), cache], {'num_heads': heads}, [1, 1]))
    yield Case([*operands(), ints('BS', 0, 2, batch, length), None, floats('..SS', 1, heads, length, length)],
               {'num_heads': heads, 'mask_filter_value': -2.0})
    yield Case(operands(values=6), {'num_heads': heads, 'qkv_hidden_sizes': [hidden, hidden, 6]})
    yield Case(operands(dtype=np.float16), {'num_heads': heads}, tolerance=(2e-2, 1e-2))


def group(length, past, total, lengths, heads=2, kv_heads=1, width=8, packed=False, rotary=None, positions=None,
          bias=None, sink=False, outputs=(1, 1, 1), dtype=np.float32, **attributes):
    """Grouped queries: `past` and `total` are lengths, `lengths` those of the samples; rotary: how many turn."""
    batch = len(lengths)

    def tokens(count):
        return floats('BS', batch, length, count * width, dtype=dtype)

    if packed:
        inputs = [tokens(heads + 2 * kv_heads), None, None]
    else:
        inputs = [tokens(heads), tokens(kv_heads), tokens(kv_heads)]
    cache = [floats('B.P', batch, kv_heads, past, width, dtype=dtype) for _ in range(2)] if past is not None else []
    inputs += cache or [None, None]
    inputs += [Input(np.array(lengths, np.int32) - 1, 'B'), scalar(total, np.int32)]
    if rotary:
        inputs += [floats('', 8, rotary // 2, dtype=dtype), floats('', 8, rotary // 2, dtype=dtype)]
        attributes['do_rotary'] = 1
    else:
        inputs += [None, None]
    inputs.append(positions)
    inputs.append(floats('', *bias, length, total, dtype=dtype) if bias else None)
    inputs.append(floats('', heads, dtype=dtype) if sink else None)
    case = Case(inputs, {'num_heads': heads, 'kv_num_heads': kv_heads, **attributes}, list(outputs))
    return static(case) if bias else case


def group_query_attention():
    yield group(3, None, 3, [3, 3])
    yield group(3, 0, 3, [3, 2])
    yield group(1, 5, 6, [6, 6])
    yield group(1, 5, 6, [6, 3], heads=4, kv_heads=2)
    yield group(1, 8, 6, [6, 3])
    yield group(3, 6, 3, [3, 2])
    yield group(3, 4, 7, [7])
    yield group(3, None, 3, [3, 3], packed=True)
    yield group(1, 3, 4, [4, 3], packed=True, scale=0.25)
    for interleaved in (0, 1):
        yield group(3, None, 3, [3, 3], width=16, rotary=16, rotary_interleaved=interleaved)
        yield group(1, 3, 4, [4, 3], heads=2, kv_heads=1, width=32, rotary=16, rotary_interleaved=interleaved)
    yield group(3, None, 3, [3, 3], width=16, heads=2, rotary=16, positions=ints('BS', 0, 6, 2, 3, dtype=np.int64))
    yield group(1, 3, 4, [4, 3], width=16, heads=2, rotary=16, positions=ints('BS', 0, 6, 2, 1, dtype=np.int64))
    yield group(5, None, 5, [5, 5], local_window_size=2)
    yield group(1, 5, 6, [6, 4], local_window_size=3)
    yield group(3, None, 3, [3, 3], softcap=2.0, heads=4, kv_heads=2)
    yield group(3, None, 3, [3, 3], smooth_softmax=1)
    yield group(1, 5, 6, [6, 4], sink=True)
    yield group(4, None, 4, [4, 4], sink=True, softcap=1.5, local_window_size=2)
    for bias in ((1, 1), (2, 2)):
        yield group(3, None, 3, [3, 3], bias=bias, softcap=2.0)
    yield group(1, 5, 6, [6, 6], bias=(1, 2))
    for stage in (1, 2):
        yield group(3, None, 3, [3, 3], bias=(1, 1), softcap=2.0, qk_output=stage, outputs=(1, 1, 1, 1))
    yield group(3, None, 3, [3, 2], causal=0)
    yield group(1, 5, 6, [6, 4], causal=0)
    yield group(3, None, 3, [3, 3], heads=2, kv_heads=2, dtype=np.float16)


OPERATORS = {
    'Attention': attention,
    'BiasGelu': bias_gelu,
    'DequantizeLinear': dequantize_linear,
    'DynamicQuantizeLSTM': dynamic_quantize_lstm,
    'DynamicQuantizeMatMul': dynamic_quantize_mat_mul,
    'EmbedLayerNormalization': embed_layer_normalization,
    'FastGelu': fast_gelu,
    'FusedConv': fused_conv,
    'FusedGemm': fused_gemm,
    'FusedMatMul': fused_mat_mul,
    'GatherBlockQuantized': gather_block_quantized,
    'Gelu': gelu,
    'GroupQueryAttention': group_query_attention,
    'MatMulIntegerToFloat': mat_mul_integer_to_float,
    'MatMulNBits': mat_mul_n_bits,
    'MultiHeadAttention': multi_head_attention,
    'QGemm': q_gemm,
    'QLinearAdd': q_linear_binary,
    'QLinearAveragePool': q_linear_average_pool,
    'QLinearConcat': q_linear_concat,
    'QLinearConv': q_linear_conv,
    'QLinearGlobalAveragePool': q_linear_global_average_pool,
    'QLinearLeakyRelu': q_linear_leaky_relu,
    'QLinearMul': q_linear_binary,
    'QLinearSigmoid': q_linear_sigmoid,
    'QLinearSoftmax': q_linear_softmax,
    'QLinearWhere': q_linear_where,
    'QuantizeLinear': quantize_linear,
    'QuickGelu': quick_gelu,
    'RotaryEmbedding': rotary_embedding,
    'SimplifiedLayerNormalization': simplified_layer_normalization,
    'SkipLayerNormalization': skip_layer_normalization,
    'SkipSimplifiedLayerNormalization': skip_simplified_layer_normalization,
}
