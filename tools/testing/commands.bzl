"""Tests of built programs, as scripts."""

def command_test(name, data = [], env = {}, **kwargs):
    """Runs a Python script, which may import what is in tools/testing."""
    native.sh_test(
        name = name,
        srcs = [name + ".py"],
        data = data + ["//tools/testing:modules"],
        env = dict({"PYTHONPATH": "tools/testing"}, **env),
        **kwargs
    )
