"""The page of results.md, made of the rows that models.py measures."""
import json
import math
import os
import subprocess

import table  # zoo/, which models.py puts on the path

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REPLAYER = os.path.join(ROOT, 'bazel-bin', 'runtime', 'replayer_benchmark')
WARM_GOALS = {'resnet50': 30, 'bert_base': 30, 'gpt2_decode': 30}
TRAINED = ('magika', 'basic_pitch', 'ppocrv4_det', 'ppocrv4_rec', 'ppocrv4_cls')
OVERHEAD = table.names('overhead')
WARM_GOALS.update(dict.fromkeys(TRAINED, 15))
COMMAND = ('./encore bench models --results tests/benchmarks/results/models.json '
           '--output tests/benchmarks/results.md')


def shown(us):
    return '%.1f us' % us if us < 1000 else '%.2f ms' % (us / 1000)


def ratios(by_model, peers):
    """One line a model: times, and Encore's beside the best peer's."""
    lines = ['| model | encore | %s | best peer / encore | error | agrees |' % ' | '.join(peers),
             '|---|---|%s---|---|---|' % ('---|' * len(peers))]
    gains = []
    for model, programs in by_model.items():
        encore = programs['encore']
        times = [programs[peer]['min_us'] for peer in peers if peer in programs and not programs[peer]['fails']]
        cells = [shown(programs[name]['min_us']) if name in programs and not programs[name]['fails'] else
                 'fails' if name in programs else '' for name in ['encore'] + peers]
        if encore['fails']:
            lines.append('| %s | %s | | | no |' % (model, ' | '.join(cells)))
            continue
        gain = min(times) / encore['min_us'] if times else None
        gains += [gain] if gain and model not in OVERHEAD else []
        lines.append('| %s | %s | %s | %.1e | %s |' % (model, ' | '.join(cells), '%.2f' % gain if gain else '',
                                                      encore['error'], 'yes' if encore['agrees'] else 'no'))
    if gains:
        mean = math.exp(sum(map(math.log, gains)) / len(gains))
        lines += ['', 'Geometric mean of the best peer / encore: %.2f over %d models, those of overhead apart; ahead on '
                  '%d; the least %.2f.' % (mean, len(gains), sum(gain > 1 for gain in gains), min(gains))]
    return lines


def details(rows):
    lines = ['| model | program | version | min | median | cold, ms | warm, ms (median) | peak, MiB | error | '
             'turns (dropped) | load |', '|---|---|---|---|---|---|---|---|---|---|---|']
    for row in rows:
        if row['fails']:
            lines.append('| %s | %s | | fails | | | | | | | %.1f |' % (row['model'], row['program'], row['load']))
            continue
        lines.append('| %s | %s | %s | %s | %s | %.0f | %.1f (%.1f) | %.0f | %.1e | %d (%d) | %.1f |' % (
            row['model'], row['program'], row['version'] or 'this', shown(row['min_us']), shown(row['median_us']),
            row['cold_ms'], row['warm_ms'], row['warm_median_ms'], row['peak_mib'], row['error'], row['turns'],
            row['dropped'], row['load']))
    return lines


def goals(by_model):
    lines = ['| model | latency / ONNX Runtime | goal | cold, s | goal | warm, ms | goal | arena / live bytes | goal |',
             '|---|---|---|---|---|---|---|---|---|']
    for model, programs in by_model.items():
        row, peer = programs['encore'], programs.get('onnxruntime')
        if row['fails']:
            continue
        trained = model in TRAINED
        lines.append('| %s | %s | %s | %.2f | %s | %.1f | %s | %.3f | 1.05 |' % (
            model, '%.2f' % (row['min_us'] / peer['min_us']) if peer and not peer['fails'] else '',
            '2' if trained else '', row['cold_ms'] / 1e3, '3' if trained else '', row['warm_ms'],
            WARM_GOALS.get(model, ''), row['ready']['arena_bytes'] / max(row['ready']['live_bytes'], 1)))
    return lines


def replay():
    """Costs of steps and calls, from the runtime's own benchmark, five repetitions, minimum."""
    if not os.path.exists(REPLAYER):
        return []
    out = subprocess.run([REPLAYER, '--benchmark_format=json', '--benchmark_repetitions=5', '--benchmark_min_time=0.1'],
                         check=True, capture_output=True, text=True).stdout
    best = {}
    for run in json.loads(out)['benchmarks']:
        if run['run_type'] == 'iteration':
            best[run['name']] = min(best.get(run['name'], float('inf')), run['real_time'])
    step = (best['BM_ThousandSteps/1'] - best['BM_ThousandCallsByHand']) / 1000
    return ['', '## Replay', '', '    ./encore bench replay', '', '| figure | ns | goal |', '|---|---|---|',
            '| a step of a thousand, beyond the same kernel called in a loop by hand | %.1f | 50 |' % step,
            '| the kernel called by hand | %.1f | |' % (best['BM_ThousandCallsByHand'] / 1000),
            '| a call of a one-step graph, binding included, 1 thread | %.0f | 1,000 |' % best['BM_OneAdd/1'],
            '| the same, 2 threads | %.0f | 1,000 |' % best['BM_OneAdd/2']]


def render(rows):
    by_model, peers = {}, []
    for row in rows:
        by_model.setdefault(row['model'], {})[row['program']] = row
        if row['program'] != 'encore' and row['program'] not in peers:
            peers.append(row['program'])
    busiest = max(row['load'] for row in rows)
    disturbed = ('Other work ran on the machine (load up to %.1f): milliseconds say little, ratios something.' % busiest
                 if busiest > 1.5 else 'Milliseconds are of this run alone, ratios compare.')
    lines = ['# Figures', '', 'Made by', '', '    ' + COMMAND, '',
             'on %s, %s, %d threads. How it is measured is at the top of `models.py`; what the models are, in '
             '`zoo/table.py`.' % (' and '.join(sorted({row['date'] for row in rows})),
                                  ' and '.join(sorted({row['device'] for row in rows})), rows[0]['threads']),
             disturbed, '', '## Encore and the best peer', ''] + ratios(by_model, peers)
    lines += ['', '## Encore against the goals', ''] + goals(by_model)
    lines += ['', '## All rows', ''] + details(rows) + replay()
    return '\n'.join(lines) + '\n'
