"""What the lint needs of libclang 19's C interface, by ctypes: its Python package is not there for every Python."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_longlong, c_uint, c_void_p

# CXTranslationUnit_Flags. An incomplete unit instantiates no function bodies at its end.
INCOMPLETE = 0x02
FOR_SERIALIZATION = 0x10
SKIP_FUNCTION_BODIES = 0x40

# CXCursorKind.
UNEXPOSED_DECLARATION, STRUCT, UNION, CLASS = 1, 2, 3, 4
FUNCTION, VARIABLE, METHOD, NAMESPACE, LINKAGE_SPECIFICATION = 8, 9, 21, 22, 23
CONSTRUCTOR, DESTRUCTOR, CONVERSION = 24, 25, 26
FUNCTION_TEMPLATE, CLASS_TEMPLATE, CLASS_TEMPLATE_PARTIAL = 30, 31, 32
LAMBDA = 144
FRIEND = 603

ERROR = 3  # CXDiagnosticSeverity: this and the next fail.
EXTERNAL_LINKAGE = 4


class Cursor(ctypes.Structure):
    _fields_ = [('kind', c_int), ('extra', c_int), ('data', c_void_p * 3)]


class Location(ctypes.Structure):
    _fields_ = [('data', c_void_p * 2), ('offset', c_uint)]


class Range(ctypes.Structure):
    _fields_ = [('data', c_void_p * 2), ('begin', c_uint), ('end', c_uint)]


class String(ctypes.Structure):
    _fields_ = [('data', c_void_p), ('flags', c_uint)]


Visitor = ctypes.CFUNCTYPE(c_int, Cursor, Cursor, c_void_p)

_SIGNATURES = {
    'clang_createIndex': (c_void_p, [c_int, c_int]),
    'clang_parseTranslationUnit2': (c_int, [c_void_p, c_char_p, POINTER(c_char_p), c_int, c_void_p, c_uint, c_uint,
                                            POINTER(c_void_p)]),
    'clang_disposeTranslationUnit': (None, [c_void_p]),
    'clang_saveTranslationUnit': (c_int, [c_void_p, c_char_p, c_uint]),
    'clang_getNumDiagnostics': (c_uint, [c_void_p]),
    'clang_getDiagnostic': (c_void_p, [c_void_p, c_uint]),
    'clang_disposeDiagnostic': (None, [c_void_p]),
    'clang_getDiagnosticSeverity': (c_int, [c_void_p]),
    'clang_getDiagnosticSpelling': (String, [c_void_p]),
    'clang_getDiagnosticLocation': (Location, [c_void_p]),
    'clang_getTranslationUnitCursor': (Cursor, [c_void_p]),
    'clang_visitChildren': (c_uint, [Cursor, Visitor, c_void_p]),
    'clang_getCursorExtent': (Range, [Cursor]),
    'clang_getCursorLocation': (Location, [Cursor]),
    'clang_getRangeStart': (Location, [Range]),
    'clang_getRangeEnd': (Location, [Range]),
    'clang_getFileLocation': (None, [Location, POINTER(c_void_p), POINTER(c_uint), POINTER(c_uint), POINTER(c_uint)]),
    'clang_getFileName': (String, [c_void_p]),
    'clang_File_tryGetRealPathName': (String, [c_void_p]),
    'clang_getCursorSpelling': (String, [Cursor]),
    'clang_getCursorUSR': (String, [Cursor]),
    'clang_getCursorLinkage': (c_int, [Cursor]),
    'clang_getCursorSemanticParent': (Cursor, [Cursor]),
    'clang_getCursorLexicalParent': (Cursor, [Cursor]),
    'clang_equalCursors': (c_uint, [Cursor, Cursor]),
    'clang_isCursorDefinition': (c_uint, [Cursor]),
    'clang_Cursor_isFunctionInlined': (c_uint, [Cursor]),
    'clang_CXXMethod_isPureVirtual': (c_uint, [Cursor]),
    'clang_getCString': (c_char_p, [String]),
    'clang_disposeString': (None, [String]),
    'clang_getClangVersion': (String, []),
}


def _load():
    for name in ('/usr/lib/llvm-19/lib/libclang-19.so.1', 'libclang-19.so.1', 'libclang-19.so'):
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise SystemExit('lint: libclang 19 is not here; run ./encore setup tests, which installs libclang1-19')
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


_lib = _load()


def text(string):
    value = _lib.clang_getCString(string)
    _lib.clang_disposeString(string)
    return value.decode('utf-8', 'replace') if value else ''


def version():
    return text(_lib.clang_getClangVersion())


class Unit:
    """A parsed file. Positions are (file, line) of the file's text: what a macro makes lies where it is used."""

    def __init__(self, path, arguments, flags):
        index = _lib.clang_createIndex(1, 0)
        words = (c_char_p * len(arguments))(*(word.encode() for word in arguments))
        self._unit = c_void_p()
        code = _lib.clang_parseTranslationUnit2(index, path.encode(), words, len(arguments), None, 0, flags,
                                                byref(self._unit))
        if code:
            raise OSError(f'{path}: libclang does not parse it (code {code})')
        self._names = {}

    def close(self):
        _lib.clang_disposeTranslationUnit(self._unit)

    def save(self, path):
        return _lib.clang_saveTranslationUnit(self._unit, path.encode(), 0) == 0

    def errors(self):
        """(file, line, message) of each error."""
        for number in range(_lib.clang_getNumDiagnostics(self._unit)):
            diagnostic = _lib.clang_getDiagnostic(self._unit, number)
            if _lib.clang_getDiagnosticSeverity(diagnostic) >= ERROR:
                place = self._place(_lib.clang_getDiagnosticLocation(diagnostic))
                yield (*place[:2], text(_lib.clang_getDiagnosticSpelling(diagnostic)))
            _lib.clang_disposeDiagnostic(diagnostic)

    def top(self):
        return _lib.clang_getTranslationUnitCursor(self._unit)

    def extent(self, cursor):
        """(file, first line, last line)"""
        return self._lines(_lib.clang_getCursorExtent(cursor))

    def location(self, cursor):
        return self._place(_lib.clang_getCursorLocation(cursor))[:2]

    def end(self, cursor):
        """(file, line, column) behind the last character."""
        return self._place(_lib.clang_getRangeEnd(_lib.clang_getCursorExtent(cursor)))

    def _lines(self, extent):
        file, begin, _ = self._place(_lib.clang_getRangeStart(extent))
        last_file, end, _ = self._place(_lib.clang_getRangeEnd(extent))
        return file, begin, end if last_file == file else begin

    def _place(self, location):
        file, line, column = c_void_p(), c_uint(), c_uint()
        _lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), None)
        name = self._names.get(file.value)
        if name is None:
            name = text(_lib.clang_File_tryGetRealPathName(file)) or text(_lib.clang_getFileName(file)) if file else ''
            self._names[file.value] = name
        return name, line.value, column.value


def children(cursor):
    found = []

    def visit(child, parent, data):
        found.append(child)
        return 1  # the next, not its children

    _lib.clang_visitChildren(cursor, Visitor(visit), None)
    return found


def spelling(cursor):
    return text(_lib.clang_getCursorSpelling(cursor))


def usr(cursor):
    """The name of an entity that is the same in each unit."""
    return text(_lib.clang_getCursorUSR(cursor))


def is_out_of_line(cursor):
    """Whether a member is declared outside of its class."""
    owner = _lib.clang_getCursorSemanticParent(cursor)
    return owner.kind in (STRUCT, UNION, CLASS) and not _lib.clang_equalCursors(
        owner, _lib.clang_getCursorLexicalParent(cursor))


def is_definition(cursor):
    return bool(_lib.clang_isCursorDefinition(cursor))


def is_external(cursor):
    return _lib.clang_getCursorLinkage(cursor) == EXTERNAL_LINKAGE


def is_inline(cursor):
    return bool(_lib.clang_Cursor_isFunctionInlined(cursor))


def is_pure(cursor):
    return bool(_lib.clang_CXXMethod_isPureVirtual(cursor))
