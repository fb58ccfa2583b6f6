"""Found by Python as it starts, where PYTHONPATH names this folder: unittest then runs the methods of a class in the
order that ENCORE_TEST_ORDER draws, instead of by name."""
import hashlib
import os
import unittest


def _drawn(name):
    return hashlib.sha256((os.environ.get('ENCORE_TEST_ORDER', '') + name).encode()).digest()


def _compare(a, b):
    return (_drawn(a) > _drawn(b)) - (_drawn(a) < _drawn(b))


unittest.TestLoader.sortTestMethodsUsing = staticmethod(_compare)
