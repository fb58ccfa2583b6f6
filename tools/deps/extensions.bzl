"""The system libraries for Bazel releases with modules."""

load(":system_libraries.bzl", "declare_system_libraries")

def _system_libraries_impl(_module_ctx):
    declare_system_libraries({})

system_libraries = module_extension(implementation = _system_libraries_impl)
