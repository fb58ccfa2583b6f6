"""What tests of a program have in common."""
import os
import tempfile
import unittest


class CommandTest(unittest.TestCase):
    """A test with a folder of its own, which goes with it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """The path of a file with that text, or those bytes."""
        with open(self.path(name), 'w' if isinstance(content, str) else 'wb') as file:
            file.write(content)
        return self.path(name)
