#!/usr/bin/env python3
"""Writes schemas.def: the operators of the ONNX standard as the pinned wheel of onnx declares them.

    ir/import/onnx/format/export_schemas.py > ir/import/onnx/format/schemas.def

The wheel's extension module is loaded by itself, so that nothing has to be installed.
"""
import importlib.util
import os
import pathlib
import sys

VERSION = 'onnx==1.23.2'
DOMAINS = ('', 'ai.onnx.preview', 'ai.onnx.preview.training')
ATTRIBUTE_CODES = {
    'FLOAT': 'f', 'INT': 'i', 'STRING': 's', 'TENSOR': 't', 'GRAPH': 'g', 'SPARSE_TENSOR': 'p', 'TYPE_PROTO': 'y',
    'FLOATS': 'F', 'INTS': 'I', 'STRINGS': 'S', 'TENSORS': 'T', 'GRAPHS': 'G', 'SPARSE_TENSORS': 'P', 'TYPE_PROTOS': 'Y',
}

HEADER = '''\
// The operators of the ONNX standard, as %s declares them; written by export_schemas.py.
//
// ENCORE_ONNX_TYPES(name, types): a set of types. Elements have onnx.proto's names; "seq" and "optional" stand before
// what they hold.
// ENCORE_ONNX_OPERATOR(domain, name, since, inputs, outputs, attributes, types): a version of an operator.
//   inputs, outputs: name:type, where the type is a variable or a set; then "?" optional, "*N" variadic, at least N of
//     one type, "~N" variadic, of any types.
//   attributes: name:type, the type one letter (f i s t g p y: float int string tensor graph sparse tensor type; capitals
//     are lists), then "!" where it is required.
//   types: variable:set.
// ENCORE_ONNX_DEPRECATED(domain, name, since): the operator ends there.
'''


def load(deps, version=VERSION):
    folder = pathlib.Path(deps) / 'onnx' / version / 'onnx'
    path = next(folder.glob('onnx_cpp2py_export.*.so'), None)
    if path is None:
        raise SystemExit(f'{folder}: no extension module; run ./encore setup')
    spec = importlib.util.spec_from_file_location('onnx_cpp2py_export', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def type_text(text):
    """optional(seq(tensor(float))) as optional.seq.float."""
    parts = text.replace(')', '').split('(')
    return '.'.join(part for part in parts if part != 'tensor')


class TypeSets:
    """Names sets of types in the order of their first use."""

    def __init__(self):
        self.names = {}

    def name(self, types):
        text = ' '.join(sorted(type_text(one) for one in types))
        return self.names.setdefault(text, f'types{len(self.names)}')

    def lines(self):
        for text, name in self.names.items():
            yield f'ENCORE_ONNX_TYPES("{name}", "{text}")'


def parameter(formal, variables, sets):
    kind = formal.type_str if formal.type_str in variables else sets.name([formal.type_str])
    option = formal.option.name
    suffix = {'Single': '', 'Optional': '?'}.get(option)
    if suffix is None:
        suffix = ('*' if formal.is_homogeneous else '~') + str(formal.min_arity)
    return f'{formal.name}:{kind}{suffix}'


def attribute(one):
    return f'{one.name}:{ATTRIBUTE_CODES[one.type.name]}{"!" if one.required else ""}'


def operator(schema, sets):
    if schema.deprecated:
        return f'ENCORE_ONNX_DEPRECATED("{schema.domain}", "{schema.name}", {schema.since_version})'
    variables = {one.type_param_str for one in schema.type_constraints}
    fields = [
        ' '.join(parameter(one, variables, sets) for one in schema.inputs),
        ' '.join(parameter(one, variables, sets) for one in schema.outputs),
        ' '.join(attribute(schema.attributes[name]) for name in sorted(schema.attributes)),
        ' '.join(f'{one.type_param_str}:{sets.name(one.allowed_type_strs)}' for one in schema.type_constraints),
    ]
    texts = ', '.join(f'"{field}"' for field in fields)
    return f'ENCORE_ONNX_OPERATOR("{schema.domain}", "{schema.name}", {schema.since_version}, {texts})'


def main():
    home = os.environ.get('ENCORE_HOME') or os.path.join(
        os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'encore')
    module = load(os.environ.get('ENCORE_DEPS') or os.path.join(home, 'deps'))
    schemas = [one for one in module.defs.get_all_schemas_with_history() if one.domain in DOMAINS]
    schemas.sort(key=lambda one: (one.domain, one.name, one.since_version))
    sets = TypeSets()
    operators = [operator(one, sets) for one in schemas]
    sys.stdout.write(HEADER % VERSION.replace('==', ' ') + '\n')
    for line in [*sets.lines(), '', *operators]:
        sys.stdout.write(line + '\n')


if __name__ == '__main__':
    main()
