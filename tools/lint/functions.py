"""How long functions are: those of classes, lambdas and GoogleTest's bodies too, as clang's syntax tree has them."""
import re

FUNCTION_LINES = 60
MAIN_LINES = 150

DIRECTIVE = re.compile(r'[ \t]*#[ \t]*(if|el|endif)')


def long_macros(text):
    """(first line, lines) of definitions that continue over more lines than a function may have: what they hold is
    no function before they are used."""
    length = 0
    for number, line in enumerate(text.split('\n'), 1):
        length += 1
        if not line.endswith('\\'):
            if length > FUNCTION_LINES:
                yield number - length + 1, length
            length = 0


def long_branches(text):
    """(first line, lines) of the preprocessor's branches that could hide such a function from clang. The guard of a
    header holds a whole file."""
    opened = []
    lines = text.split('\n')
    for number, line in enumerate(lines, 1):
        found = DIRECTIVE.match(line)
        if not found:
            continue
        if found.group(1) != 'if' and opened:
            begin = opened.pop()
            if number - begin - 1 > FUNCTION_LINES and not _is_guard(lines, begin):
                yield begin, number - begin - 1
        if found.group(1) != 'endif':
            opened.append(number)


def _is_guard(lines, number):
    name = lines[number - 1].split()[-1]
    return name.endswith('_H_') and lines[number].split() == ['#define', name]


def check(tree):
    yield from tree.errors.values()
    for path, found in tree.files.items():
        for begin, end, name in found['functions']:
            length = end - begin + 1
            limit = MAIN_LINES if name == 'main' else FUNCTION_LINES
            if length > limit:
                yield f'{path}:{begin}: {name} has {length} lines, at most {limit}; give its parts names'
        for begin, length in long_macros(tree.text(path)):
            yield f'{path}:{begin}: a macro of {length} lines, at most {FUNCTION_LINES}; make it a function'
        for begin, length in long_branches(tree.text(path)):
            yield (f'{path}:{begin}: an #if of {length} lines, of which clang may see nothing, at most '
                   f'{FUNCTION_LINES}; give its branches files')
