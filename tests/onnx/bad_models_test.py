#!/usr/bin/env python3
"""Every bad model is refused: with exit code 2 and a message that names what is at fault, in 2 s and in 10 times the
file's size plus 64 MiB.

  bad_models_test.py WRITE_MUTATIONS IMPORT_EACH ENCORE EXPORT_SCHEMAS [--all] [--instrumented]

WRITE_MUTATIONS makes bad models from ONNX's own, up to its newest opset, and from the cases of ai.onnx.ml and
com.microsoft, and says of most which rule of the standard they break: these have to be refused. Each mutation says what
a message about it has to name (tests/onnx/mutations.h): a node, by its name or by its operator and an output or its
place; with it, or alone, an attribute, a value, a field of the model; where the bytes themselves are broken, the byte of
the file. There is none of which nothing is demanded: an empty message meets no demand, and how many mutations are held
to which is printed. Strict shape inference of the pinned onnx package judges them too: what it alone refuses has to be
refused as well, with the mutated node named or one that depends on it. Mutations are imported, good ones too, each in a
process of its own, whose time and memory are measured, and a sample of the bad ones by the tool.

Of the mutations that break one rule in a sample of every operator a third is taken, always the same; --all takes all.
--instrumented is for programs built with a sanitizer, whose time and memory are not their own: neither is limited, and of all
mutations a sixteenth is taken.
"""
import collections
import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import zlib

SUITE = '/usr/share/libonnx-testdata/data'
# The package that judges, which also has the data of the newest opsets, and one with those of earlier ones.
JUDGE = 'onnx==1.23.2'
EARLIER = 'onnx==1.16.2'
OWN = ('tests/onnx/ml/nodes', 'tests/onnx/ml/maps', 'tests/onnx/microsoft/cases')
LEAST = 300
SAMPLE = 60
# Of the mutations with this name one of so many is taken.
DRAWN, ONE_OF = 'sample/', 3
EXIT_UNUSABLE = 2
SECONDS = 2.0
SPARE_BYTES = 64 << 20
# What the judge and the importer may map: a model that makes them want more is a fault seen, not a machine that swaps.
ADDRESS_SPACE = 3 << 30
# Codes of a status that are exit code 2 (ir/support/status.h).
UNUSABLE_CODES = {3, 5, 7, 9, 11, 12, 15}


def load_checker(script):
    spec = importlib.util.spec_from_file_location('export_schemas', script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    home = os.environ.get('ENCORE_HOME') or os.path.expanduser('~/.cache/encore')
    deps = os.environ.get('ENCORE_DEPS') or os.path.join(home, 'deps')
    onnx = os.path.join(deps, 'onnx')
    roots = [os.path.join(onnx, EARLIER, 'onnx', 'backend', 'test', 'data'), os.path.join(onnx, JUDGE, 'cases')]
    return module.load(deps, JUDGE), roots


def is_drawn(mutation):
    return not mutation['name'].startswith(DRAWN) or one_of(ONE_OF, mutation)


def one_of(count, mutation):
    return zlib.crc32(mutation['name'].encode()) % count == 0


def place(mutation):
    return mutation['offset'], mutation['size']


def place_of_base(mutation):
    return mutation.get('base_offset'), mutation.get('base_size')


def read_model(folder, offset, size):
    with open(os.path.join(folder, 'models'), 'rb') as file:
        file.seek(offset)
        return file.read(size)


def lines(places):
    """The lines that say where models are, for the processes that read them."""
    return ''.join(f'{offset} {size}\n' for offset, size in places)


def judge(script, folder):
    """Prints a line a model: whether the checker refuses it. Runs in a process of its own, because models that
    announce much make the checker crash."""
    onnx, _ = load_checker(script)
    for line in sys.stdin:
        offset, size = line.split()
        model = read_model(folder, int(offset), int(size))
        try:
            onnx.shape_inference.infer_shapes(model, True, True, False)
            print('accepted', flush=True)
        except MemoryError:
            print('accepted', flush=True)
        except Exception:  # The extension's own types; any of them is a refusal.
            print('refused', flush=True)


def judge_all(mutations, script, folder):
    """Says of each whether onnx refuses it, and not what it was made from."""
    places = [place(mutation) for mutation in mutations]
    places += sorted({place_of_base(mutation) for mutation in mutations} - {(None, None)})
    verdicts = []
    while len(verdicts) < len(places):
        done = subprocess.run([sys.executable, __file__, '--judge', script, folder], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, input=lines(places[len(verdicts):]), text=True)
        verdicts += done.stdout.splitlines()
        if done.returncode != 0:
            verdicts.append('crashed')
    refused = {at for at, verdict in zip(places, verdicts) if verdict == 'refused'}
    for mutation in mutations:
        mutation['refused'] = place(mutation) in refused and place_of_base(mutation) not in refused


def import_all(program, mutations, folder):
    """(code, milliseconds, bytes, message) of each."""
    done = subprocess.run([program, folder], capture_output=True, text=True, errors='replace',
                          input=lines(place(mutation) for mutation in mutations))
    if done.returncode != 0:
        raise SystemExit(f'{program}: {done.stderr[-200:]}')
    results = [line.split('\t', 3) for line in done.stdout.split('\n')[:-1]]
    assert len(results) == len(mutations)
    return [(int(code), float(milliseconds), int(peak), message) for code, milliseconds, peak, message in results]


def look_at_bases(program, mutations, folder):
    """Says of each mutation what its base is refused for, which then is one that Encore does not support, and its bytes."""
    bases = sorted({place_of_base(mutation) for mutation in mutations} - {(None, None)})
    results = import_all(program, [{'offset': offset, 'size': size} for offset, size in bases], folder)
    refused = {base: message for base, (code, _, _, message) in zip(bases, results) if code != 0}
    for mutation in mutations:
        mutation['unsupported'] = refused.get(place_of_base(mutation), '')
        mutation['bytes'] = read_model(folder, *place(mutation))


def run(command):
    """(exit code, seconds, stderr) of a command."""
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors='replace')
    return done.returncode, time.monotonic() - begin, done.stderr


def quoted(name):
    """As messages quote a name: ir/support/strings.h."""
    plain = {ord('"'): '\\"', ord('\\'): '\\\\', ord('\n'): '\\n', ord('\t'): '\\t'}
    return '"%s"' % ''.join(plain.get(byte) or (chr(byte) if 0x20 <= byte < 0x7f else f'\\x{byte:02x}')
                            for byte in name.encode())


def has_word(message, word):
    return re.search(rf'(?<!\w){re.escape(word)}(?!\w)', message) is not None


def has_byte(message, mutation):
    """Says at which byte, or names, where a field is now one that the importer does not read, what is missing by it."""
    found = re.search(r'\(byte (\d+)\)', message)
    if found is not None:
        return int(found.group(1)) <= mutation['size']
    missing = re.search(r'(?:input|output) "([^"]+)" is (?:not produced|not an input)', message)
    return missing is not None and missing.group(1).encode() in mutation['bytes']


# What is demanded of a message, where the mutation says what it is.
DEMANDS = {'node': lambda message, node: node in message,
           'attribute': has_word,
           'value': lambda message, value: quoted(value) in message,
           'field': has_word}


def demand(mutation):
    """What a message about it has to name, in words."""
    given = [what for what in DEMANDS if mutation[what]]
    others = ' or a node that depends on it' if mutation['reached'] and not mutation['rule'] else ''
    if mutation['unsupported'] and given and not mutation['node']:
        others += ' or what its base is refused for, which Encore does not support'
    return ' and '.join(given) + others if given else 'byte'


def names(message, mutation):
    if not mutation['rule'] and any(f'node {quoted(node)} ' in message for node in mutation['reached']):
        return True
    if demand(mutation) == 'byte':
        return has_byte(message, mutation)
    if mutation['unsupported'] and not mutation['node'] and mutation['unsupported'] in message:
        return True
    return all(meets(message, mutation[what]) for what, meets in DEMANDS.items() if mutation[what])


def faults_of_import(mutations, results):
    for mutation, (code, milliseconds, peak, message) in zip(mutations, results):
        allowed = 10 * mutation['size'] + SPARE_BYTES
        if code != 0 and code not in UNUSABLE_CODES:
            yield mutation, f'status {code}: {message}'
        elif milliseconds > SECONDS * 1000:
            yield mutation, f'took {milliseconds} ms'
        elif peak > allowed:
            yield mutation, f'took {peak} bytes, at most {allowed}'
        elif mutation['bad'] and code == 0:
            yield mutation, 'accepted'
        elif mutation['bad'] and not names(message, mutation):
            yield mutation, f'does not name {demand(mutation)}: {message}'


def faults_of_tool(tool, mutations, folder):
    good = os.path.join(SUITE, 'node', 'test_abs', 'model.onnx')
    model = os.path.join(folder, 'model.onnx')
    output = os.path.join(folder, 'output')
    command = [tool, 'compile', '--strict', '--stop-after', 'import', '-o', output]
    code, _, text = run([*command, good])
    assert code == 0, text
    step = max(1, len(mutations) // SAMPLE)
    sample = [one for i, one in enumerate(mutations)
              if i % step == 0 or one['name'].startswith(('external', 'model/external', 'model/subgraph/nested'))]
    for mutation in sample:
        with open(model, 'wb') as file:
            file.write(read_model(folder, *place(mutation)))
        code, seconds, text = run([*command, model])
        if code != EXIT_UNUSABLE:
            yield mutation, f'exit code {code}: {text}'
        elif not names(text, mutation):
            yield mutation, f'does not name {demand(mutation)}: {text}'
        elif seconds > SECONDS:
            yield mutation, f'took {seconds:.1f} s'


def limit_address_space():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def main():
    global SECONDS, SPARE_BYTES
    if sys.argv[1] == '--judge':
        limit_address_space()
        return judge(sys.argv[2], sys.argv[3])
    write, program, tool, script, *options = sys.argv[1:]
    instrumented = '--instrumented' in options
    if instrumented:
        SECONDS, SPARE_BYTES = 60, 1 << 40
    else:
        limit_address_space()
    _, newer = load_checker(script)
    roots = [SUITE, *newer, *OWN]
    for root in roots:
        assert os.path.isdir(root), f'{root} is not there: run ./encore setup'
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.join(folder, 'models')
        subprocess.run([write, folder, *roots], check=True)
        with open(os.path.join(folder, 'index.json')) as file:
            written = [json.loads(line) for line in file]
        mutations = written if '--all' in options else list(filter(is_drawn, written))
        if instrumented:
            mutations = [mutation for mutation in mutations if one_of(16, mutation)]
        look_at_bases(program, mutations, folder)
        begin = time.monotonic()
        judge_all(mutations, script, folder)
        for mutation in mutations:
            mutation['bad'] = bool(mutation['rule']) or mutation['refused']
        bad = [mutation for mutation in mutations if mutation['bad']]
        refused = sum(mutation['refused'] for mutation in bad)
        print(f'{len(written)} mutations; of {len(mutations)} {len(bad)} bad, {refused} of them onnx refuses too; judged in '
              f'{time.monotonic() - begin:.1f} s')
        for what, count in sorted(collections.Counter(map(demand, bad)).items()):
            print(f'{count} of the bad ones: a message names {what}')
        begin = time.monotonic()
        faults = [(mutation, 'nothing is demanded of a message') for mutation in mutations if names('', mutation)]
        faults += list(faults_of_import(mutations, import_all(program, mutations, folder)))
        print(f'imported in {time.monotonic() - begin:.1f} s')
        faults += faults_of_tool(tool, bad, folder)
        for mutation, what in faults:
            print(f"{mutation['name']} ({mutation['rule'] or 'onnx'}), at {mutation['offset']}: {what}")
        cpu = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f'{len(faults)} faults; {cpu.ru_utime + cpu.ru_stime:.1f} s of CPU time')
        return 1 if faults or len(bad) < LEAST else 0


if __name__ == '__main__':
    sys.exit(main())
