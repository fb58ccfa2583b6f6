"""Every external repository of Encore, under its canonical name.

A workspace that depends on Encore calls `encore_dependencies()` after declaring
Encore itself; a name it has declared before keeps its own declaration.
"""

load(":system_libraries.bzl", "declare_system_libraries")

_BAZEL_SHARE = "/usr/share/bazel"

def _local(name, path):
    if name not in native.existing_rules():
        native.local_repository(name = name, path = path)

def encore_dependencies(encore_root = None):
    """Declares what Encore builds with.

    Args:
      encore_root: path of Encore's checkout, relative to the calling workspace;
        None where the caller is Encore.
    """
    prefix = (encore_root + "/" if encore_root else "") + "tools/deps/"
    _local("rules_cc", prefix + "rules_cc")
    _local("remote_coverage_tools", prefix + "coverage_tools")
    _local("rules_java", _BAZEL_SHARE + "/rules/java")
    _local("rules_proto", _BAZEL_SHARE + "/rules/proto")
    _local("bazel_skylib", _BAZEL_SHARE + "/tools/skylib")
    _local("platforms", _BAZEL_SHARE + "/tools/platforms")
    declare_system_libraries(native.existing_rules())
