"""What the rows of measured kernels say; cliffs.py has their form.

Rows of kernels on denormal inputs have Encore twice, as 'encore' and as DENORMAL, and no peer.
"""
import statistics

WORST = 20
WITHIN, CLIFF = 1.15, 2.0
AGREES = 2e-3  # of the largest element
DENORMAL, DENORMAL_WITHIN = 'denormal', 1.2


def ratio(row):
    """Encore's time to the better peer's; None where there are not both."""
    peers = [us for name, us in row['us'].items() if name != 'encore']
    return row['us']['encore'] / min(peers) if peers and 'encore' in row['us'] else None


def ratio_text(row):
    return 'fails' if 'encore' not in row['us'] else 'no peer' if ratio(row) is None else '%.2f' % ratio(row)


def denormal_ratio(row):
    """Encore's time on denormal inputs to its time on usual ones; None where it fails."""
    return row['us'][DENORMAL] / row['us']['encore'] if DENORMAL in row['us'] and 'encore' in row['us'] else None


def text_of(ratio):
    return 'fails' if ratio is None else '%.2f' % ratio


def denormal_lines(rows):
    """The page of kernels on denormal inputs."""
    ran = sorted((row for row in rows if denormal_ratio(row)), key=denormal_ratio, reverse=True)
    if not ran:
        yield 'no kernel was measured on denormal inputs'
        return
    ratios = [denormal_ratio(row) for row in ran]
    yield '%d kernels on denormal inputs, %s: median %.2f, within %.2g: %.0f %%, worst %.2f' % (
        len(ran), ran[0]['device'], statistics.median(ratios), DENORMAL_WITHIN,
        100 * sum(r <= DENORMAL_WITHIN for r in ratios) / len(ratios), ratios[0])
    yield ''
    yield '| number | kernel | us | denormal | ratio |'
    yield '|---|---|---|---|---|'
    for row in ran[:WORST]:
        yield '| %d | %s | %.1f | %.1f | %.2f |' % (row['number'], row['kernel'], row['us']['encore'], row['us'][DENORMAL], denormal_ratio(row))


def families(rows):
    yield '| family | kernels | median | worst | over %.2g | median share of roofline |' % CLIFF
    yield '|---|---|---|---|---|---|'
    for family in sorted({row['family'] for row in rows}):
        own = [row for row in rows if row['family'] == family]
        ratios = [ratio(row) for row in own]
        yield '| %s | %d | %.2f | %.2f | %d | %.2f |' % (
            family, len(own), statistics.median(ratios), max(ratios), sum(r > CLIFF for r in ratios),
            statistics.median(row['roofline_us'] / row['us']['encore'] for row in own))


def lines(rows, steps, profiled):
    """The page. `steps`: what a row's kernel consists of, lines; they are shown of so many of the worst."""
    both = sorted((row for row in rows if ratio(row)), key=ratio, reverse=True)
    if not both:
        yield 'no kernel was measured in Encore and a peer'
        return
    ratios = [ratio(row) for row in both]
    yield '%d kernels, %s: median %.2f, within %.2f: %.0f %%, over %.2g: %d, worst %.2f' % (
        len(both), both[0]['device'], statistics.median(ratios), WITHIN, 100 * sum(r <= WITHIN for r in ratios) / len(ratios), CLIFF,
        sum(r > CLIFF for r in ratios), ratios[0])
    wrong = [row for row in rows if (row['difference'] or 0) > AGREES]
    for row in wrong:
        yield 'differs by %.1e of the largest element: %d, %s' % (row['difference'], row['number'], row['kernel'])
    for row in rows:
        if 'encore' in row['failed']:
            yield 'fails in Encore: %d, %s' % (row['number'], row['kernel'])
    yield ''
    yield from families(both)
    yield ''
    yield '| number | kernel | us | roofline | peers | ratio |'
    yield '|---|---|---|---|---|---|'
    for row in both[:WORST]:
        peers = ', '.join('%s %.1f' % (name, us) for name, us in row['us'].items() if name != 'encore')
        yield '| %d | %s | %.1f | %.1f | %s | %.2f |' % (row['number'], row['kernel'], row['us']['encore'], row['roofline_us'], peers, ratio(row))
    for row in both[:profiled]:
        yield '\n%d, %s\n' % (row['number'], row['kernel'])
        yield from ('    ' + line for line in steps(row))
