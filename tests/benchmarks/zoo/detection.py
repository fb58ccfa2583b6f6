"""Detectors: what finds boxes, and the networks of images and films that are no classifiers of torchvision.models."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

import values
from export import Function, export, settle


def body():
    """ResNet-18 without its head: features at strides 8, 16 and 32."""
    network = torchvision.models.resnet18(weights=None)
    stem = nn.Sequential(network.conv1, network.bn1, network.relu, network.maxpool, network.layer1)
    return nn.ModuleList([nn.Sequential(stem, network.layer2), network.layer3, network.layer4])


def pyramid_of(stages, x):
    features = []
    for stage in stages:
        x = stage(x)
        features.append(x)
    return features


def detector(name, module, size, outputs):
    """(model, inputs) of a module and an image; norms of batches are calibrated on others."""
    calibration = torch.tensor(values.smooth(name + '/calibration', 4, 3, size, size))
    return export(settle(module, calibration), {'x': values.smooth(name, 1, 3, size, size)}, outputs)


class RetinaNet(nn.Module):
    """A feature pyramid with shared heads, https://arxiv.org/abs/1708.02002; the best boxes of all levels."""

    def __init__(self, width=128, classes=20, anchors=9, best=100):
        super().__init__()
        self.classes, self.best = classes, best
        self.body = body()
        self.lateral = nn.ModuleList(nn.Conv2d(ins, width, 1) for ins in (128, 256, 512))
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.coarser = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.scores, self.boxes = self.head(width, anchors * classes), self.head(width, anchors * 4)

    @staticmethod
    def head(width, outs):
        layers = []
        for _ in range(2):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(16, width), nn.ReLU()]
        return nn.Sequential(*layers, nn.Conv2d(width, outs, 3, padding=1))

    def forward(self, x):
        levels = [lateral(feature) for lateral, feature in zip(self.lateral, pyramid_of(self.body, x))]
        for level in (1, 0):
            levels[level] = levels[level] + F.interpolate(levels[level + 1], scale_factor=2, mode='nearest')
        levels = [smooth(feature) for smooth, feature in zip(self.smooth, levels)]
        levels.append(self.coarser(levels[-1]))
        rows = lambda y, width: y.permute(0, 2, 3, 1).reshape(y.shape[0], -1, width)
        scores = torch.cat([rows(self.scores(level), self.classes) for level in levels], 1).sigmoid()
        boxes = torch.cat([rows(self.boxes(level), 4) for level in levels], 1)
        best, where = scores.amax(-1).topk(self.best, 1)
        chosen = boxes.gather(1, where[..., None].expand(-1, -1, 4))
        center, extent = chosen[..., :2], chosen[..., 2:].clamp(max=4).exp()
        return best, torch.cat([center - extent / 2, center + extent / 2], -1)


def retinanet():
    torch.manual_seed(values.seed('retinanet'))
    return detector('retinanet', RetinaNet(), 320, ['scores', 'boxes'])


def unit(ins, outs, window=1, stride=1):
    return nn.Sequential(nn.Conv2d(ins, outs, window, stride, window // 2, bias=False), nn.BatchNorm2d(outs), nn.SiLU())


class Split(nn.Module):
    """A stage of partial connections: half of the channels go by the blocks, all that they give is joined."""

    def __init__(self, ins, outs, blocks, add):
        super().__init__()
        half = outs // 2
        self.add, self.enter = add, unit(ins, outs)
        self.blocks = nn.ModuleList(nn.Sequential(unit(half, half, 3), unit(half, half, 3)) for _ in range(blocks))
        self.leave = unit((2 + blocks) * half, outs)

    def forward(self, x):
        parts = list(self.enter(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]) if self.add else block(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class Pools(nn.Module):
    """Maxima of growing windows, one after the other."""

    def __init__(self, width):
        super().__init__()
        self.enter, self.leave = unit(width, width // 2), unit(2 * width, width)

    def forward(self, x):
        parts = [self.enter(x)]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        return self.leave(torch.cat(parts, 1))


class Yolo(nn.Module):
    """A detector of one pass, as the eighth YOLO at its smallest width: boxes as distributions of distances."""

    def __init__(self, widths=(16, 32, 64, 128, 256), classes=80, bins=16):
        super().__init__()
        self.bins, self.classes = bins, classes
        stem, first, *rest = widths
        self.enter = nn.Sequential(unit(3, stem, 3, 2), unit(stem, first, 3, 2), Split(first, first, 1, True))
        self.stages = nn.ModuleList(nn.Sequential(unit(ins, outs, 3, 2), Split(outs, outs, 2, True))
                                    for ins, outs in zip((first, *rest), rest))
        self.pools = Pools(rest[-1])
        low, middle, high = rest
        self.up = nn.ModuleList([Split(middle + high, middle, 1, False), Split(low + middle, low, 1, False)])
        self.shrink = nn.ModuleList([unit(low, low, 3, 2), unit(middle, middle, 3, 2)])
        self.down = nn.ModuleList([Split(low + middle, middle, 1, False), Split(middle + high, high, 1, False)])
        self.boxes = nn.ModuleList(self.head(width, 64, 4 * bins) for width in rest)
        self.scores = nn.ModuleList(self.head(width, 80, classes) for width in rest)

    @staticmethod
    def head(ins, width, outs):
        return nn.Sequential(unit(ins, width, 3), unit(width, width, 3), nn.Conv2d(width, outs, 1))

    def neck(self, low, middle, high):
        enlarge = lambda y: F.interpolate(y, scale_factor=2, mode='nearest')
        inner = self.up[0](torch.cat([enlarge(high), middle], 1))
        fine = self.up[1](torch.cat([enlarge(inner), low], 1))
        medium = self.down[0](torch.cat([self.shrink[0](fine), inner], 1))
        return fine, medium, self.down[1](torch.cat([self.shrink[1](medium), high], 1))

    def forward(self, x):
        low, middle, high = pyramid_of(self.stages, self.enter(x))
        levels = self.neck(low, middle, self.pools(high))
        flat = lambda heads: torch.cat([head(level).flatten(2) for head, level in zip(heads, levels)], 2)
        boxes = flat(self.boxes)
        distances = boxes.view(boxes.shape[0], 4, self.bins, -1).softmax(2)
        distances = (distances * torch.arange(self.bins, dtype=x.dtype).view(1, 1, -1, 1)).sum(2)
        before, after = distances.chunk(2, 1)
        return torch.cat([(after - before) / 2, after + before, flat(self.scores).sigmoid()], 1)


def yolo():
    torch.manual_seed(values.seed('yolo'))
    return detector('yolo', Yolo(), 320, ['y'])


class Detr(nn.Module):
    """DETR, https://arxiv.org/abs/2005.12872: a transformer over the last features, queries for boxes."""

    def __init__(self, width=256, heads=8, layers=3, queries=100, classes=91, size=256):
        super().__init__()
        self.body, self.enter = body(), nn.Conv2d(512, width, 1)
        self.transformer = nn.Transformer(width, heads, layers, layers, 4 * width, dropout=0.0, batch_first=True)
        self.places = nn.Parameter(torch.randn(1, (size // 32) ** 2, width))
        self.queries = nn.Parameter(torch.randn(1, queries, width))
        self.classes = nn.Linear(width, classes + 1)
        self.boxes = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                   nn.Linear(width, 4))

    def forward(self, x):
        tokens = self.enter(pyramid_of(self.body, x)[-1]).flatten(2).transpose(1, 2) + self.places
        found = self.transformer(tokens, self.queries.expand(x.shape[0], -1, -1))
        return self.classes(found), self.boxes(found).sigmoid()


def detr():
    torch.manual_seed(values.seed('detr'))
    return detector('detr', Detr(), 256, ['classes', 'boxes'])


class Mixer(nn.Module):
    """MLP-Mixer, https://arxiv.org/abs/2105.01601, S/16."""

    def __init__(self, size=224, patch=16, width=512, layers=8, classes=1000):
        super().__init__()
        tokens = (size // patch) ** 2
        self.enter = nn.Conv2d(3, width, patch, patch)
        two = lambda outer, inner: nn.Sequential(nn.Linear(outer, inner), nn.GELU(), nn.Linear(inner, outer))
        self.layers = nn.ModuleList(nn.ModuleList([nn.LayerNorm(width), two(tokens, width // 2), nn.LayerNorm(width),
                                                   two(width, 4 * width)]) for _ in range(layers))
        self.norm, self.leave = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.enter(x).flatten(2).transpose(1, 2)
        for norm1, across, norm2, along in self.layers:
            x = x + across(norm1(x).transpose(1, 2)).transpose(1, 2)
            x = x + along(norm2(x))
        return self.leave(self.norm(x).mean(1))


def mixer():
    torch.manual_seed(values.seed('mixer'))
    return export(settle(Mixer()), {'x': values.smooth('mixer', 1, 3, 224, 224)}, ['y'])


def film():
    """R(2+1)D-18, https://arxiv.org/abs/1711.11248: convolutions of space, then of time."""
    torch.manual_seed(values.seed('film'))
    draw = lambda name, batch: values.smooth(name, batch, 3 * 8, 56, 56).reshape(batch, 3, 8, 56, 56)
    module = settle(torchvision.models.video.r2plus1d_18(weights=None), torch.tensor(draw('film/calibration', 4)))
    return export(Function(module, lambda m, x: m(x)), {'x': draw('film', 1)}, ['y'])
