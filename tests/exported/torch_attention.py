"""Attention, and caches of keys and values that are updated in place."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import values
from exporters import Source


class Causal(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads, self.enter, self.leave = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        query, key, value = (part.view(batch, tokens, self.heads, -1).transpose(1, 2)
                             for part in self.enter(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.leave(mixed.transpose(1, 2).reshape(batch, tokens, width))


def causal():
    return Source(Causal(), {'x': values.normal('causal', 2, 5, 32)}, {'x': values.normal('causal/run', 2, 9, 32)},
                  {'x': {1: 'tokens'}})


class CacheIndexPut(nn.Module):
    """Rows of a cache are written where `positions` says, then all are attended to."""

    def forward(self, query, key, value, key_cache, value_cache, positions):
        keys, values_ = key_cache.clone(), value_cache.clone()
        keys[:, :, positions] = key
        values_[:, :, positions] = value
        seen = torch.arange(keys.shape[2])[None, :] <= positions[:, None]
        return F.scaled_dot_product_attention(query, keys, values_, attn_mask=seen), keys, values_


def cache_inputs(name, tokens, room=16):
    inputs = {part: values.normal(name + part, 1, 2, tokens, 8) for part in ('query', 'key', 'value')}
    inputs.update({part: values.normal(name + part, 1, 2, room, 8) for part in ('key_cache', 'value_cache')})
    inputs['positions'] = np.arange(4, 4 + tokens)
    return inputs


def cache_index_put():
    return Source(CacheIndexPut(), cache_inputs('example', 3), cache_inputs('run', 2),
                  {**{part: {2: 'tokens'} for part in ('query', 'key', 'value')}, 'positions': {0: 'tokens'}})


class Mixed(nn.Module):
    """Attention whose mask is an input, of `kind` bool or float."""

    def forward(self, query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=0.3)


def heads(name, batch, count, tokens, width=8):
    return values.normal(name, batch, count, tokens, width)


def masked(kind):
    def inputs(name, batch, tokens, keys):
        mask = values.normal(name + 'mask', batch, 1, tokens, keys)
        if kind == 'bool':
            mask = mask > -0.5
            mask[..., 0] = True
        return {'query': heads(name + 'q', batch, 3, tokens), 'key': heads(name + 'k', batch, 3, keys),
                'value': heads(name + 'v', batch, 3, keys), 'mask': mask}
    dynamic = {'query': {0: 'batch', 2: 'tokens'}, 'key': {0: 'batch', 2: 'keys'}, 'value': {0: 'batch', 2: 'keys'},
               'mask': {0: 'batch', 2: 'tokens', 3: 'keys'}}
    return Source(Mixed(), inputs('example', 2, 4, 6), inputs('run', 3, 5, 7), dynamic)


class Grouped(nn.Module):
    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


def grouped():
    def inputs(name, tokens):
        return {'query': heads(name + 'q', 1, 6, tokens), 'key': heads(name + 'k', 1, 2, tokens),
                'value': heads(name + 'v', 1, 2, tokens)}
    return Source(Grouped(), inputs('grouped', 4), inputs('grouped/run', 7),
                  {part: {2: 'tokens'} for part in ('query', 'key', 'value')})


def multihead():
    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(32, 4, batch_first=True, add_bias_kv=True)

        def forward(self, x, ignored):
            return self.attention(x, x, x, key_padding_mask=ignored, average_attn_weights=False)
    ignored = np.zeros((2, 6), bool)
    ignored[1, 4:] = True
    return Source(SelfAttention(), {'x': values.normal('multihead', 2, 6, 32), 'ignored': ignored})


def encoder():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True, activation='gelu')
    return Source(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                  {'src': values.normal('encoder', 2, 6, 32)},
                  {'src': values.normal('encoder/run', 3, 9, 32)}, {'src': {0: 'batch', 1: 'tokens'}})


def seq2seq():
    module = nn.Transformer(32, 4, 1, 2, 64, batch_first=True)
    return Source(module, {'src': values.normal('seq2seq/src', 2, 6, 32),
                           'tgt': values.normal('seq2seq/tgt', 2, 4, 32)},
                  {'src': values.normal('seq2seq/src2', 2, 8, 32), 'tgt': values.normal('seq2seq/tgt2', 2, 5, 32)},
                  {'src': {1: 'source'}, 'tgt': {1: 'target'}})


class RootMeanSquare(nn.Module):
    """As transformers' models say it; the older exporter has no nn.RMSNorm."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Rotary(nn.Module):
    """A layer as Llama's: RMS norm, rotary positions, gated units."""

    def __init__(self, norm, width=32, count=4):
        super().__init__()
        self.count, self.norm, self.after = count, norm(width), norm(width)
        self.enter, self.leave = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (nn.Linear(*sizes, bias=False) for sizes in ((width, 48), (width, 48),
                                                                                     (48, width)))

    def rotate(self, x, positions):
        half = x.shape[-1] // 2
        angles = positions[:, None].float() * 10000.0 ** (-torch.arange(half).float() / half)
        cos, sin = angles.cos(), angles.sin()
        first, second = x[..., :half], x[..., half:]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

    def forward(self, x, positions):
        batch, tokens, width = x.shape
        parts = self.enter(self.norm(x)).chunk(3, -1)
        query, key, value = (part.view(batch, tokens, self.count, -1).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(self.rotate(query, positions), self.rotate(key, positions), value,
                                               is_causal=True)
        x = x + self.leave(mixed.transpose(1, 2).reshape(batch, tokens, width))
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def rotary(norm=nn.RMSNorm):
    return Source(Rotary(norm), {'x': values.normal('rotary', 1, 5, 32), 'positions': np.arange(5)},
                  {'x': values.normal('rotary/run', 2, 8, 32), 'positions': np.arange(3, 11)},
                  {'x': {0: 'batch', 1: 'tokens'}, 'positions': {0: 'tokens'}})


class CacheSlice(nn.Module):
    """Rows of a cache are written from `start` on, by a slice whose bounds are data."""

    def forward(self, key, key_cache, start):
        keys, first = key_cache.clone(), start.item()
        torch._check(first >= 0)
        torch._check(first + key.shape[2] <= keys.shape[2])
        keys[:, :, first:first + key.shape[2]] = key
        return keys, keys.sum(-1)


def cache_slice():
    given = cache_inputs('slice', 3)
    return Source(CacheSlice(), {'key': given['key'], 'key_cache': given['key_cache'], 'start': np.array(4)})


class CacheFixedSlice(nn.Module):
    def forward(self, key, key_cache):
        keys = key_cache.clone()
        keys[:, :, 5:5 + key.shape[2]] = key
        keys[:, :, -1] += 1
        return keys, keys.sum(-1)


def cache_fixed_slice():
    given, run = cache_inputs('fixed', 3), cache_inputs('fixed/run', 5)
    return Source(CacheFixedSlice(), {part: given[part] for part in ('key', 'key_cache')},
                  {part: run[part] for part in ('key', 'key_cache')}, {'key': {2: 'tokens'}})


class CacheScatter(nn.Module):
    def forward(self, key, key_cache, positions):
        index = positions.view(1, 1, -1, 1).expand_as(key)
        return key_cache.scatter(2, index, key), key_cache.index_copy(2, positions, key * 2)


def cache_scatter():
    given, run = cache_inputs('scatter', 3), cache_inputs('scatter/run', 4)
    wanted = ('key', 'key_cache', 'positions')
    return Source(CacheScatter(), {part: given[part] for part in wanted}, {part: run[part] for part in wanted},
                  {'key': {2: 'tokens'}, 'positions': {0: 'tokens'}})


class CacheMutated(nn.Module):
    """The cache is an argument that is written to."""

    def forward(self, key, key_cache, positions):
        key_cache.index_copy_(2, positions, key)
        return key_cache.mean(2)


def cache_mutated():
    given = cache_inputs('mutated', 3)
    return Source(CacheMutated(), {part: given[part] for part in ('key', 'key_cache', 'positions')})


class CacheBuffer(nn.Module):
    """The cache is a buffer that is written to."""

    def __init__(self):
        super().__init__()
        self.register_buffer('cache', torch.zeros(1, 2, 16, 8))

    def forward(self, key, positions):
        self.cache[:, :, positions] = key
        return self.cache.sum(1)


def cache_buffer():
    given = cache_inputs('buffer', 3)
    return Source(CacheBuffer(), {part: given[part] for part in ('key', 'positions')})


def rotary_older():
    return rotary(RootMeanSquare)
