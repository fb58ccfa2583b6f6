"""Products and convolutions, and weights in blocks."""
import itertools

import ml_dtypes
import numpy as np

from case_inputs import Case, Input, floats, ints, positive, random


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
