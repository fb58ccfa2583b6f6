"""Whether what a header declares is defined in its own source: x.cc, or x_<part>.cc, beside x.h.

Inline functions, templates and pure virtual functions need no source, nor what a friend declaration names that another
header declares. What is declared and defined nowhere is the linker's business.
"""
import os


def is_own(header, source):
    """Whether a source is one of a header's."""
    if source == header:
        return True
    stem, part = os.path.splitext(header)[0], os.path.splitext(source)[0]
    return part == stem or (part.startswith(stem + '_') and os.path.dirname(part) == os.path.dirname(stem))


def check(tree):
    yield from tree.errors.values()
    sources, declared = {}, set()
    for path, found in tree.files.items():
        for entity in found['defines']:
            sources.setdefault(entity, set()).add(path)
        if path.endswith('.h'):
            declared |= {entity for _, _, entity, by_friend in found['declares'] if not by_friend}
    for path, found in sorted(tree.files.items()):
        if not path.endswith('.h'):
            continue
        for line, name, entity, by_friend in found['declares']:
            defined = sources.get(entity, set())
            if (by_friend and entity in declared) or not defined or any(is_own(path, source) for source in defined):
                continue
            places = ', '.join(sorted(os.path.relpath(source, tree.root) for source in defined))
            yield f'{path}:{line}: {name} is defined in {places}; declare it in the header of that name'
