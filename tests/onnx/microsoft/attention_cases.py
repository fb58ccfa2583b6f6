"""Attention."""
import itertools

import numpy as np

from case_inputs import Case, Input, floats, ints, scalar, static


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
