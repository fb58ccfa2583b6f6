"""Models that give an image for an image: segmentation, super-resolution, the decoder of a latent diffusion model."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

import values
from export import Function, export, scale, settle


def image(name, module, size, channels=3, calibrate=False, call=lambda module, x: module(x)):
    """(model, inputs) of a module and one image. Norms of batches are calibrated on others."""
    calibration = torch.tensor(values.smooth(name + '/calibration', 4, channels, size, size)) if calibrate else None
    module = settle(module, calibration)
    return export(Function(module, call), {'x': values.smooth(name, 1, channels, size, size)}, ['y'])


def segformer():
    """SegFormer-B0, https://arxiv.org/abs/2105.15203."""
    import transformers
    torch.manual_seed(values.seed('segformer'))
    config = transformers.SegformerConfig(num_labels=150)
    config._attn_implementation = 'eager'
    return image('segformer', transformers.SegformerForSemanticSegmentation(config), 256, calibrate=True,
                 call=lambda module, x: module(pixel_values=x).logits)


def deeplab():
    """DeepLabv3 over MobileNetV3, https://arxiv.org/abs/1706.05587: dilated convolutions, pyramid of rates."""
    torch.manual_seed(values.seed('deeplab'))
    module = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None)
    return image('deeplab', module, 256, calibrate=True, call=lambda module, x: module(x)['out'])


def twice(ins, outs):
    layers = []
    for width in (ins, outs):
        layers += [nn.Conv2d(width, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """The segmentation network of https://arxiv.org/abs/1505.04597, padded, with norms."""

    def __init__(self, ins, classes, widths):
        super().__init__()
        self.down = nn.ModuleList(twice(*pair) for pair in zip((ins,) + widths[:-1], widths))
        wide = list(reversed(list(zip(widths[:-1], widths[1:]))))
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(upper, lower, 2, stride=2) for lower, upper in wide)
        self.up = nn.ModuleList(twice(2 * lower, lower) for lower, _ in wide)
        self.leave = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for stage in self.down:
            x = stage(F.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        kept.pop()
        for enlarge, stage in zip(self.enlarge, self.up):
            x = stage(torch.cat([kept.pop(), enlarge(x)], 1))
        return self.leave(x)


def unet_medical():
    torch.manual_seed(values.seed('unet_medical'))
    return image('unet_medical', UNet(1, 4, (32, 64, 128, 256, 512)), 192, channels=1, calibrate=True)


class DenseBlock(nn.Module):
    """Five convolutions, each of which reads all that came before it."""

    def __init__(self, width, growth):
        super().__init__()
        sizes = [(width + step * growth, growth) for step in range(4)] + [(width + 4 * growth, width)]
        self.convs = nn.ModuleList(nn.Conv2d(ins, outs, 3, padding=1) for ins, outs in sizes)

    def forward(self, x):
        seen = [x]
        for conv in self.convs[:-1]:
            seen.append(F.leaky_relu(conv(torch.cat(seen, 1)), 0.2))
        return x + 0.2 * self.convs[-1](torch.cat(seen, 1))


class Esrgan(nn.Module):
    """ESRGAN's generator, https://arxiv.org/abs/1809.00219."""

    def __init__(self, width=32, growth=16, blocks=3):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(*[DenseBlock(width, growth) for _ in range(3)]) for _ in range(blocks))
        self.trunk, self.finer = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.finest, self.high = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        x = y = self.enter(x)
        for block in self.blocks:
            y = y + 0.2 * block(y)
        x = x + self.trunk(y)
        for conv in (self.finer, self.finest):
            x = F.leaky_relu(conv(F.interpolate(x, scale_factor=2, mode='nearest')), 0.2)
        return self.leave(F.leaky_relu(self.high(x), 0.2))


def esrgan():
    torch.manual_seed(values.seed('esrgan'))
    return image('esrgan', scale(Esrgan()), 64)


class Edsr(nn.Module):
    """EDSR, https://arxiv.org/abs/1707.02921: residual blocks without norms, then a shuffle of pixels."""

    def __init__(self, width=64, blocks=8, factor=2):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
                                                  nn.Conv2d(width, width, 3, padding=1)) for _ in range(blocks))
        self.after = nn.Conv2d(width, width, 3, padding=1)
        self.enlarge = nn.Sequential(nn.Conv2d(width, factor ** 2 * width, 3, padding=1), nn.PixelShuffle(factor))
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        x = y = self.enter(x)
        for block in self.blocks:
            y = y + 0.1 * block(y)
        return self.leave(self.enlarge(x + self.after(y)))


def edsr():
    torch.manual_seed(values.seed('edsr'))
    return image('edsr', scale(Edsr()), 64)


class Residual(nn.Module):
    def __init__(self, ins, outs):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, ins, eps=1e-6), nn.Conv2d(ins, outs, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(32, outs, eps=1e-6), nn.Conv2d(outs, outs, 3, padding=1)
        self.skip = nn.Conv2d(ins, outs, 1) if ins != outs else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class PixelAttention(nn.Module):
    """One head over all pixels."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(32, width, eps=1e-6)
        self.query, self.key, self.value, self.leave = (nn.Conv2d(width, width, 1) for _ in range(4))

    def forward(self, x):
        batch, width, height, columns = x.shape
        y = self.norm(x)
        query, key, value = (part(y).reshape(batch, width, -1) for part in (self.query, self.key, self.value))
        scores = torch.softmax(query.transpose(1, 2) @ key * width ** -0.5, -1)
        return x + self.leave((value @ scores.transpose(1, 2)).reshape(batch, width, height, columns))


class Decoder(nn.Module):
    """The decoder of a latent diffusion model's autoencoder, https://arxiv.org/abs/2112.10752, at a quarter of its width."""

    def __init__(self, widths=(128, 64, 32)):
        super().__init__()
        self.enter = nn.Conv2d(4, widths[0], 3, padding=1)
        self.middle = nn.Sequential(Residual(widths[0], widths[0]), PixelAttention(widths[0]), Residual(widths[0], widths[0]))
        self.levels = nn.ModuleList(nn.Sequential(Residual(ins, outs), Residual(outs, outs))
                                    for ins, outs in zip(widths[:1] + widths[:-1], widths))
        self.resize = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for width in widths[:-1])
        self.norm, self.leave = nn.GroupNorm(32, widths[-1], eps=1e-6), nn.Conv2d(widths[-1], 3, 3, padding=1)

    def forward(self, x):
        x = self.middle(self.enter(x))
        for level, stage in enumerate(self.levels):
            x = stage(x)
            if level < len(self.resize):
                x = self.resize[level](F.interpolate(x, scale_factor=2.0, mode='nearest'))
        return self.leave(F.silu(self.norm(x)))


def vae_decoder():
    torch.manual_seed(values.seed('vae_decoder'))
    return image('vae_decoder', Decoder(), 32, channels=4)
