"""transformers' models, small and untrained."""
import numpy as np
import torch
import transformers

import values
from export import Function, settle
from exporters import Source


def module(config, kind, attention='sdpa'):
    config._attn_implementation = attention
    return settle(getattr(transformers, kind)(config))


def encoder(kind, config, attention='sdpa', tokens=(6, 9), **settings):
    """An encoder with a mask: its last hidden state."""
    model = module(getattr(transformers, config)(**settings), kind, attention)

    def inputs(name, batch, length):
        mask = np.ones((batch, length), np.int64)
        mask[-1, length - 2:] = 0
        return {'input_ids': values.ids(name, 100, batch, length), 'attention_mask': mask}
    call = lambda m, input_ids, attention_mask: m(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
    axes = {0: 'batch', 1: 'tokens'}
    return Source(Function(model, call), inputs('encoder', 2, tokens[0]), inputs('encoder/run', 3, tokens[1]),
                  {'input_ids': axes, 'attention_mask': axes})


def decoder(kind, config, layers=2, heads=2, width=8, attention='sdpa', tokens=1, past=5, **settings):
    """Tokens and a cache that grows."""
    model = module(getattr(transformers, config)(**settings), kind, attention)

    def call(m, input_ids, *cached):
        cache = transformers.DynamicCache()
        for layer in range(layers):
            cache.update(cached[2 * layer], cached[2 * layer + 1], layer)
        result = m(input_ids=input_ids, past_key_values=cache, use_cache=True)
        return (result.logits,
                *[value for layer in result.past_key_values.layers for value in (layer.keys, layer.values)])

    def inputs(name, length):
        given = {'input_ids': values.ids(name, 100, 1, tokens)}
        given.update({'past_%d_%s' % (layer, part): values.normal('%s%d%s' % (name, layer, part), 1, heads, length,
                                                                  width)
                      for layer in range(layers) for part in ('key', 'value')})
        return given
    example = inputs('decoder', past)
    dynamic = {name: {2: 'past'} for name in example if name != 'input_ids'}
    return Source(Function(model, call), example, inputs('decoder/run', past + 4), dynamic)


def static_cache(kind, config, layers=2, heads=2, width=8, room=16, **settings):
    """Tokens and a cache of fixed length, written in place where `positions` says."""
    model = module(getattr(transformers, config)(**settings), kind)

    def call(m, input_ids, positions, *cached):
        cache = transformers.StaticCache(config=m.config, max_cache_len=room)
        cache.early_initialization(1, heads, width, torch.float32, 'cpu')
        for layer in range(layers):
            cache.layers[layer].keys = cached[2 * layer].clone()
            cache.layers[layer].values = cached[2 * layer + 1].clone()
        result = m(input_ids=input_ids, past_key_values=cache, cache_position=positions, position_ids=positions[None],
                   use_cache=True)
        return (result.logits, *[value for layer in cache.layers for value in (layer.keys, layer.values)])
    example = {'input_ids': values.ids('static', 100, 1, 2), 'positions': np.array([5, 6])}
    example.update({'past_%d_%s' % (layer, part): values.normal('static%d%s' % (layer, part), 1, heads, room, width)
                    for layer in range(layers) for part in ('key', 'value')})
    return Source(Function(model, call), example)


def prompt(kind, config, attention='sdpa', tokens=(6, 9), **settings):
    """A decoder without a cache: logits."""
    model = module(getattr(transformers, config)(**settings), kind, attention)
    call = lambda m, input_ids: m(input_ids=input_ids, use_cache=False).logits
    return Source(Function(model, call), {'input_ids': values.ids('prompt', 100, 2, tokens[0])},
                  {'input_ids': values.ids('prompt/run', 100, 2, tokens[1])},
                  {'input_ids': {1: 'tokens'}} if tokens[0] != tokens[1] else None)


def pair(kind, config, attention='sdpa', **settings):
    """Encoder and decoder: logits."""
    model = module(getattr(transformers, config)(**settings), kind, attention)
    call = lambda m, input_ids, decoder_input_ids: m(input_ids=input_ids, decoder_input_ids=decoder_input_ids,
                                                     use_cache=False).logits
    return Source(Function(model, call), {'input_ids': values.ids('pair', 100, 2, 6),
                                          'decoder_input_ids': values.ids('pair/target', 100, 2, 4)},
                  {'input_ids': values.ids('pair2', 100, 2, 8), 'decoder_input_ids': values.ids('pair2/target', 100, 2,
                                                                                                3)},
                  {'input_ids': {1: 'source'}, 'decoder_input_ids': {1: 'target'}})


def image(kind, config, attention='sdpa', size=32, output='last_hidden_state', **settings):
    model = module(getattr(transformers, config)(**settings), kind, attention)
    call = lambda m, pixel_values: m(pixel_values=pixel_values)[output]
    return Source(Function(model, call), {'pixel_values': values.smooth('image', 2, 3, size, size)},
                  {'pixel_values': values.smooth('image/run', 3, 3, size, size)}, {'pixel_values': {0: 'batch'}})


def speech(kind, config, attention='sdpa', samples=800, **settings):
    model = module(getattr(transformers, config)(**settings), kind, attention)
    return Source(Function(model, lambda m, input_values: m(input_values=input_values).last_hidden_state),
                  {'input_values': values.normal('speech', 1, samples)})
