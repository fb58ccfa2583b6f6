#!/usr/bin/env python3
"""Writes microsoft_schemas.def: operators of the domain com.microsoft as the installed onnxruntime declares them.

    ir/import/onnx/format/export_microsoft_schemas.py > ir/import/onnx/format/microsoft_schemas.def

Only those that Encore converts, and of their types those that it has.
"""
import sys
from collections import namedtuple

import export_schemas
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

DOMAIN = 'com.microsoft'
# ONNX Runtime writes this one in the default domain.
IN_DEFAULT_DOMAIN = 'SimplifiedLayerNormalization'
OPERATORS = {
    'Attention', 'BiasGelu', 'DequantizeLinear', 'DynamicQuantizeLSTM', 'DynamicQuantizeMatMul',
    'EmbedLayerNormalization', 'FastGelu', 'FusedConv', 'FusedGemm', 'FusedMatMul', 'GatherBlockQuantized', 'Gelu',
    'GroupQueryAttention', 'MatMulIntegerToFloat', 'MatMulNBits', 'MultiHeadAttention', 'QGemm', 'QLinearAdd',
    'QLinearAveragePool', 'QLinearConcat', 'QLinearConv', 'QLinearGlobalAveragePool', 'QLinearLeakyRelu', 'QLinearMul',
    'QLinearSigmoid', 'QLinearSoftmax', 'QLinearWhere', 'QuantizeLinear', 'QuickGelu', 'RotaryEmbedding',
    'SkipLayerNormalization', 'SkipSimplifiedLayerNormalization',
}
UNKNOWN_TYPES = {'tensor(float4e2m1)'}

HEADER = '''\
// Operators of the domain com.microsoft, as onnxruntime %s declares them; written by export_microsoft_schemas.py.
// schemas.def says what the rows mean, and is included before this file.
'''

Schema = namedtuple('Schema', 'domain name since_version deprecated inputs outputs attributes type_constraints')
Formal = namedtuple('Formal', 'name type_str option is_homogeneous min_arity')
Constraint = namedtuple('Constraint', 'type_param_str allowed_type_strs')


class MicrosoftSets(export_schemas.TypeSets):
    """Names that those of schemas.def are not."""

    def name(self, types):
        super().name(types)
        text = ' '.join(sorted(export_schemas.type_text(one) for one in types))
        self.names[text] = self.names[text].replace('types', 'microsoft')
        return self.names[text]


def as_onnx(schema):
    """With the field names of the onnx package."""

    def formals(parameters):
        return [Formal(one.name, one.typeStr, one.option, one.isHomogeneous, 1) for one in parameters]

    constraints = [
        Constraint(one.type_param_str, [text for text in one.allowed_type_strs if text not in UNKNOWN_TYPES])
        for one in schema.type_constraints
    ]
    return Schema(DOMAIN, schema.name, schema.since_version, schema.deprecated, formals(schema.inputs),
                  formals(schema.outputs), schema.attributes, constraints)


def main():
    schemas = [
        as_onnx(one) for one in get_all_operator_schema()
        if (one.domain == DOMAIN and one.name in OPERATORS) or (one.domain == '' and one.name == IN_DEFAULT_DOMAIN)
    ]
    schemas.sort(key=lambda one: (one.name, one.since_version))
    missing = OPERATORS - {one.name for one in schemas}
    if missing:
        raise SystemExit(f'onnxruntime has no {", ".join(sorted(missing))}')
    sets = MicrosoftSets()
    operators = [export_schemas.operator(one, sets) for one in schemas]
    sys.stdout.write(HEADER % onnxruntime.__version__ + '\n')
    for line in [*sets.lines(), '', *operators]:
        sys.stdout.write(line + '\n')


if __name__ == '__main__':
    main()
