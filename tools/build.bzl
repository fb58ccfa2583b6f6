"""The C++ rules of this repository.

They set the language flags and the include prefix, so that a header of any package
is included as "encore/<package>/<header>", here and in a workspace that depends on
Encore and has folders of the same names.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//tools/precompiled:precompiled.bzl", "COPTS", "use_precompiled")

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

def _precompiled(name, copts):
    """As use_precompiled; options of a target's own may change the language, so that nothing precompiled fits."""
    return use_precompiled(None if copts else name)

def _precompiled_for_library(testonly):
    if testonly:
        return "test"
    return "tools" if native.package_name().split("/")[0] == "tools" else "base"

def encore_cc_library(name, hdrs = [], srcs = [], copts = [], deps = [], testonly = False, **kwargs):
    """A cc_library whose headers are included with their path from the root, and each stand alone."""
    pch_copts, pch_deps = _precompiled(_precompiled_for_library(testonly), copts)
    cc_library(
        name = name,
        hdrs = hdrs,
        srcs = srcs + _stands_alone(name, hdrs, srcs, testonly),
        copts = COPTS + copts + pch_copts,
        deps = deps + pch_deps,
        testonly = testonly,
        include_prefix = _prefix(),
        strip_include_prefix = "/" + native.package_name(),
        **kwargs
    )

def encore_cc_binary(name, copts = [], linkopts = [], deps = [], testonly = False, **kwargs):
    pch_copts, pch_deps = _precompiled(_precompiled_for_library(testonly), copts)
    cc_binary(
        name = name,
        copts = COPTS + copts + pch_copts,
        linkopts = _LINKOPTS + linkopts,
        deps = deps + pch_deps,
        testonly = testonly,
        **kwargs
    )

def encore_cc_test(name, copts = [], linkopts = [], deps = [], **kwargs):
    """A GoogleTest test; `deps` need not name GoogleTest."""
    pch_copts, pch_deps = _precompiled("test", copts)
    cc_test(
        name = name,
        copts = COPTS + copts + pch_copts,
        linkopts = _LINKOPTS + linkopts,
        deps = deps + ["@com_google_googletest//:gtest_main"] + pch_deps,
        linkstatic = True,
        **kwargs
    )

def encore_cc_benchmark(name, linkopts = [], deps = [], **kwargs):
    """A google-benchmark binary: `bazel run //path:x_benchmark`."""
    encore_cc_binary(
        name = name,
        testonly = True,
        linkopts = linkopts,
        deps = deps + ["@com_github_google_benchmark//:benchmark_main"],
        **kwargs
    )

def encore_cc_fuzz(name, linkopts = [], tags = [], deps = [], corpus = [], mutants = 5000, size = "small", **kwargs):
    """A libFuzzer target, built and run with --config=fuzz only, and `<name>_test`, which runs it on the files of
    `corpus` and so many mutants of them (ir/support/testing/fuzz_test.cc)."""
    encore_cc_binary(
        name = name,
        testonly = True,
        linkopts = ["-fsanitize=fuzzer"] + linkopts,
        tags = tags + ["manual"],
        deps = deps,
        **kwargs
    )
    if corpus:
        encore_cc_test(
            name = name + "_test",
            size = size,
            args = [str(mutants)] + ["$(locations %s)" % file for file in corpus],
            data = corpus,
            linkopts = linkopts,
            tags = tags,
            deps = deps + ["//ir/support/testing:fuzz_test"],
            **kwargs
        )
