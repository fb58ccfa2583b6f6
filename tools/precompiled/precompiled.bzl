"""Precompiled headers: those of the standard library, Abseil and the like, parsed once.

A source still includes what it uses; a header that was parsed before costs nothing then.
Only with --define=precompiled=1, which .bazelrc sets: it takes clang, and headers that lie
where the compiler looks. A workspace that depends on Encore builds without.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# What every source here is compiled with; tools/build.bzl has the same.
COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Wno-sign-compare",
    "-Wno-unused-parameter",
]

def _features(ctx, toolchain, unsupported = []):
    return cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features + unsupported,
    )

def _flags(ctx, toolchain):
    # The flags of layering_check name the modules of a target, of which there is none here.
    features = _features(ctx, toolchain, unsupported = ["layering_check"])
    libraries = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        preprocessor_defines = libraries.compilation_context.defines,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + COPTS,
        use_pic = True,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = ACTION_NAMES.cpp_compile,
        variables = variables,
    )
    if cc_common.is_enabled(feature_configuration = _features(ctx, toolchain), feature_name = "layering_check"):
        flags = flags + ["-fmodule-name=//tools/precompiled:" + ctx.label.name, "-fmodules-strict-decluse"]
    return flags

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    output = ctx.actions.declare_file(ctx.label.name + ".pch")
    arguments = ctx.actions.args()
    arguments.add_all([ctx.file.header, output])
    arguments.add(toolchain.compiler_executable)
    arguments.add_all(_flags(ctx, toolchain))

    # From / and through pipes, so that no path of this workspace is in the result: it is the same for all.
    ctx.actions.run_shell(
        inputs = depset([ctx.file.header], transitive = [toolchain.all_files]),
        outputs = [output],
        arguments = [arguments],
        command = 'header=$PWD/$1 output=$PWD/$2 && shift 2 && cd / && ' +
                  'exec "$@" -Xclang -fno-pch-timestamp -x c++-header - -o - < "$header" > "$output"',
        mnemonic = "PrecompileHeader",
        progress_message = "Precompiling %s" % ctx.label,
        # It holds headers of this machine.
        execution_requirements = {"no-cache": "1"},
    )
    context = cc_common.create_compilation_context(headers = depset([output]))
    return [DefaultInfo(files = depset([output])), CcInfo(compilation_context = context)]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo], doc = "The libraries that it includes headers of."),
        "header": attr.label(mandatory = True, allow_single_file = [".h"], doc = "Includes what is precompiled: headers of the system."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    doc = "A precompiled header, for sources that are compiled with COPTS and no options that change the language.",
)

def use_precompiled(name):
    """Options and dependencies of a target that uses the precompiled header `name` of this package, or none where that is None."""
    if name == None:
        return [], []
    label = "//tools/precompiled:" + name
    none = {"//conditions:default": []}
    copts = select(dict({"//tools/precompiled:enabled": ["-include-pch", "$(execpath %s)" % label]}, **none))
    deps = select(dict({"//tools/precompiled:enabled": [label]}, **none))
    return copts, deps
