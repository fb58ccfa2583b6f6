"""Indices, sizes that data say, control flow, integers."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import values
from torch_layers import of, of_shapes


def integers(name, low, high, *shape, dtype=np.int64):
    return values.random(name).integers(low, high, shape, dtype=dtype)


def sorting():
    def call(_, x):
        top = torch.topk(x, 3, 1)
        low = torch.topk(x, 2, -1, largest=False)
        ordered = torch.sort(x, 1, descending=True)
        return top.values, top.indices, low.values, ordered.values, ordered.indices, torch.argsort(x, -1)
    return of_shapes('sorting', call, (3, 6), (4, 9), {0: 'batch', 1: 'width'})


def sorting_older():
    def call(_, x):
        top = torch.topk(x, 3, 1)
        return top.values, top.indices, torch.sort(x, 1, descending=True).values, torch.argsort(x, -1)
    return of_shapes('sorting', call, (3, 6), (4, 9), {0: 'batch', 1: 'width'})


def cumulative():
    def call(_, x):
        return x.cumsum(1), x.cumsum(0), torch.logcumsumexp(x, 1), torch.diff(x), torch.trapezoid(x)
    return of_shapes('cumulative', call, (3, 6), (2, 8), {0: 'batch', 1: 'width'})


def cumsum_older():
    return of_shapes('cumsum', lambda _, x: (x.cumsum(1), x.flip(1).cumsum(0)), (3, 6), (2, 8),
                     {0: 'batch', 1: 'width'})


def scatters():
    def call(_, x, index, source):
        return (x.scatter(1, index, source), x.scatter_add(1, index, source),
                x.scatter_reduce(1, index, source, 'amax'), x.scatter_reduce(1, index, source, 'mean',
                                                                             include_self=False),
                x.gather(1, index), x.index_add(0, index[:, 0] % 3, source[:, :6]), x.index_select(1, index[0]),
                x.take_along_dim(index, 1))
    return of(call, x=values.normal('scatters', 3, 6),
              index=np.stack([np.arange(6)[::-1], np.roll(np.arange(6), 2), np.arange(6) // 2]),
              source=values.normal('source', 3, 6))


def gathers_older():
    def call(_, x, index, source):
        rows = torch.arange(x.shape[0])
        return (x.scatter(1, index, source), x.scatter_add(1, index, source), x.gather(1, index),
                x.index_select(1, index[0]), x[rows, index[:, 1]])
    return of(call, {'x': {0: 'batch'}, 'index': {0: 'batch'}, 'source': {0: 'batch'}},
              x=values.normal('scatters', 3, 6),
              index=np.stack([np.arange(6)[::-1], np.roll(np.arange(6), 2), np.arange(6)]),
              source=values.normal('source', 3, 6))


def advanced_indexing():
    def call(_, x, rows, columns):
        y = x.clone()
        y[:, rows, columns] = 7.0
        y[0].index_put_((rows,), x[1, columns], accumulate=True)
        y[:, 1:-1:2] = x[:, :1]
        return y, x[:, rows, columns], x[:, rows[:, None], columns], x[:, None, :, ..., 1:], x[:, -1], x[x.shape[0] - 1]
    return of(call, {'x': {0: 'batch'}}, x=values.normal('advanced', 2, 5, 5), rows=np.array([0, 2, 3]),
              columns=np.array([1, 4, 0]))


def masked():
    def call(_, x):
        mask = x > 0.3
        return torch.where(mask, x, -1.0), x.masked_fill(mask, 2.0), x[mask] * 2, torch.nonzero(mask), x[x[:, 0] > 0]
    return of_shapes('masked', call, (4, 5), (6, 5), {0: 'batch'})


def nonzero_static():
    def call(_, x):
        rows = torch.nonzero(x[:, 0] > 0).squeeze(1)
        kept = x[rows]
        return kept.softmax(1), torch.cat([kept, x], 0).sum(1), rows.shape[0] + torch.zeros(1)
    return of_shapes('nonzero', call, (6, 5), (9, 5), {0: 'batch'})


def unique():
    def call(_, x):
        found, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        return found * 2, inverse, counts
    return of(call, {'x': {0: 'size'}}, x=integers('unique', 0, 9, 14))


def triangles():
    def call(_, x):
        return (x.tril(), x.triu(1), torch.diagonal(x), torch.diag_embed(x[0]),
                torch.tril(torch.ones_like(x)).bool() & (x > 0), torch.eye(x.shape[0]) + x,
                torch.tril_indices(4, 4) * 2)
    return of_shapes('triangles', call, (5, 5), (5, 5), {})


def positions():
    def call(_, x):
        steps = torch.arange(x.shape[1], dtype=torch.float32)
        grid = torch.meshgrid(torch.arange(x.shape[0]), torch.arange(x.shape[1]), indexing='ij')
        return (x + steps, torch.stack(grid), torch.linspace(0, 1, 7) * x[0, 0],
                torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), torch.full_like(x, 3.0) * steps)
    return of_shapes('positions', call, (3, 6), (2, 4), {0: 'batch', 1: 'width'})


def logic():
    def call(_, a, b):
        return (a & b, a | b, a ^ b, ~a, a << 2, b >> 1, a // b, a % b, torch.fmod(a, b),
                torch.div(a, b, rounding_mode='trunc'), a / b,
                (a > b) & ~(b == 5), torch.maximum(a, b), a.clamp(-3, 4), (a == b).sum(),
                torch.bitwise_left_shift(a, b % 4), a.abs() ** 2, torch.sign(a))
    return of(call, {'a': {0: 'size'}, 'b': {0: 'size'}}, a=integers('logic/a', -20, 20, 12),
              b=integers('logic/b', 1, 9, 12))


def narrow_integers():
    def call(_, a, b):
        return (a + a, a * b.to(torch.uint8), (a.to(torch.int32) - b).to(torch.int8), a > 100, b.float() / 3,
                a.long().sum(), (b & 3).to(torch.bool), b.to(torch.float16))
    return of(call, a=integers('narrow/a', 0, 255, 3, 4, dtype=np.uint8),
              b=integers('narrow/b', -50, 50, 3, 4, dtype=np.int32))


def floats():
    def call(_, x):
        y = x.abs() + 0.1
        return (x.floor(), x.ceil(), (x * 2).round(), x.round(decimals=1), x.trunc(), x.frac(),
                x.sin() + x.cos() * x.tan(), y.log2(), y.log10(), y.log1p(), x.expm1(), x.exp2(), y.rsqrt(),
                x.sinh(), x.asinh(), x.atan(), torch.atan2(x, y), x.log().isnan() | x.isinf(), torch.fmod(x, 0.3), x % 0.7,
                y ** x, torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=0.5),
                x.clamp(min=-0.5), torch.nan_to_num(x / 0.0), torch.xlogy(x, y), torch.special.erfc(x))
    return of_shapes('floats', call, (3, 4), (5, 4), {0: 'batch'})


def conditional():
    class Either(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: F.relu(self.first(y)), lambda y: self.second(y) - 1, (x,))
    return of_shapes('conditional', lambda m, x: m(x), (3, 6), (3, 6), {}, Either())


def while_loop():
    from torch._higher_order_ops.while_loop import while_loop as loop

    def call(_, x):
        steps, result = loop(lambda i, y: (i < 7) & (y.abs().max() < 50), lambda i, y: (i + 1, y * 1.5 + x),
                             (torch.tensor(0), x.clone()))
        return result, steps
    return of_shapes('while_loop', call, (3, 4), (3, 4), {})


def scan():
    from torch._higher_order_ops.scan import scan as scan_op

    def call(_, x, start):
        return scan_op(lambda carry, y: ((carry * 0.5 + y).tanh(), (carry * 0.5 + y).tanh() * 2), start, x)
    return of(call, x=values.normal('scan', 5, 3), start=values.normal('start', 3))


def stft():
    def call(_, x):
        spectrum = torch.stft(x, 16, hop_length=4, window=torch.hann_window(16), return_complex=True, center=True)
        return torch.view_as_real(spectrum).pow(2).sum(-1)
    return of(call, x=values.normal('stft', 2, 100))


def stft_older():
    def call(_, x):
        return torch.stft(x, 16, hop_length=4, window=torch.hann_window(16), return_complex=False,
                          center=False).pow(2).sum(-1)
    return of(call, x=values.normal('stft', 2, 100))


def fft():
    def call(_, x):
        return torch.view_as_real(torch.fft.rfft(x)), torch.fft.irfft(torch.fft.rfft(x) * 2, n=x.shape[-1])
    return of(call, x=values.normal('fft', 2, 24))


def splits():
    def call(_, x):
        first, second, third = x.split([1, 2, 3], 1)
        return (torch.cat([third, first, second], 1), torch.stack(x.unbind(1), -1), x.chunk(4, 1)[-1],
                torch.tensor_split(x, 4, 1)[0], x.view(-1, 3, 2).permute(2, 0, 1).contiguous(), x.expand(2, *x.shape),
                x.repeat(2, 1), x.repeat_interleave(2, 1), torch.movedim(x.unflatten(1, (2, 3)), 2, 0))
    return of_shapes('splits', call, (4, 6), (3, 6), {0: 'batch'})


def broadcasts():
    def call(_, x, y):
        return (x + y, (x[:, None] * y[None]).sum(-1), torch.minimum(x, y.mean()), x @ y.T,
                torch.broadcast_to(y[:1], x.shape))
    return of(call, {'x': {0: 'rows'}, 'y': {0: 'columns'}}, x=values.normal('broadcast/x', 4, 3),
              y=values.normal('broadcast/y', 1, 3).repeat(4, 0) * np.arange(1, 5, dtype=np.float32)[:, None])
