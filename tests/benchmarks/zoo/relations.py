"""Networks of graphs, and recommenders."""
import torch
import torch.nn.functional as F
from torch import nn

import values
from export import export, settle


class GraphAttention(nn.Module):
    """Attention along the edges of a dense graph, https://arxiv.org/abs/1710.10903."""

    def __init__(self, ins, heads, width):
        super().__init__()
        self.heads, self.width, self.enter = heads, width, nn.Linear(ins, heads * width, bias=False)
        self.source, self.target = (nn.Parameter(torch.randn(heads, width) * width ** -0.5) for _ in range(2))

    def forward(self, x, edges):
        y = self.enter(x).view(-1, self.heads, self.width)
        source, target = (y * self.source).sum(-1), (y * self.target).sum(-1)
        scores = F.leaky_relu(source.T[:, :, None] + target.T[:, None, :], 0.2)
        shares = torch.softmax(scores.masked_fill(~edges, -1e9), -1)
        return (shares @ y.transpose(0, 1)).transpose(0, 1).reshape(-1, self.heads * self.width)


class Gat(nn.Module):
    def __init__(self, ins=128, heads=8, width=16, classes=16):
        super().__init__()
        self.first, self.second = GraphAttention(ins, heads, width), GraphAttention(heads * width, heads, width)
        self.last = GraphAttention(heads * width, 1, classes)

    def forward(self, x, edges):
        x = F.elu(self.first(x, edges))
        return F.log_softmax(self.last(F.elu(self.second(x, edges)) + x, edges), -1)


def gat():
    torch.manual_seed(values.seed('gat'))
    edges = values.random('gat/edges').random((512, 512)) < 0.02
    edges |= edges.T
    edges[range(512), range(512)] = True
    return export(settle(Gat()), {'x': values.normal('gat', 512, 128), 'edges': edges}, ['y'])


class Messages(nn.Module):
    """Message passing over a list of edges, https://arxiv.org/abs/1704.01212: messages are gathered, summed where they
    arrive, and update what is there."""

    def __init__(self, ins=32, width=64, attributes=8, rounds=3):
        super().__init__()
        self.rounds, self.enter = rounds, nn.Linear(ins, width)
        self.message = nn.Sequential(nn.Linear(2 * width + attributes, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.update, self.leave = nn.GRUCell(width, width), nn.Linear(width, 4)

    def forward(self, x, edges, attributes):
        x, source, target = F.relu(self.enter(x)), edges[0], edges[1]
        for _ in range(self.rounds):
            message = self.message(torch.cat([x[source], x[target], attributes], -1))
            x = self.update(torch.zeros_like(x).index_add(0, target, message), x)
        return self.leave(x)


def messages():
    torch.manual_seed(values.seed('messages'))
    return export(settle(Messages()), {'x': values.normal('messages', 512, 32),
                                       'edges': values.ids('messages/edges', 512, 2, 4096),
                                       'attributes': values.normal('messages/attributes', 4096, 8)}, ['y'])


def perceptron(*widths, last=nn.ReLU):
    layers = []
    for ins, outs in zip(widths, widths[1:]):
        layers += [nn.Linear(ins, outs), nn.ReLU()]
    return nn.Sequential(*layers[:-1], last())


class Dlrm(nn.Module):
    """DLRM, https://arxiv.org/abs/1906.00091: bags of embeddings, products of all pairs of features."""

    def __init__(self, tables=26, rows=10000, width=32, dense=13):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode='sum') for _ in range(tables))
        self.bottom = perceptron(dense, 512, 256, width)
        pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer('first', pairs[0])
        self.register_buffer('second', pairs[1])
        self.top = perceptron(width + len(pairs[0]), 512, 256, 1, last=nn.Sigmoid)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        features = torch.stack([x] + [table(sparse[:, index]) for index, table in enumerate(self.tables)], 1)
        products = (features @ features.transpose(1, 2))[:, self.first, self.second]
        return self.top(torch.cat([x, products], 1))


def dlrm():
    torch.manual_seed(values.seed('dlrm'))
    return export(settle(Dlrm()), {'dense': values.normal('dlrm', 256, 13),
                                   'sparse': values.ids('dlrm/sparse', 10000, 256, 26, 4)}, ['y'])


class Dice(nn.Module):
    """Between two slopes, by where a value is among its batch."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.slope = nn.BatchNorm1d(width, affine=False), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        share = torch.sigmoid(self.norm(x.reshape(-1, x.shape[-1]))).view(x.shape)
        return share * x + (1 - share) * self.slope * x


class Interest(nn.Module):
    """DIN, https://arxiv.org/abs/1706.06978: what a user did, weighed by what is offered."""

    def __init__(self, items=20000, kinds=500, width=32):
        super().__init__()
        self.items, self.kinds = nn.Embedding(items, width), nn.Embedding(kinds, width)
        self.weigh = nn.Sequential(nn.Linear(8 * width, 80), Dice(80), nn.Linear(80, 40), Dice(40), nn.Linear(40, 1))
        self.top = nn.Sequential(nn.Linear(6 * width, 200), Dice(200), nn.Linear(200, 80), Dice(80), nn.Linear(80, 1))

    def look_up(self, ids):
        return torch.cat([self.items(ids[..., 0]), self.kinds(ids[..., 1])], -1)

    def forward(self, offered, history, lengths):
        offer, past = self.look_up(offered), self.look_up(history)
        query = offer[:, None].expand_as(past)
        weights = self.weigh(torch.cat([query, past, query - past, query * past], -1))
        there = torch.arange(past.shape[1])[None, :] < lengths[:, None]
        interest = (weights * there[..., None].to(past.dtype) * past).sum(1)
        return torch.sigmoid(self.top(torch.cat([offer, interest, offer * interest], -1)))


def din():
    torch.manual_seed(values.seed('din'))
    ids = lambda name, *shape: values.ids('din/' + name, 500, *shape, 2)
    return export(settle(Interest()), {'offered': ids('offered', 64), 'history': ids('history', 64, 50),
                                       'lengths': 1 + values.ids('din/lengths', 50, 64)}, ['y'])
