"""The C++ rules of this repository.

They set the language flags and the include prefix, so that a header of any package
is included as "encore/<package>/<header>", here and in a workspace that depends on
Encore and has folders of the same names.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Wno-sign-compare",
    "-Wno-unused-parameter",
]

# lld takes archives in any order, which pkg-config's link lines rely on.
_LINKOPTS = ["-fuse-ld=lld"]

def _prefix():
    package = native.package_name()
    return "encore/" + package if package else "encore"

def _stands_alone(name, hdrs, srcs, testonly):
    """Sources that include one header each: those that no source of the same name compiles first."""
    sources = []
    for header in hdrs:
        stem = header[:-len(".h")]
        if not header.endswith(".h") or stem + ".cc" in srcs:
            continue
        source = "%s_stands_alone.cc" % stem
        native.genrule(
            name = "%s_%s_stands_alone" % (name, stem),
            outs = [source],
            cmd = "echo '#include \"%s/%s\"' > $@" % (_prefix(), header),
            testonly = testonly,
            visibility = ["//visibility:private"],
        )
        sources.append(source)
    return sources

def encore_cc_library(name, hdrs = [], srcs = [], copts = [], testonly = False, **kwargs):
    """A cc_library whose headers are included with their path from the root, and each stand alone."""
    cc_library(
        name = name,
        hdrs = hdrs,
        srcs = srcs + _stands_alone(name, hdrs, srcs, testonly),
        copts = _COPTS + copts,
        testonly = testonly,
        include_prefix = _prefix(),
        strip_include_prefix = "/" + native.package_name(),
        **kwargs
    )

def encore_cc_binary(name, copts = [], linkopts = [], **kwargs):
    cc_binary(name = name, copts = _COPTS + copts, linkopts = _LINKOPTS + linkopts, **kwargs)

def encore_cc_test(name, copts = [], linkopts = [], deps = [], **kwargs):
    """A GoogleTest test; `deps` need not name GoogleTest."""
    cc_test(
        name = name,
        copts = _COPTS + copts,
        linkopts = _LINKOPTS + linkopts,
        deps = deps + ["@com_google_googletest//:gtest_main"],
        linkstatic = True,
        **kwargs
    )

def encore_cc_benchmark(name, copts = [], linkopts = [], deps = [], **kwargs):
    """A google-benchmark binary: `bazel run //path:x_benchmark`."""
    cc_binary(
        name = name,
        testonly = True,
        copts = _COPTS + copts,
        linkopts = _LINKOPTS + linkopts,
        deps = deps + ["@com_github_google_benchmark//:benchmark_main"],
        **kwargs
    )

def encore_cc_fuzz(name, copts = [], linkopts = [], **kwargs):
    """A libFuzzer target; built and run with --config=fuzz only."""
    cc_binary(
        name = name,
        testonly = True,
        copts = _COPTS + copts,
        linkopts = _LINKOPTS + ["-fsanitize=fuzzer"] + linkopts,
        tags = ["manual"],
        **kwargs
    )
