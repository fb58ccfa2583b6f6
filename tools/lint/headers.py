"""Whether what a header declares is defined in its own source: x.cc, or x_<part>.cc, beside x.h.

Inline functions, templates and pure virtual functions need no source, nor what a friend declaration names that another
header declares. What is declared and defined nowhere is the linker's business.

A header may instead be an interface, which lists what others provide: it declares two or more free functions and nothing
else that needs a source, and no file defines two of them. (Rows of a table are such, a file for each.)

Declarations that the rows of a .def expand to are that file's, not the header's that includes it, and not looked at: they
are such lists too, and a row that nobody provides does not link. So a function that a row declares may be defined in any file:
the functions of one table lie by theme, not by the table's name.
"""
import os


def is_own(header, source):
    """Whether a source is one of a header's."""
    if source == header:
        return True
    stem, part = os.path.splitext(header)[0], os.path.splitext(source)[0]
    return part == stem or (part.startswith(stem + '_') and os.path.dirname(part) == os.path.dirname(stem))


def is_interface(header, declarations, sources):
    """Whether a header is a list of functions with a file each."""
    places = [sources.get(entity, set()) for _, _, entity, _, _ in declarations]
    each = [path for defined in places for path in defined]
    return (len(places) > 1 and all(places) and len(each) == len(set(each)) and
            all(free and not by_friend for *_, by_friend, free in declarations) and
            not any(is_own(header, path) for path in each))


def check(tree):
    yield from tree.errors.values()
    sources, declared = {}, set()
    for path, found in tree.files.items():
        for entity in found['defines']:
            sources.setdefault(entity, set()).add(path)
        if path.endswith('.h'):
            declared |= {entity for _, _, entity, by_friend, _ in found['declares'] if not by_friend}
    for path, found in sorted(tree.files.items()):
        if not path.endswith('.h') or is_interface(path, found['declares'], sources):
            continue
        for line, name, entity, by_friend, _ in found['declares']:
            defined = sources.get(entity, set())
            if (by_friend and entity in declared) or not defined or any(is_own(path, source) for source in defined):
                continue
            places = ', '.join(sorted(os.path.relpath(source, tree.root) for source in defined))
            yield f'{path}:{line}: {name} is defined in {places}; declare it in the header of that name'
