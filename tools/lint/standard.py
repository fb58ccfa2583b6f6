"""Whether a file that uses a name of the standard library, or of a library that is precompiled, includes that name's
header, itself or through headers of the tree. Builds have precompiled headers (tools/precompiled), on which a missing
include goes unseen until somebody compiles the file without them.

Only names with one header count, and only headers that the tree includes: those of libraries may stop including them.
"""
import os
import re

NAMES = {
    'algorithm': '''adjacent_find all_of any_of binary_search clamp copy_if copy_n count_if equal_range fill fill_n find_if
        find_if_not generate includes is_sorted lexicographical_compare lower_bound make_heap max_element min_element
        minmax mismatch next_permutation none_of nth_element partial_sort partition pop_heap push_heap remove_if reverse
        rotate set_difference set_intersection set_union shuffle sort stable_partition stable_sort transform unique
        upper_bound''',
    'array': 'array to_array',
    'atomic': '''atomic atomic_flag atomic_ref memory_order_acq_rel memory_order_acquire memory_order_relaxed
        memory_order_release memory_order_seq_cst''',
    'bit': 'bit_cast bit_ceil bit_width countl_zero countr_zero endian has_single_bit popcount',
    'bitset': 'bitset',
    'charconv': 'from_chars from_chars_result to_chars to_chars_result',
    'chrono': 'chrono',
    'cmath': '''ceil copysign erf exp2 floor fma fmod frexp isfinite isinf isnan ldexp log2 lround nearbyint nextafter pow
        signbit sqrt trunc''',
    'complex': 'complex',
    'condition_variable': 'condition_variable',
    'cstddef': 'byte max_align_t nullptr_t ptrdiff_t',
    'cstring': 'memcmp memcpy memmove memset strcmp strlen',
    'deque': 'deque',
    'filesystem': 'filesystem',
    'fstream': 'ifstream ofstream',
    'functional': 'function greater invoke less multiplies plus',
    'initializer_list': 'initializer_list',
    'iostream': 'cerr cin cout',
    'iterator': '''advance back_inserter distance istreambuf_iterator make_move_iterator move_iterator ostream_iterator
        reverse_iterator''',
    'limits': 'numeric_limits',
    'list': 'list',
    'map': 'map multimap',
    'memory': 'addressof make_shared make_unique shared_ptr unique_ptr weak_ptr',
    'mutex': 'call_once lock_guard mutex once_flag scoped_lock unique_lock',
    'new': 'align_val_t bad_alloc launder nothrow',
    'numeric': 'accumulate exclusive_scan gcd inner_product iota lcm midpoint partial_sum',
    'optional': 'make_optional nullopt optional',
    'queue': 'priority_queue queue',
    'random': 'mt19937 mt19937_64 normal_distribution uniform_int_distribution uniform_real_distribution',
    'set': 'multiset set',
    'span': 'as_bytes dynamic_extent span',
    'sstream': 'istringstream ostringstream stringstream',
    'string': 'stod stoi string to_string',
    'string_view': 'string_view',
    'system_error': 'errc error_code',
    'thread': 'this_thread thread',
    'tuple': 'make_tuple tie tuple',
    'type_traits': '''conditional_t decay_t enable_if_t invoke_result_t is_floating_point_v is_integral_v is_same_v
        is_signed_v is_trivially_copyable_v is_unsigned_v make_signed_t make_unsigned_t remove_cvref_t underlying_type_t''',
    'unordered_map': 'unordered_map',
    'unordered_set': 'unordered_set',
    'utility': 'exchange forward in_place index_sequence make_index_sequence make_pair move pair swap',
    'variant': 'get_if holds_alternative monostate variant visit',
    'vector': 'vector',
}
HEADER_OF = {name: header for header, names in NAMES.items() for name in names.split()}

# What tells that a library's header is needed; that of gmock brings gtest's.
LIBRARIES = {
    'CLI/CLI.hpp': re.compile(r'\bCLI::\w'),
    'gmock/gmock.h': re.compile(r'\b(?:(?:ASSERT|EXPECT)_THAT|EXPECT_CALL|MOCK_METHOD|ON_CALL)\('),
    'gtest/gtest.h': re.compile(
        r'^(?:TYPED_)?TEST(?:_F|_P|_SUITE|_SUITE_P)?\(|\b(?:INSTANTIATE|REGISTER)_(?:TYPED_)?TEST_SUITE_P\(|'
        r'(?<![\w:])(?:::)?testing::\w|\b(?:ADD_FAILURE|ADD_FAILURE_AT|FAIL|GTEST_SKIP|SCOPED_TRACE|SUCCEED)\(|'
        r'\b(?:ASSERT|EXPECT)_(?!THAT\()[A-Z]\w*\(', re.M),
    'nlohmann/json.hpp': re.compile(r'\bnlohmann::\w'),
}
BROUGHT_BY = {'gtest/gtest.h': 'gmock/gmock.h'}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.M)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
# That of <cstddef> is written without std:: too, which not every header that brings the other names declares.
USE = re.compile(r'\bstd::(\w+)|(?<![\w:])(ptrdiff_t)\b')


class Includes:
    """What each file includes, read once."""

    def __init__(self, root):
        self._root = root
        self._files = {}

    def others(self, path):
        """The headers that are not the tree's which a file includes, itself or through headers of the tree."""
        found, seen, left = set(), {path}, [path]
        while left:
            others, own = self._of(left.pop())
            found |= others
            left += own - seen
            seen |= own
        return found

    def _of(self, path):
        if path not in self._files:
            with open(path, encoding='utf-8') as file:
                names = INCLUDE.findall(file.read())
            own = {os.path.join(self._root, name.removeprefix('encore/'))
                   for _, name in names if name.startswith('encore/')}
            self._files[path] = ({name for mark, name in names if mark == '<' or not name.startswith('encore/')},
                                 {path for path in own if os.path.isfile(path)})
        return self._files[path]


def check(root, paths):
    includes = Includes(root)
    for path in paths:
        with open(path, encoding='utf-8') as file:
            text = COMMENT_OR_STRING.sub(lambda found: '\n' * found.group().count('\n'), file.read())
        present = includes.others(path)
        missing = {}
        for found in USE.finditer(text):
            name = found.group(1) or found.group(2)
            header = HEADER_OF.get(name)
            if header and header not in present:
                missing.setdefault(header, (text[:found.start()].count('\n') + 1, name))
        for header, use in LIBRARIES.items():
            found = use.search(text)
            if found and header not in present and BROUGHT_BY.get(header) not in present:
                yield f'{path}:{text[:found.start()].count(chr(10)) + 1}: what {header} declares is used; include it'
        for header, (line, name) in sorted(missing.items(), key=lambda item: item[1]):
            yield f'{path}:{line}: {name} is used without <{header}>; include it'
