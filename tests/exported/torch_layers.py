"""Layers of torch in small modules."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import values
from export import Function, settle
from exporters import Source


def of(call, dynamic=None, module=None, **inputs):
    """`call` over a module and inputs; those that are run are those of the export."""
    return Source(Function(settle(module or nn.Identity()), call), inputs, dynamic=dynamic)


def of_shapes(name, call, shape, run_shape, axes, module=None):
    """`call` of a module and one input, whose `axes` are dynamic: exported with one shape, run with another."""
    return Source(Function(settle(module or nn.Identity()), call), {'x': values.normal(name, *shape)},
                  {'x': values.normal(name + '/run', *run_shape)}, {'x': axes})


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.norm = nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16)
        self.depthwise, self.point = nn.Conv2d(16, 16, 5, padding=2, groups=16), nn.Conv2d(16, 24, 1)
        self.pool, self.leave = nn.AdaptiveAvgPool2d(1), nn.Linear(24, 10)

    def forward(self, x):
        x = torch.max_pool2d(F.silu(self.norm(self.enter(x))), 3, 2, 1)
        x = F.hardswish(self.point(self.depthwise(x)))
        return self.leave(self.pool(x).flatten(1))


def conv_net():
    return Source(ConvNet(), {'x': values.normal('conv_net', 2, 3, 32, 32)},
                  {'x': values.normal('conv_net/run', 3, 3, 32, 32)}, {'x': {0: 'batch'}})


def conv_sizes():
    """Height and width are symbols."""
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding='same', dilation=2), nn.PReLU(8),
                           nn.AvgPool2d(3, 2, 1, ceil_mode=True),
                           nn.LPPool2d(2, 2), nn.Conv2d(8, 4, 3, padding=1, padding_mode='reflect'))
    return of_shapes('conv_sizes', lambda m, x: m(x), (1, 3, 20, 24), (1, 3, 17, 31), {2: 'height', 3: 'width'}, module)


def volumes():
    module = nn.Sequential(nn.Conv3d(2, 4, 3, stride=(1, 2, 2), padding=1), nn.ELU(), nn.MaxPool3d(2),
                           nn.ConvTranspose3d(4, 2, 3, stride=2, output_padding=1))
    return of_shapes('volumes', lambda m, x: m(x), (1, 2, 6, 12, 12), (2, 2, 6, 12, 12), {0: 'batch'}, module)


def transposed():
    module = nn.Sequential(nn.ConvTranspose2d(4, 8, 4, stride=2, padding=1, groups=2), nn.LeakyReLU(0.2),
                           nn.ConvTranspose2d(8, 3, 3, dilation=2), nn.Tanh())
    return of_shapes('transposed', lambda m, x: m(x), (1, 4, 5, 6), (1, 4, 7, 4), {2: 'height', 3: 'width'}, module)


def norms():
    module = nn.Sequential(nn.GroupNorm(2, 8), nn.InstanceNorm2d(8, affine=True), nn.LocalResponseNorm(3),
                           nn.LayerNorm(6))
    return of_shapes('norms', lambda m, x: m(x), (2, 8, 5, 6), (3, 8, 4, 6), {0: 'batch', 2: 'height'}, module)


def interpolations():
    def call(_, x):
        large = F.interpolate(x, scale_factor=2.5, mode='bilinear', align_corners=False)
        return (large, F.interpolate(x, size=(9, 14), mode='bicubic'), F.interpolate(x, scale_factor=2, mode='nearest'),
                F.interpolate(x, size=(5, 5), mode='bilinear', antialias=True),
                F.interpolate(large, size=x.shape[2:], mode='bilinear', align_corners=True))
    return of_shapes('interpolations', call, (1, 2, 8, 10), (1, 2, 6, 12), {2: 'height', 3: 'width'})


def interpolation_older():
    def call(_, x):
        return (F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False),
                F.interpolate(x, size=(9, 14), mode='bicubic'),
                F.interpolate(x, scale_factor=2, mode='nearest'), F.interpolate(x, size=(7, 9), mode='bilinear',
                                                                                align_corners=True))
    return of_shapes('interpolations', call, (1, 2, 8, 10), (1, 2, 6, 12), {2: 'height', 3: 'width'})


def grid_sample():
    def call(_, x, theta):
        grid = F.affine_grid(theta, x.shape, align_corners=False)
        return (F.grid_sample(x, grid, align_corners=False), F.grid_sample(x, 1.4 * grid, mode='nearest',
                                                                           padding_mode='border', align_corners=True),
                F.grid_sample(x, 1.4 * grid, mode='bicubic', padding_mode='reflection', align_corners=False))
    return of(call, x=values.smooth('grid_sample', 2, 3, 8, 9), theta=values.normal('theta', 2, 2, 3))


def pads():
    def call(_, x):
        return (F.pad(x, (1, 2, 2, 1), mode='reflect'), F.pad(x, (1, 2, 1, 0), mode='replicate'),
                F.pad(x, (2, 1, 1, 1), mode='circular'),
                F.pad(x, (-1, 2, 0, -1), value=0.5))
    return of_shapes('pads', call, (1, 2, 6, 7), (1, 2, 9, 5), {2: 'height', 3: 'width'})


def shuffles():
    def call(_, x):
        up = F.pixel_shuffle(x, 2)
        return (F.pixel_unshuffle(up, 4), F.channel_shuffle(x, 4), F.unfold(up, (2, 2), stride=2),
                up.roll((1, -2), (2, 3)).flip(1))
    return of_shapes('shuffles', call, (1, 16, 4, 6), (2, 16, 4, 6), {0: 'batch'})


def fold():
    return of_shapes('fold', lambda _, x: F.fold(x, (8, 10), (3, 3), stride=2, padding=1), (1, 18, 20), (2, 18, 20),
                     {0: 'batch'})


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.cells = getattr(nn, kind)(12, 16, batch_first=True, **options)

    def forward(self, x):
        return self.cells(x)


def lstm():
    return Source(Recurrent('LSTM', num_layers=2, bidirectional=True), {'x': values.normal('lstm', 2, 7, 12)},
                  {'x': values.normal('lstm/run', 3, 7, 12)}, {'x': {0: 'batch'}})


def lstm_tokens():
    return Source(Recurrent('LSTM', bias=False), {'x': values.normal('lstm', 2, 7, 12)})


def gru():
    return Source(Recurrent('GRU', num_layers=2), {'x': values.normal('gru', 2, 7, 12)},
                  {'x': values.normal('gru/run', 5, 7, 12)}, {'x': {0: 'batch'}})


def rnn():
    return Source(Recurrent('RNN', nonlinearity='relu', bidirectional=True), {'x': values.normal('rnn', 2, 7, 12)})


def cells():
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LSTMCell(6, 8), nn.GRUCell(8, 5)

        def forward(self, x):
            hidden, cell, state = x.new_zeros(x.shape[0], 8), x.new_zeros(x.shape[0], 8), x.new_zeros(x.shape[0], 5)
            for step in range(x.shape[1]):
                hidden, cell = self.first(x[:, step], (hidden, cell))
                state = self.second(hidden, state)
            return state
    return Source(Cells(), {'x': values.normal('cells', 2, 4, 6)}, {'x': values.normal('cells/run', 3, 4, 6)},
                  {'x': {0: 'batch'}})


def embeddings():
    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.bag = nn.Embedding(50, 8, padding_idx=0), nn.EmbeddingBag(50, 8, mode='mean')

        def forward(self, ids):
            return self.table(ids) + self.bag(ids)[:, None], F.one_hot(ids, 50).float() @ self.table.weight
    return Source(Bags(), {'ids': values.ids('bags', 50, 2, 6)})


def embedding():
    return Source(nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 4), nn.GELU()),
                  {'input': values.ids('embedding', 50, 2, 6)},
                  {'input': values.ids('embedding/run', 50, 4, 3)}, {'input': {0: 'batch', 1: 'tokens'}})


def activations():
    def call(_, x):
        return torch.stack([F.gelu(x), F.gelu(x, approximate='tanh'), F.mish(x), F.softplus(x), F.selu(x),
                            F.celu(x, 0.7), F.hardsigmoid(x),
                            F.logsigmoid(x), F.softsign(x), F.hardtanh(x), F.hardshrink(x), F.softshrink(x),
                            F.tanhshrink(x),
                            F.threshold(x, 0.1, -2.0), F.relu6(x), torch.erf(x), F.glu(x.repeat(1, 2))])
    return of_shapes('activations', call, (3, 4), (5, 4), {0: 'batch'})


def softmaxes():
    def call(_, x):
        return (F.softmax(x, 1), F.log_softmax(x, -1), F.softmin(x, 0), torch.logsumexp(x, (0, 2)),
                F.normalize(x, dim=2), F.cosine_similarity(x, x.flip(0), 2))
    return of_shapes('softmaxes', call, (3, 4, 5), (2, 6, 5), {0: 'batch', 1: 'tokens'})


def reductions():
    def call(_, x):
        return (x.mean((0, 2)), x.var(1), x.std(1, unbiased=False), x.amax(2), x.amin(0, keepdim=True), x.prod(1),
                x.norm(dim=2),
                torch.linalg.vector_norm(x, 1, 1), x.argmax(1), x.argmin(-1), torch.count_nonzero(x > 0, 1),
                (x > 1).any(1), (x > -2).all(2))
    return of_shapes('reductions', call, (3, 4, 5), (2, 7, 5), {0: 'batch', 1: 'tokens'})


def products():
    def call(_, x):
        y = x.transpose(1, 2)
        return (torch.einsum('bij,bkj->bik', x, x), torch.bmm(x, y), torch.baddbmm(x @ y, x, y, beta=0.5),
                torch.einsum('bij,bij->b', x, x),
                torch.outer(x[0, 0], x[0, 1]), torch.tensordot(x, x, ([2], [2])))
    return of_shapes('products', call, (2, 4, 5), (3, 6, 5), {0: 'batch', 1: 'tokens'})


def quantized_weights():
    """Weights of 8 bits, scales by row: what weight-only exports multiply with."""
    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer('bits', torch.randint(-127, 127, (8, 16), dtype=torch.int8))
            self.register_buffer('scales', torch.rand(8, 1) * 0.02)

        def forward(self, x):
            return F.linear(x, self.bits.to(x.dtype) * self.scales)
    return Source(Rows(), {'x': values.normal('rows', 2, 16)}, {'x': values.normal('rows/run', 5, 16)},
                  {'x': {0: 'batch'}})


def half():
    module = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8)).half()
    return Source(module, {'input': values.normal('half', 2, 16).astype(np.float16)},
                  {'input': values.normal('half/run', 4, 16).astype(np.float16)}, {'input': {0: 'batch'}})


def double():
    module = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.LayerNorm(6), nn.Flatten(), nn.Linear(24, 3)).double()
    return Source(settle(module), {'input': values.normal('double', 2, 4, 8).astype(np.float64)})
