"""The models that exporters write here, one a row.

A row says which program writes the model (a function of exporters.py), for which opset, and which function of which
module of this folder gives what is exported; `options` go to the exporter, `arguments` to the function. The packages
of NEEDS are pinned in tests/benchmarks/requirements.txt.
"""
import dataclasses

TORCH = ('numpy', 'onnx', 'onnxruntime', 'pillow', 'torch', 'torchvision', 'transformers', 'onnxscript')
SKLEARN = ('numpy', 'onnx', 'onnxruntime', 'scikit-learn', 'skl2onnx', 'pandas')
JAX = ('numpy', 'onnx', 'onnxruntime', 'jax', 'jax2onnx')
TENSORFLOW = ('numpy', 'onnx', 'onnxruntime', 'tensorflow-cpu', 'tf2onnx')
NEEDS = {'dynamo': TORCH, 'older': TORCH, 'optimizer': TORCH, 'session': TORCH, 'quantizer': TORCH,
         'skl2onnx': SKLEARN, 'jax2onnx': JAX, 'tf2onnx': TENSORFLOW}


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    exporter: str
    opset: int
    build: str  # module.function
    arguments: dict = dataclasses.field(default_factory=dict)
    options: dict = dataclasses.field(default_factory=dict)
    rtol: float = 1e-3
    atol: float = 1e-5
    why: str = ''  # of other tolerances
    refused: str = ''  # what Encore says, where it does not take the model


def dynamo(name, opset, build, options=None, **arguments):
    return Row('dynamo/%s' % name, 'dynamo', opset, build, arguments, options or {})


def older(name, opset, build, options=None, **arguments):
    return Row('older/%s' % name, 'older', opset, build, arguments, options or {})


def sklearn(name, opset, build, arguments=None, **options):
    return Row('skl2onnx/%s' % name, 'skl2onnx', opset, 'sklearn_models.%s' % build, arguments or {}, options)


L, I, A = 'torch_layers.', 'torch_indexing.', 'torch_attention.'

T = 'language_models.'
SMALL = {'vocab_size': 100, 'hidden_size': 16, 'num_hidden_layers': 2, 'num_attention_heads': 2,
         'intermediate_size': 32}
GROUPED = {**SMALL, 'num_key_value_heads': 1}
GPT2 = {'vocab_size': 100, 'n_embd': 16, 'n_layer': 2, 'n_head': 2, 'n_positions': 64}
T5 = {'vocab_size': 100, 'd_model': 16, 'd_kv': 8, 'd_ff': 32, 'num_layers': 2, 'num_heads': 2}
BART = {'vocab_size': 100, 'd_model': 16, 'encoder_layers': 1, 'decoder_layers': 1, 'encoder_attention_heads': 2,
        'decoder_attention_heads': 2,
        'encoder_ffn_dim': 32, 'decoder_ffn_dim': 32}
DISTIL = {'vocab_size': 100, 'dim': 16, 'n_layers': 2, 'n_heads': 2, 'hidden_dim': 32}
VIT = {'hidden_size': 16, 'num_hidden_layers': 2, 'num_attention_heads': 2, 'intermediate_size': 32, 'image_size': 32,
       'patch_size': 8}
SWIN = {'image_size': 32, 'patch_size': 2, 'embed_dim': 8, 'depths': [2, 2], 'num_heads': [2, 2], 'window_size': 4}
SPEECH = {'hidden_size': 16, 'num_hidden_layers': 2, 'num_attention_heads': 2, 'intermediate_size': 32,
          'conv_dim': (8, 8), 'conv_stride': (5, 2),
          'conv_kernel': (10, 3), 'num_conv_pos_embeddings': 16, 'num_conv_pos_embedding_groups': 2,
          'num_feat_extract_layers': 2}
MIXTURE = {**GROUPED, 'num_local_experts': 4, 'num_experts_per_tok': 2}

LANGUAGE = [
    ('bert', 18, 'encoder', 'BertModel', 'BertConfig', SMALL),
    ('distilbert', 20, 'encoder', 'DistilBertModel', 'DistilBertConfig', DISTIL),
    ('modernbert', 22, 'encoder', 'ModernBertModel', 'ModernBertConfig', {**SMALL, 'pad_token_id': 0}),
    ('deberta', 20, 'encoder', 'DebertaV2Model', 'DebertaV2Config', {**SMALL, 'relative_attention': True,
                                                                     'pos_att_type': ['p2c', 'c2p'],
                                                                     'attention': 'eager'}),
    ('gpt2', 18, 'decoder', 'GPT2LMHeadModel', 'GPT2Config', GPT2),
    ('llama', 20, 'decoder', 'LlamaForCausalLM', 'LlamaConfig', {**GROUPED, 'heads': 1}),
    ('llama_23', 23, 'decoder', 'LlamaForCausalLM', 'LlamaConfig', {**GROUPED, 'heads': 1, 'tokens': 3}),
    ('llama_prompt', 22, 'prompt', 'LlamaForCausalLM', 'LlamaConfig', GROUPED),
    ('llama_static_cache', 18, 'static_cache', 'LlamaForCausalLM', 'LlamaConfig', {**GROUPED, 'heads': 1}),
    ('mistral', 21, 'prompt', 'MistralForCausalLM', 'MistralConfig', {**GROUPED, 'sliding_window': 4}),
    ('qwen3', 22, 'prompt', 'Qwen3ForCausalLM', 'Qwen3Config', {**GROUPED, 'head_dim': 8}),
    ('gemma3', 21, 'prompt', 'Gemma3ForCausalLM', 'Gemma3TextConfig', {**GROUPED, 'head_dim': 8, 'sliding_window': 4}),
    ('phi', 21, 'prompt', 'PhiForCausalLM', 'PhiConfig', SMALL),
    ('mamba', 20, 'prompt', 'MambaForCausalLM', 'MambaConfig', {'vocab_size': 100, 'hidden_size': 16,
                                                                'num_hidden_layers': 2, 'state_size': 4,
                                                                'tokens': (5, 5), 'attention': 'eager'}),
    ('t5', 18, 'pair', 'T5ForConditionalGeneration', 'T5Config', T5),
    ('bart', 20, 'pair', 'BartForConditionalGeneration', 'BartConfig', BART),
    ('vit', 18, 'image', 'ViTModel', 'ViTConfig', VIT),
    ('swin', 20, 'image', 'SwinModel', 'SwinConfig', SWIN),
    ('convnext', 21, 'image', 'ConvNextModel', 'ConvNextConfig', {'hidden_sizes': [8, 16], 'depths': [1, 1],
                                                                  'num_stages': 2, 'image_size': 32,
                                                                  'attention': 'eager'}),
    ('segformer', 20, 'image', 'SegformerForSemanticSegmentation', 'SegformerConfig',
     {'hidden_sizes': [8, 8, 16, 16], 'depths': [1, 1, 1, 1], 'num_attention_heads': [1, 1, 2, 2],
      'decoder_hidden_size': 16, 'output': 'logits', 'size': 64}),
    ('wav2vec2', 18, 'speech', 'Wav2Vec2Model', 'Wav2Vec2Config', SPEECH),
    ('wavlm', 20, 'speech', 'WavLMModel', 'WavLMConfig', {**SPEECH, 'attention': 'eager'}),
]
LANGUAGE_OLDER = [
    ('bert', 14, 'encoder', 'BertModel', 'BertConfig', {**SMALL, 'attention': 'eager'}),
    ('gpt2', 13, 'decoder', 'GPT2LMHeadModel', 'GPT2Config', {**GPT2, 'attention': 'eager'}),
    ('distilbert', 12, 'encoder', 'DistilBertModel', 'DistilBertConfig', {**DISTIL, 'attention': 'eager'}),
    ('vit', 14, 'image', 'ViTModel', 'ViTConfig', VIT),
    ('t5', 15, 'pair', 'T5ForConditionalGeneration', 'T5Config', {**T5, 'attention': 'eager'}),
]
FITTED = [
    ('random_forest', 11, {'classifier': True, 'maps': True, 'ml': 1}), ('gradient_boosting', 13, {'classifier': True}),
    ('decision_tree_strings', 14, {'classifier': True, 'maps': True}),
    ('svc_probability', 15, {'classifier': True}), ('svr', 12, {}), ('logistic_regression_strings', 19,
                                                                     {'classifier': True}),
    ('hist_gradient_boosting', 20, {'classifier': True}), ('one_hot_strings', 21, {}), ('ordinal_strings', 16, {}),
    ('label_encoder', 17, {}),
    ('knn_classifier', 13, {'classifier': True}), ('isolation_forest', 16, {}), ('k_means', 14, {}),
    ('mlp_classifier', 21, {'classifier': True}),
    ('gaussian_nb', 20, {'classifier': True, 'maps': True}),
    ('pipeline_scaled_forest', 12, {'classifier': True, 'maps': True}),
]
ESTIMATORS = [
    ('gaussian_process.GaussianProcessRegressor', 17, 'line', {}), ('decomposition.TruncatedSVD', 18, 'none',
                                                                    {'n_components': 2}),
    ('decomposition.KernelPCA', 16, 'none', {'n_components': 2, 'kernel': 'rbf'}),
    ('mixture.GaussianMixture', 15, 'none', {'n_components': 2}),
    ('linear_model.Lasso', 11, 'line', {}), ('linear_model.BayesianRidge', 14, 'line', {}),
    ('linear_model.Perceptron', 16, 'classes', {}),
    ('discriminant_analysis.QuadraticDiscriminantAnalysis', 18, 'classes', {}),
    ('cross_decomposition.PLSRegression', 17, 'lines', {}), ('preprocessing.PowerTransformer', 18, 'none', {}),
    ('preprocessing.QuantileTransformer', 18, 'none', {'n_quantiles': 10}),
    ('neural_network.MLPRegressor', 19, 'lines', {'hidden_layer_sizes': (6,), 'random_state': 7}),
    ('ensemble.ExtraTreesRegressor', 17, 'lines', {'n_estimators': 4, 'max_depth': 3, 'random_state': 7}),
]
BERT = {'kind': 'BertModel', 'config': 'BertConfig', 'attention': 'eager', **SMALL}
OPTIMIZED = [
    ('bert', 14, 'older', 'encoder', BERT, {'model_type': 'bert', 'num_heads': 2, 'hidden_size': 16}),
    ('bert_dynamo', 18, 'dynamo', 'encoder', BERT, {'model_type': 'bert', 'num_heads': 2, 'hidden_size': 16}),
    ('gpt2', 13, 'older', 'decoder', {'kind': 'GPT2LMHeadModel', 'config': 'GPT2Config', 'attention': 'eager', **GPT2},
     {'model_type': 'gpt2', 'num_heads': 2, 'hidden_size': 16}),
    ('vit', 14, 'older', 'image', {'kind': 'ViTModel', 'config': 'ViTConfig', **VIT},
     {'model_type': 'vit', 'num_heads': 2, 'hidden_size': 16}),
    ('t5', 15, 'older', 'pair', {'kind': 'T5ForConditionalGeneration', 'config': 'T5Config', 'attention': 'eager',
                                 **T5}, {'model_type': 't5', 'num_heads': 2, 'hidden_size': 16}),
    ('bart', 15, 'older', 'pair', {'kind': 'BartForConditionalGeneration', 'config': 'BartConfig', 'attention': 'eager',
                                   **BART}, {'model_type': 'bart', 'num_heads': 2, 'hidden_size': 16}),
]
EXTENDED = 'ORT_ENABLE_EXTENDED'  # the level above is for the machine that it runs on
OPTIMIZED_BY_SESSIONS = [
    (L + 'conv_net', 17, 'older', {}, EXTENDED), (L + 'lstm', 18, 'dynamo', {}, EXTENDED),
    (L + 'norms', 18, 'dynamo', {}, EXTENDED),
    (A + 'rotary', 18, 'dynamo', {}, EXTENDED), (A + 'encoder', 18, 'dynamo', {}, EXTENDED),
    (T + 'encoder', 14, 'older', BERT, EXTENDED), (T + 'image', 14, 'older',
                                                   {'kind': 'ViTModel', 'config': 'ViTConfig', **VIT}, EXTENDED),
]
QUANTIZED = [
    ('dynamic', 17, 'perceptron', {}, {'how': 'dynamic'}),
    ('dynamic_rows', 17, 'perceptron', {}, {'how': 'dynamic', 'per_channel': True, 'weight_type': 'QInt8'}),
    ('dynamic_conv', 17, 'classifier', {}, {'how': 'dynamic', 'weight_type': 'QUInt8'}),
    ('dynamic_lstm', 17, 'exported', {'build': L + 'lstm', 'how': 'older'},
     {'how': 'dynamic', 'op_types_to_quantize': ['LSTM', 'MatMul']}),
    ('dynamic_bert', 14, 'exported', {'build': T + 'encoder', 'how': 'older', **BERT}, {'how': 'dynamic'}),
    ('qdq', 17, 'classifier', {}, {'how': 'static'}),
    ('qdq_rows', 17, 'classifier', {}, {'how': 'static', 'per_channel': True, 'activation_type': 'QUInt8'}),
    ('qdq_16_bits', 21, 'perceptron', {}, {'how': 'static', 'activation_type': 'QUInt16', 'weight_type': 'QInt8'}),
    ('qdq_4_bits', 21, 'perceptron', {}, {'how': 'static', 'weight_type': 'QInt4',
                                          'op_types_to_quantize': ['MatMul', 'Gemm']}),
    ('qdq_bert', 17, 'exported', {'build': T + 'encoder', 'how': 'older', **BERT}, {'how': 'static'}),
    ('qoperator', 17, 'classifier', {}, {'how': 'static', 'quant_format': 'QOperator', 'activation_type': 'QUInt8'}),
    ('qoperator_perceptron', 17, 'perceptron', {}, {'how': 'static', 'quant_format': 'QOperator'}),
    ('qoperator_rows', 17, 'classifier', {}, {'how': 'static', 'quant_format': 'QOperator', 'per_channel': True,
                                              'activation_type': 'QUInt8'}),
    ('matmul_4_bits', 17, 'exported', {'build': A + 'rotary_older', 'how': 'older'}, {'how': 'bits', 'block_size': 16}),
    ('matmul_4_bits_symmetric', 17, 'exported', {'build': A + 'rotary_older', 'how': 'older'},
     {'how': 'bits', 'block_size': 32, 'is_symmetric': True}),
    ('matmul_8_bits', 17, 'exported', {'build': A + 'rotary_older', 'how': 'older'},
     {'how': 'bits', 'bits': 8, 'block_size': 32}),
    ('matmul_4_bits_qdq', 21, 'exported', {'build': A + 'rotary_older', 'how': 'older'},
     {'how': 'bits', 'block_size': 16, 'quant_format': 'QDQ'}),
]

ROWS = [
    *[dynamo(name, opset, L + name) for opset, names in (
        (18, ('conv_net', 'volumes', 'norms', 'lstm', 'gru', 'embedding', 'reductions', 'half')),
        (19, ('conv_sizes', 'interpolations', 'pads', 'rnn', 'softmaxes')),
        (20, ('grid_sample', 'activations', 'shuffles', 'cells', 'double')),
        (21, ('transposed', 'fold', 'lstm_tokens', 'products', 'quantized_weights', 'embeddings')),
    ) for name in names],
    *[dynamo(name, opset, I + name) for opset, names in (
        (18, ('sorting', 'scatters', 'conditional', 'logic', 'stft')),
        (19, ('cumulative', 'masked', 'while_loop', 'positions')),
        (20, ('advanced_indexing', 'unique', 'triangles', 'narrow_integers', 'fft')),
        (21, ('nonzero_static', 'scan', 'splits')),
        (22, ('broadcasts', 'floats')),
    ) for name in names],
    *[dynamo(name, opset, A + name) for opset, names in (
        (18, ('cache_index_put', 'encoder', 'cache_mutated')),
        (20, ('cache_slice', 'multihead')),
        (21, ('cache_fixed_slice', 'seq2seq')),
        (22, ('cache_scatter', 'cache_buffer')),
        (23, ('causal', 'grouped', 'rotary')),
    ) for name in names],
    dynamo('masked_bool', 23, A + 'masked', kind='bool'),
    dynamo('masked_float', 23, A + 'masked', kind='float'),
    *[dynamo(name + '_as_is', opset, module + name, {'optimize': False})
      for name, opset, module in (('encoder', 18, A), ('lstm', 21, L), ('masked', 20, I), ('causal', 22, A))],
    *[older(name, opset, L + name) for name, opset in (
        ('conv_net', 11), ('norms', 12), ('lstm', 13), ('gru', 14), ('rnn', 15), ('interpolation_older', 16),
        ('pads', 17), ('embedding', 18),
        ('transposed', 19), ('volumes', 11), ('softmaxes', 13), ('products', 15),
        ('half', 14))],
    *[older(name, opset, I + name) for name, opset in (
        ('sorting_older', 11), ('cumsum_older', 12), ('gathers_older', 13), ('masked', 14), ('nonzero_static', 15),
        ('splits', 16), ('stft_older', 17),
        ('advanced_indexing', 18), ('unique', 19), ('broadcasts', 12))],
    *[older(name, opset, A + name) for name, opset in (
        ('multihead', 15), ('causal', 14), ('rotary_older', 15), ('cache_fixed_slice', 16),
        ('cache_scatter', 17))],
    *[dynamo(name, opset, T + build, kind=kind, config=config, **settings) for name, opset, build, kind, config,
      settings in LANGUAGE],
    *[older(name, opset, T + build, kind=kind, config=config, **settings) for name, opset, build, kind, config,
      settings in LANGUAGE_OLDER],
    *[sklearn(name, opset, 'fitted', {'name': name}, **options) for name, opset, options in FITTED],
    sklearn('columns', 15, 'columns', classifier=True, maps=True),
    sklearn('tfidf', 16, 'texts', {'kind': 'TfidfVectorizer'}, classifier=True),
    sklearn('counts', 18, 'texts', {'kind': 'CountVectorizer'}, classifier=True),
    *[sklearn(name, 17, 'meta', {'name': name}, classifier=name != 'many_outputs')
      for name in ('calibrated', 'one_vs_rest', 'stacking', 'many_outputs')],
    *[sklearn(path.split('.')[-1].lower(), opset, 'estimator', {'path': path, 'target': target, 'options': given},
              classifier=target == 'classes')
      for path, opset, target, given in ESTIMATORS],
    *[Row('jax2onnx/' + name, 'jax2onnx', opset, 'jax_models.' + name)
      for name, opset in (('perceptron', 21), ('convolution', 21), ('attention', 21), ('loops', 21), ('branches', 21),
                          ('indices', 21),
                          ('reductions', 23), ('shapes', 21))],
    *[Row('tf2onnx/%s_%d' % (name, opset), 'tf2onnx', opset, 'tf_models.' + name)
      for name in ('convolutions', 'encoder', 'recurrent', 'images', 'indices', 'quantized') for opset in (13, 18)],
    *[Row('optimizer/' + name, 'optimizer', opset, 'ort_models.exported',
          {'opset': opset, 'how': how, 'build': T + build, **settings}, options)
      for name, opset, how, build, settings, options in OPTIMIZED],
    *[Row('session/%s_%s' % (build.split('.')[1] + settings.get('kind', ''), level.split('_')[-1].lower()), 'session',
          opset, 'ort_models.exported',
          {'opset': opset, 'how': how, 'build': build, **settings}, {'level': level})
      for build, opset, how, settings, level in OPTIMIZED_BY_SESSIONS],
    *[Row('quantizer/' + name, 'quantizer', opset, 'ort_models.' + build, {'opset': opset, **settings}, options)
      for name, opset, build, settings, options in QUANTIZED],
]
# Sums in f16: an element of order one differs by a step or two, 2^-10 each, with the order of the sum.
F16 = {'rtol': 2e-3, 'atol': 2e-3, 'why': 'f16'}
ROWS = [dataclasses.replace(row, **F16) if row.build == L + 'half' else row for row in ROWS]
REFUSED = {'skl2onnx/tfidf': 'the operator Tokenizer of the domain com.microsoft is not supported',
           'skl2onnx/counts': 'the operator Tokenizer of the domain com.microsoft is not supported'}
ROWS = [dataclasses.replace(row, refused=REFUSED.get(row.name, '')) for row in ROWS]
BY_NAME = {row.name: row for row in ROWS}
