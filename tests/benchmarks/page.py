"""The page of results.md, made of the rows that models.py measures and of what replay.py measured."""
import json
import math
import os

import table  # zoo/, which models.py puts on the path

HERE = os.path.dirname(os.path.abspath(__file__))
REPLAY = os.path.join(HERE, 'results', 'replay.json')
WARM_GOALS = {'resnet50': 30, 'bert_base': 30, 'gpt2_decode': 30}
TRAINED = ('magika', 'basic_pitch', 'ppocrv4_det', 'ppocrv4_rec', 'ppocrv4_cls')
OVERHEAD = table.names('overhead')
WARM_GOALS.update(dict.fromkeys(TRAINED, 15))
COMMAND = ('./encore bench models --results tests/benchmarks/results/models.json '
           '--output tests/benchmarks/results.md')
BEHIND = 5


def shown(us):
    return '%.1f us' % us if us < 1000 else '%.2f ms' % (us / 1000)


def line(cells):
    return '| %s |' % ' | '.join(cells)


def head(cells):
    return [line(cells), '|' + '---|' * len(cells)]


def runs(programs, name):
    return name in programs and not programs[name]['fails']


def time_of(programs, name):
    """A program's time, with what has to be said of it beside it: (!) it does not agree, * all of its rounds were disturbed."""
    if not runs(programs, name):
        return 'fails' if name in programs else ''
    row = programs[name]
    return shown(row['min_us']) + ' (!)' * (not row['agrees']) + ' *' * row['disturbed']


def gain_of(programs, peers):
    """(the best peer's time as a multiple of Encore's, how many peers ran); None for the first where one side did not."""
    times = [programs[peer]['min_us'] for peer in peers if runs(programs, peer)]
    gain = min(times) / programs['encore']['min_us'] if times and runs(programs, 'encore') else None
    return gain, len(times)


def mean_text(gains, of):
    mean = math.exp(sum(map(math.log, gains)) / len(gains))
    return '* %s: %.2f over %d models; ahead on %d; the least %.2f.' % (
        of, mean, len(gains), sum(gain > 1 for gain in gains), min(gains))


def means(by_model, peers):
    """The geometric means over all models with a ratio, and over those that no peer runs alone."""
    rated = {model: gain_of(programs, peers) for model, programs in by_model.items() if model not in OVERHEAD}
    every = [gain for gain, _ in rated.values() if gain]
    several = [gain for gain, count in rated.values() if gain and count > 1]
    if not every:
        return []
    lines = ['', 'Geometric mean of the best peer / encore, models of overhead apart:', '', mean_text(every, 'all')]
    alone = [model for model, (gain, count) in rated.items() if gain and count == 1]
    if several:
        lines.append(mean_text(several, 'those that at least two peers run%s' %
                               (' (without %s)' % ', '.join(alone) if alone else '')))
    for reason, models in (
            ('Encore fails', [model for model in rated if not runs(by_model[model], 'encore')]),
            ('no peer runs it', [model for model, (_, count) in rated.items() if not count])):
        if models:
            lines.append('* in no mean, because %s: %s.' % (reason, ', '.join(models)))
    return lines


def furthest_behind(by_model, peers):
    """The models whose best peer is the fastest beside Encore, with which peer that is."""
    rated = [(gain_of(programs, peers)[0], model) for model, programs in by_model.items() if model not in OVERHEAD]
    behind = sorted((gain, model) for gain, model in rated if gain and gain < 1)[:BEHIND]
    if not behind:
        return []
    said = []
    for gain, model in behind:
        best = min((peer for peer in peers if runs(by_model[model], peer)), key=lambda peer: by_model[model][peer]['min_us'])
        said.append('%s (%.2f, %s)' % (model, gain, best))
    return ['', 'Furthest behind, of %d models: %s.' % (sum(gain is not None for gain, _ in rated), ', '.join(said))]


def ratios(by_model, peers):
    """One line a model: times, and Encore's beside the best peer's."""
    lines = head(['model', 'encore'] + peers + ['best peer / encore', 'error', 'agrees'])
    for model, programs in by_model.items():
        encore, gain = programs['encore'], gain_of(programs, peers)[0]
        said = ['', 'no'] if encore['fails'] else ['%.1e' % encore['error'], 'yes' if encore['agrees'] else 'no']
        lines.append(line([model] + [time_of(programs, name) for name in ['encore'] + peers] +
                          ['%.2f' % gain if gain else ''] + said))
    lines += ['', 'Peers are called from Python, which costs them below 10 us: it counts beside times under 1 ms.']
    of = {'*': ('all rounds of the row were disturbed, and the least disturbed ones are shown', 'disturbed', True),
          '(!)': ('does not agree with what is expected', 'agrees', False)}
    for mark, (text, field, value) in of.items():
        if any(row.get(field) is value for programs in by_model.values() for row in programs.values()):
            lines.append('%s: %s.' % (mark, text))
    return lines + means(by_model, peers) + furthest_behind(by_model, peers)


def times_of(row, prefix):
    """Minimum (median) of how many, in ms; what was dropped."""
    if prefix + '_ms' not in row:
        return ''
    dropped = row[prefix + '_dropped']
    return '%.1f (%.1f) of %d%s' % (row[prefix + '_ms'], row[prefix + '_median_ms'], row[prefix + '_runs'],
                                    ', dropped ' + dropped if dropped else '')


def memory(row):
    return '%.0f (%s)' % (row['peak_mib'], '%.0f' % row['base_mib'] if 'base_mib' in row else '?')


def details(rows):
    lines = head(['model', 'program', 'version', 'threads', 'device', 'min', 'median', 'rounds', 'dropped rounds',
                  'cold, ms: min (median)', 'warm, ms', 'exec to exit, warm, ms', 'peak, MiB (before the model)', 'error',
                  'agrees', 'date', 'load'])
    for row in rows:
        start = [row['model'], row['program']]
        end = [row['date'], '%.1f' % row['load']]
        if row['fails']:
            lines.append(line(start + ['', str(row['threads']), row['device'], 'fails'] + [''] * 9 + end))
            continue
        lines.append(line(start + [
            row['version'] or 'this', str(row['threads']), row['device'], shown(row['min_us']), shown(row['median_us']),
            str(row['rounds']), row['dropped'] + ' (all)' * row['disturbed'], times_of(row, 'cold'), times_of(row, 'warm'),
            times_of(row, 'process'), memory(row), '%.1e' % row['error'], 'yes' if row['agrees'] else 'no'] + end))
    return lines


def goals(by_model):
    lines = head(['model', 'latency / ONNX Runtime', 'goal', 'cold, s', 'goal', 'warm, exec to exit, ms', 'goal',
                  'arena / live bytes', 'goal'])
    for model, programs in by_model.items():
        row, trained = programs['encore'], model in TRAINED
        if row['fails']:
            continue
        peer = '%.2f' % (row['min_us'] / programs['onnxruntime']['min_us']) if runs(programs, 'onnxruntime') else ''
        lines.append(line([
            model, peer, '2' if trained else '', '%.2f' % (row['cold_ms'] / 1e3), '3' if trained else '',
            '%.1f' % row['process_ms'], str(WARM_GOALS.get(model, '')),
            '%.3f' % (row['ready']['arena_bytes'] / max(row['ready']['live_bytes'], 1)), '1.05']))
    return lines


def unequal(by_model):
    """Where the programs of a model had different numbers of runs."""
    lines = []
    for field, what in (('rounds', 'rounds'), ('cold_runs', 'cold starts'), ('warm_runs', 'warm starts')):
        models = [model for model, programs in by_model.items()
                  if len({row.get(field) for row in programs.values() if not row['fails']}) > 1]
        if models:
            lines.append('Of different number for the programs of one model, so to be compared with care: the %s of %s.' % (
                what, 'all' if len(models) == len(by_model) else ', '.join(models)))
    return [''] + lines if lines else []


def replay():
    if not os.path.exists(REPLAY):
        return []
    with open(REPLAY) as file:
        kept = json.load(file)
    return ['', '## Replay', '', '    ./encore bench replay --results tests/benchmarks/results/replay.json', '',
            '%s, %s.' % (kept['date'], kept['device']), ''] + kept['lines']


def render(rows, command=COMMAND):
    """The page that `command` makes of rows; goals and replay are on the page of all models."""
    by_model, peers = {}, []
    for row in rows:
        by_model.setdefault(row['model'], {})[row['program']] = row
        if row['program'] != 'encore' and row['program'] not in peers:
            peers.append(row['program'])
    busiest = max(row['load'] for row in rows)
    disturbed = ('Other work ran on the machine (load up to %.1f): milliseconds say little, ratios something.' % busiest
                 if busiest > 1.5 else 'Milliseconds are of this run alone, ratios compare.')
    lines = ['# Figures', '', 'Made by', '', '    ' + command, '',
             'on %s, %s, %d threads. How it is measured is at the top of `models.py`; what the models are, in '
             '`zoo/table.py`.' % (' and '.join(sorted({row['date'] for row in rows})),
                                  ' and '.join(sorted({row['device'] for row in rows})), rows[0]['threads']),
             disturbed, '', '## Encore and the best peer', ''] + ratios(by_model, peers)
    if command == COMMAND:
        lines += ['', '## Encore against the goals', ''] + goals(by_model)
    lines += ['', '## All rows', ''] + details(rows) + unequal(by_model) + (replay() if command == COMMAND else [])
    return '\n'.join(lines) + '\n'
