"""Speech, sound and time series."""
import math

import torch
import torch.nn.functional as F
from torch import nn

import values
from export import Function, export, scale, settle


class Relative(nn.Module):
    """Attention by content and by distance, https://arxiv.org/abs/1901.02860: scores of distances are shifted by row."""

    def __init__(self, width, heads, tokens):
        super().__init__()
        self.heads, self.enter, self.leave = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.place = nn.Linear(width, width, bias=False)
        self.content, self.distance = (nn.Parameter(0.1 * torch.randn(heads, 1, width // heads)) for _ in range(2))
        angles = torch.arange(tokens - 1, -tokens, -1)[:, None] * torch.exp(
            torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        self.register_buffer('waves', torch.cat([angles.sin(), angles.cos()], -1))

    def forward(self, x):
        batch, tokens, width = x.shape
        heads = lambda y: y.view(y.shape[0], -1, self.heads, width // self.heads).transpose(1, 2)
        query, key, value = (heads(part) for part in self.enter(x).chunk(3, -1))
        place = heads(self.place(self.waves)[None])
        apart = F.pad((query + self.distance) @ place.transpose(-1, -2), (1, 0))
        apart = apart.view(batch, self.heads, 2 * tokens, tokens)[:, :, 1:].reshape(batch, self.heads, tokens, -1)
        scores = (query + self.content) @ key.transpose(-1, -2) + apart[..., :tokens]
        mixed = torch.softmax(scores * (width // self.heads) ** -0.5, -1) @ value
        return self.leave(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Convolution(nn.Module):
    """The convolution module: gated, depthwise along time."""

    def __init__(self, width, window):
        super().__init__()
        self.norm, self.widen = nn.LayerNorm(width), nn.Conv1d(width, 2 * width, 1)
        self.depthwise = nn.Conv1d(width, width, window, padding=window // 2, groups=width)
        self.inner, self.narrow = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def forward(self, x):
        y = F.glu(self.widen(self.norm(x).transpose(1, 2)), 1)
        return self.narrow(F.silu(self.inner(self.depthwise(y)))).transpose(1, 2)


class ConformerLayer(nn.Module):
    def __init__(self, width, heads, window, tokens):
        super().__init__()
        feed = lambda: nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(),
                                     nn.Linear(4 * width, width))
        self.before, self.after, self.norm, self.last = feed(), feed(), nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.convolution = Relative(width, heads, tokens), Convolution(width, window)

    def forward(self, x):
        x = x + 0.5 * self.before(x)
        x = x + self.attention(self.norm(x))
        x = x + self.convolution(x)
        return self.last(x + 0.5 * self.after(x))


class Conformer(nn.Module):
    """A speech encoder, https://arxiv.org/abs/2005.08100: convolutions to a quarter of the frames, then layers."""

    def __init__(self, frames=800, bands=80, width=256, heads=4, layers=4, window=31):
        super().__init__()
        self.shrink = nn.Sequential(nn.Conv2d(1, width // 2, 3, 2, 1), nn.ReLU(),
                                    nn.Conv2d(width // 2, width // 2, 3, 2, 1), nn.ReLU())
        self.enter = nn.Linear(width // 2 * bands // 4, width)
        self.layers = nn.Sequential(*[ConformerLayer(width, heads, window, frames // 4) for _ in range(layers)])
        self.leave = nn.Linear(width, 128)

    def forward(self, x):
        y = self.shrink(x[:, None])
        y = y.permute(0, 2, 1, 3).flatten(2)
        return F.log_softmax(self.leave(self.layers(self.enter(y))), -1)


def conformer():
    torch.manual_seed(values.seed('conformer'))
    calibration = torch.tensor(values.smooth('conformer/calibration', 2, 1, 800, 80)[:, 0])
    return export(settle(Conformer(), calibration), {'x': values.smooth('conformer', 1, 1, 800, 80)[0]}, ['y'])


def wav2vec2():
    """wav2vec 2.0, https://arxiv.org/abs/2006.11477, four narrow layers over all seven convolutions."""
    import transformers
    torch.manual_seed(values.seed('wav2vec2'))
    config = transformers.Wav2Vec2Config(hidden_size=384, num_hidden_layers=4, num_attention_heads=6,
                                         intermediate_size=1536)
    config._attn_implementation = 'eager'
    module = settle(transformers.Wav2Vec2Model(config))
    return export(Function(module, lambda m, x: m(input_values=x).last_hidden_state),
                  {'x': values.normal('wav2vec2', 1, 16000)}, ['y'])


class Voice(nn.Module):
    """HiFi-GAN's generator, https://arxiv.org/abs/2010.05646, V2: samples of a spectrogram."""

    def __init__(self, bands=80, width=128, strides=(8, 8, 2, 2), windows=(3, 7, 11), dilations=(1, 3, 5)):
        super().__init__()
        self.enter, self.up, self.blocks = nn.Conv1d(bands, width, 7, padding=3), nn.ModuleList(), nn.ModuleList()
        for stride in strides:
            self.up.append(nn.ConvTranspose1d(width, width // 2, 2 * stride, stride, stride // 2))
            width //= 2
            self.blocks.append(nn.ModuleList(self.block(width, window, dilations) for window in windows))
        self.leave = nn.Conv1d(width, 1, 7, padding=3)

    @staticmethod
    def block(width, window, dilations):
        conv = lambda dilation: nn.Conv1d(width, width, window, padding=dilation * (window // 2), dilation=dilation)
        return nn.ModuleList(nn.ModuleList([conv(dilation), conv(1)]) for dilation in dilations)

    def forward(self, x):
        x = self.enter(x)
        for enlarge, blocks in zip(self.up, self.blocks):
            x = enlarge(F.leaky_relu(x, 0.1))
            total = 0
            for block in blocks:
                y = x
                for first, second in block:
                    y = y + second(F.leaky_relu(first(F.leaky_relu(y, 0.1)), 0.1))
                total = total + y
            x = total / len(blocks)
        return torch.tanh(self.leave(F.leaky_relu(x, 0.01)))


def hifigan():
    torch.manual_seed(values.seed('hifigan'))
    return export(settle(scale(Voice(), 0.8)), {'x': values.normal('hifigan', 1, 80, 64)}, ['y'])


class Temporal(nn.Module):
    """A temporal convolutional network, https://arxiv.org/abs/1803.01271: causal windows that grow twofold."""

    def __init__(self, ins=16, width=128, levels=8, window=3, outs=10):
        super().__init__()
        self.enter = nn.Conv1d(ins, width, 1)
        conv = lambda level: nn.Conv1d(width, width, window, padding=(window - 1) << level, dilation=1 << level)
        self.levels = nn.ModuleList(nn.ModuleList([conv(level), conv(level)]) for level in range(levels))
        self.leave = nn.Linear(width, outs)

    def forward(self, x):
        x, tokens = self.enter(x), x.shape[-1]
        for first, second in self.levels:
            y = F.relu(first(x)[..., :tokens])
            x = F.relu(x + F.relu(second(y)[..., :tokens]))
        return self.leave(x.transpose(1, 2))


def tcn():
    torch.manual_seed(values.seed('tcn'))
    return export(settle(scale(Temporal(), 0.8)), {'x': values.normal('tcn', 1, 16, 1024)}, ['y'])


class PatchLayer(nn.Module):
    """Norms are of batches, over channels, as the paper has them."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1, self.norm2 = nn.BatchNorm1d(width), nn.BatchNorm1d(width)
        self.feed = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))

    def forward(self, x):
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = self.norm1(x.transpose(1, 2)).transpose(1, 2)
        return self.norm2((x + self.feed(x)).transpose(1, 2)).transpose(1, 2)


class PatchTST(nn.Module):
    """Patches of each channel of a series by itself, https://arxiv.org/abs/2211.14730."""

    def __init__(self, tokens=512, patch=16, stride=8, width=128, heads=16, layers=3, ahead=96):
        super().__init__()
        self.patch, self.stride, self.width = patch, stride, width
        count = (tokens - patch) // stride + 2
        self.enter, self.places = nn.Linear(patch, width), nn.Parameter(0.02 * torch.randn(count, width))
        self.layers = nn.Sequential(*[PatchLayer(width, heads, 2 * width) for _ in range(layers)])
        self.leave = nn.Linear(count * width, ahead)

    def forward(self, x):
        mean, deviation = x.mean(1, keepdim=True), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        y = ((x - mean) / deviation).transpose(1, 2)
        batch, channels, _ = y.shape
        y = F.pad(y, (0, self.stride), mode='replicate').unfold(-1, self.patch, self.stride)
        y = self.enter(y).reshape(batch * channels, -1, self.width) + self.places
        y = self.leave(self.layers(y).reshape(batch, channels, -1)).transpose(1, 2)
        return y * deviation + mean


def patchtst():
    torch.manual_seed(values.seed('patchtst'))
    module = settle(PatchTST(), torch.tensor(values.normal('patchtst/calibration', 4, 512, 7)))
    return export(module, {'x': values.normal('patchtst', 4, 512, 7)}, ['y'])


class Nbeats(nn.Module):
    """N-BEATS, https://arxiv.org/abs/1905.10437, its generic blocks: each explains what the ones before it did not."""

    def __init__(self, past=120, ahead=24, width=512, blocks=8, depth=4):
        super().__init__()
        self.past = past

        def block():
            layers = []
            for ins in [past] + [width] * (depth - 1):
                layers += [nn.Linear(ins, width), nn.ReLU()]
            return nn.Sequential(*layers, nn.Linear(width, past + ahead))
        self.blocks = nn.ModuleList(block() for _ in range(blocks))

    def forward(self, x):
        total = 0
        for block in self.blocks:
            both = block(x)
            x, total = x - both[:, :self.past], total + both[:, self.past:]
        return total


def nbeats():
    torch.manual_seed(values.seed('nbeats'))
    return export(settle(Nbeats()), {'x': values.normal('nbeats', 128, 120)}, ['y'])
