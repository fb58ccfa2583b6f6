"""A diffusion U-Net of the shape of Stable Diffusion's, https://arxiv.org/abs/2112.10752, at a third of its size:
two residual blocks a level, self- and cross-attention on the lower two levels and in the middle."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import values
from export import export, settle

CHANNELS = (128, 256, 512)
CONTEXT, TOKENS, HEADS, GROUPS = 512, 77, 8, 32
TIME = 4 * CHANNELS[0]


class Residual(nn.Module):
    def __init__(self, ins, outs):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(GROUPS, ins), nn.Conv2d(ins, outs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(GROUPS, outs), nn.Conv2d(outs, outs, 3, padding=1)
        self.time = nn.Linear(TIME, outs)
        self.skip = nn.Conv2d(ins, outs, 1) if ins != outs else nn.Identity()

    def forward(self, x, time, context):
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class Attention(nn.Module):
    def __init__(self, width, source):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key, self.value = nn.Linear(source, width, bias=False), nn.Linear(source, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, source):
        batch, tokens, width = x.shape
        heads = lambda y: y.view(batch, -1, HEADS, width // HEADS).transpose(1, 2)
        query, key, value = heads(self.query(x)), heads(self.key(source)), heads(self.value(source))
        scores = query @ key.transpose(-1, -2) * (width // HEADS) ** -0.5
        mixed = torch.softmax(scores, -1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Transformer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, width, eps=1e-6)
        self.enter, self.leave = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.self_attention, self.cross_attention = Attention(width, width), Attention(width, CONTEXT)
        self.widen, self.narrow = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x, time, context):
        batch, width, height, columns = x.shape
        y = self.enter(self.norm(x)).reshape(batch, width, height * columns).transpose(1, 2)
        n = self.norms[0](y)
        y = y + self.self_attention(n, n)
        y = y + self.cross_attention(self.norms[1](y), context)
        value, gate = self.widen(self.norms[2](y)).chunk(2, -1)
        y = y + self.narrow(value * F.gelu(gate))
        return x + self.leave(y.transpose(1, 2).reshape(batch, width, height, columns))


class Resize(nn.Module):
    """To half the size with stride 2, or to twice the size by repetition."""

    def __init__(self, width, stride):
        super().__init__()
        self.stride, self.conv = stride, nn.Conv2d(width, width, 3, stride=stride, padding=1)

    def forward(self, x, time, context):
        return self.conv(x if self.stride == 2 else F.interpolate(x, scale_factor=2.0, mode='nearest'))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time1, self.time2 = nn.Linear(CHANNELS[0], TIME), nn.Linear(TIME, TIME)
        self.enter = nn.Conv2d(4, CHANNELS[0], 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        width, skips = CHANNELS[0], [CHANNELS[0]]
        for level, outs in enumerate(CHANNELS):
            for _ in range(2):
                self.down.append(self.stage(width, outs, level))
                width = outs
                skips.append(width)
            if level < len(CHANNELS) - 1:
                self.down.append(nn.ModuleList([Resize(width, 2)]))
                skips.append(width)
        self.middle = nn.ModuleList([Residual(width, width), Transformer(width), Residual(width, width)])
        for level, outs in reversed(list(enumerate(CHANNELS))):
            for block in range(3):
                self.up.append(self.stage(width + skips.pop(), outs, level))
                width = outs
                if block == 2 and level > 0:
                    self.up[-1].append(Resize(width, 1))
        self.norm, self.leave = nn.GroupNorm(GROUPS, width), nn.Conv2d(width, 4, 3, padding=1)

    @staticmethod
    def stage(ins, outs, level):
        return nn.ModuleList([Residual(ins, outs)] + ([Transformer(outs)] if level > 0 else []))

    def forward(self, x, timestep, context):
        half = CHANNELS[0] // 2
        angles = timestep[:, None].float() * torch.exp(torch.arange(half) * (-math.log(10000.0) / half))[None]
        time = self.time2(F.silu(self.time1(torch.cat([angles.cos(), angles.sin()], -1))))

        def run(stage, h):
            for module in stage:
                h = module(h, time, context)
            return h

        h = self.enter(x)
        kept = [h]
        for stage in self.down:
            h = run(stage, h)
            kept.append(h)
        h = run(self.middle, h)
        for stage in self.up:
            h = run(stage, torch.cat([h, kept.pop()], 1))
        return self.leave(F.silu(self.norm(h)))


def unet():
    torch.manual_seed(values.seed('unet'))
    return export(settle(UNet()), {'x': values.normal('unet', 1, 4, 32, 32), 'timestep': np.array([500], np.int64),
                                   'context': values.normal('context', 1, TOKENS, CONTEXT)}, ['y'])
