"""Transformers that are not plain, state spaces, recurrent taggers, diffusion transformers."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import values
from export import Function, export, settle


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.enter, self.leave = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        query, key, value = (part.view(batch, tokens, self.heads, -1).transpose(1, 2)
                             for part in self.enter(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(query, key, value)
        return self.leave(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Experts(nn.Module):
    """The best two of several experts for each token, each with room for so many of them:
    https://arxiv.org/abs/2006.16668. Tokens go to experts and back by products with what says who goes where."""

    def __init__(self, width, inner, experts, room):
        super().__init__()
        self.experts, self.room, self.gate = experts, room, nn.Linear(width, experts, bias=False)
        self.widen = nn.Parameter(torch.randn(experts, width, inner) * width ** -0.5)
        self.narrow = nn.Parameter(torch.randn(experts, inner, width) * inner ** -0.5)

    def forward(self, x):
        shares, chosen = self.gate(x).softmax(-1).topk(2, -1)
        shares = shares / shares.sum(-1, keepdim=True)
        hot = F.one_hot(chosen, self.experts).to(x.dtype)  # [tokens, 2, experts]
        first, second = hot.unbind(1)
        place1 = first.cumsum(0) - first
        place2 = second.cumsum(0) - second + first.sum(0, keepdim=True)
        combine = 0
        for mask, place, share in ((first, place1, shares[:, 0]), (second, place2, shares[:, 1])):
            mask = mask * (place < self.room).to(x.dtype)
            slot = F.one_hot((mask * place).sum(-1).long(), self.room).to(x.dtype)
            combine = combine + torch.einsum('te,tc->tec', mask * share[:, None], slot)
        dispatch = (combine > 0).to(x.dtype)
        inside = torch.einsum('tec,td->ecd', dispatch, x)
        inside = F.gelu(torch.bmm(inside, self.widen))
        return torch.einsum('tec,ecd->td', combine, torch.bmm(inside, self.narrow))


class Mixture(nn.Module):
    def __init__(self, vocabulary=8000, width=256, heads=8, layers=4, experts=8, tokens=128):
        super().__init__()
        self.table, self.places = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(tokens, width))
        self.layers = nn.ModuleList(nn.ModuleList([
            nn.LayerNorm(width), Attention(width, heads), nn.LayerNorm(width),
            Experts(width, 4 * width, experts, tokens // 2)]) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.table(ids) + self.places
        for norm1, attention, norm2, experts in self.layers:
            x = x + attention(norm1(x))
            x = x + experts(norm2(x)[0])[None]
        return self.norm(x)


def experts():
    torch.manual_seed(values.seed('experts'))
    return export(settle(Mixture()), {'ids': values.ids('experts', 8000, 1, 128)}, ['y'])


class Selective(nn.Module):
    """A selective state space, https://arxiv.org/abs/2312.00752, its steps written out."""

    def __init__(self, width, states=16, window=4):
        super().__init__()
        inner, self.rank, self.states, self.window = 2 * width, width // 16, states, window
        self.norm, self.enter = nn.LayerNorm(width), nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, window, padding=window - 1, groups=inner)
        self.select, self.step = nn.Linear(inner, self.rank + 2 * states, bias=False), nn.Linear(self.rank, inner)
        self.rates = nn.Parameter(torch.log(torch.arange(1.0, states + 1)).repeat(inner, 1))
        self.through, self.leave = nn.Parameter(torch.ones(inner)), nn.Linear(inner, width, bias=False)

    def forward(self, x):
        tokens = x.shape[1]
        y, gate = self.enter(self.norm(x)).chunk(2, -1)
        y = F.silu(self.conv(y.transpose(1, 2))[..., :tokens]).transpose(1, 2)
        step, into, out = self.select(y).split([self.rank, self.states, self.states], -1)
        step = F.softplus(self.step(step))
        decay = torch.exp(step[..., None] * -torch.exp(self.rates))
        given = (step * y)[..., None] * into[:, :, None]
        state, outputs = torch.zeros_like(given[:, 0]), []
        for token in range(tokens):
            state = decay[:, token] * state + given[:, token]
            outputs.append((state * out[:, token, None]).sum(-1))
        y = torch.stack(outputs, 1) + y * self.through
        return x + self.leave(y * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self, vocabulary=8000, width=256, layers=4):
        super().__init__()
        self.table, self.norm = nn.Embedding(vocabulary, width), nn.LayerNorm(width)
        self.layers = nn.Sequential(*[Selective(width) for _ in range(layers)])

    def forward(self, ids):
        return self.norm(self.layers(self.table(ids)))


def mamba():
    torch.manual_seed(values.seed('mamba'))
    return export(settle(Mamba()), {'ids': values.ids('mamba', 8000, 1, 64)}, ['y'])


def t5():
    """T5-small, https://arxiv.org/abs/1910.10683: 64 tokens in, 16 out."""
    import transformers
    torch.manual_seed(values.seed('t5'))
    config = transformers.T5Config(decoder_start_token_id=0)
    config._attn_implementation = 'eager'
    module = settle(transformers.T5ForConditionalGeneration(config))
    call = lambda m, input_ids, decoder_input_ids: m(input_ids=input_ids, decoder_input_ids=decoder_input_ids,
                                                     use_cache=False).logits
    return export(Function(module, call), {'input_ids': values.ids('t5', 32000, 1, 64),
                                           'decoder_input_ids': values.ids('t5/target', 32000, 1, 16)}, ['logits'])


class Tagger(nn.Module):
    """Tags of words: recurrent both ways, two layers."""

    def __init__(self, vocabulary=10000, width=128, hidden=256, tags=17):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.cells = nn.LSTM(width, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.leave = nn.Linear(2 * hidden, tags)

    def forward(self, ids):
        return self.leave(self.cells(self.table(ids))[0])


def tagger():
    torch.manual_seed(values.seed('tagger'))
    return export(settle(Tagger()), {'ids': values.ids('tagger', 10000, 8, 64)}, ['y'])


class DiffusionLayer(nn.Module):
    """Norms whose gains and offsets come from the time step."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(width, elementwise_affine=False, eps=1e-6) for _ in range(2))
        self.attention, self.modulate = Attention(width, heads), nn.Linear(width, 6 * width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate='tanh'), nn.Linear(4 * width, width))

    def forward(self, x, time):
        offset1, gain1, gate1, offset2, gain2, gate2 = self.modulate(F.silu(time))[:, None].chunk(6, -1)
        x = x + gate1 * self.attention(self.norm1(x) * (1 + gain1) + offset1)
        return x + gate2 * self.feed(self.norm2(x) * (1 + gain2) + offset2)


class Diffusion(nn.Module):
    """DiT, https://arxiv.org/abs/2212.09748, half of S/2: noise of a latent of 4x32x32."""

    def __init__(self, size=32, patch=2, width=384, heads=6, layers=6, labels=1000):
        super().__init__()
        self.patch, self.grid, self.width = patch, size // patch, width
        self.enter = nn.Conv2d(4, width, patch, patch)
        self.places = nn.Parameter(0.02 * torch.randn(1, self.grid ** 2, width))
        self.labels = nn.Embedding(labels, width)
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(DiffusionLayer(width, heads) for _ in range(layers))
        self.norm, self.leave = nn.LayerNorm(width, elementwise_affine=False), nn.Linear(width, 8 * patch ** 2)

    def forward(self, x, timestep, label):
        angles = timestep[:, None].float() * torch.exp(torch.arange(128) * (-math.log(10000.0) / 128))[None]
        time = self.time(torch.cat([angles.cos(), angles.sin()], -1)) + self.labels(label)
        y = self.enter(x).flatten(2).transpose(1, 2) + self.places
        for layer in self.layers:
            y = layer(y, time)
        y = self.leave(self.norm(y)).view(x.shape[0], self.grid, self.grid, self.patch, self.patch, 8)
        side = self.grid * self.patch
        return torch.einsum('nhwpqc->nchpwq', y).reshape(x.shape[0], 8, side, side)


def dit():
    torch.manual_seed(values.seed('dit'))
    inputs = {'x': values.normal('dit', 1, 4, 32, 32), 'timestep': np.array([500], np.int64),
              'label': np.array([7], np.int64)}
    return export(settle(Diffusion()), inputs, ['y'])
