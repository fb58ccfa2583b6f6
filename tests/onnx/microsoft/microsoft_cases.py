"""The cases that make_cases.py runs: for each operator a function that gives them."""
import attention_cases
import normalization_cases
import product_cases
import quantized_cases

OPERATORS = {
    'Attention': attention_cases.attention,
    'BiasGelu': normalization_cases.bias_gelu,
    'DequantizeLinear': quantized_cases.dequantize_linear,
    'DynamicQuantizeLSTM': quantized_cases.dynamic_quantize_lstm,
    'DynamicQuantizeMatMul': quantized_cases.dynamic_quantize_mat_mul,
    'EmbedLayerNormalization': normalization_cases.embed_layer_normalization,
    'FastGelu': normalization_cases.fast_gelu,
    'FusedConv': product_cases.fused_conv,
    'FusedGemm': product_cases.fused_gemm,
    'FusedMatMul': product_cases.fused_mat_mul,
    'GatherBlockQuantized': product_cases.gather_block_quantized,
    'Gelu': normalization_cases.gelu,
    'GroupQueryAttention': attention_cases.group_query_attention,
    'MatMulIntegerToFloat': quantized_cases.mat_mul_integer_to_float,
    'MatMulNBits': product_cases.mat_mul_n_bits,
    'MultiHeadAttention': attention_cases.multi_head_attention,
    'QGemm': quantized_cases.q_gemm,
    'QLinearAdd': quantized_cases.q_linear_binary,
    'QLinearAveragePool': quantized_cases.q_linear_average_pool,
    'QLinearConcat': quantized_cases.q_linear_concat,
    'QLinearConv': quantized_cases.q_linear_conv,
    'QLinearGlobalAveragePool': quantized_cases.q_linear_global_average_pool,
    'QLinearLeakyRelu': quantized_cases.q_linear_leaky_relu,
    'QLinearMul': quantized_cases.q_linear_binary,
    'QLinearSigmoid': quantized_cases.q_linear_sigmoid,
    'QLinearSoftmax': quantized_cases.q_linear_softmax,
    'QLinearWhere': quantized_cases.q_linear_where,
    'QuantizeLinear': quantized_cases.quantize_linear,
    'QuickGelu': normalization_cases.quick_gelu,
    'RotaryEmbedding': attention_cases.rotary_embedding,
    'SimplifiedLayerNormalization': normalization_cases.simplified_layer_normalization,
    'SkipLayerNormalization': normalization_cases.skip_layer_normalization,
    'SkipSimplifiedLayerNormalization': normalization_cases.skip_simplified_layer_normalization,
}
