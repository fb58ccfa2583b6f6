"""Repositories made from the machine's packages: one rule, one table.

`pkg_config_library` asks pkg-config for each target and writes a cc_library that
carries the compile and link flags. Static archives are preferred where the machine
has them, so that a program starts without loading a dozen shared objects.
"""

# Label of a target inside the repository -> pkg-config module, where it is not
# `absl_<target name>`.
_ABSL_TARGETS = {
    "absl/algorithm:container": "absl_algorithm_container",
    "absl/base": "absl_base",
    "absl/base:core_headers": "absl_core_headers",
    "absl/cleanup": "absl_cleanup",
    "absl/container:btree": "absl_btree",
    "absl/container:fixed_array": "absl_fixed_array",
    "absl/container:flat_hash_map": "absl_flat_hash_map",
    "absl/container:flat_hash_set": "absl_flat_hash_set",
    "absl/container:inlined_vector": "absl_inlined_vector",
    "absl/container:node_hash_map": "absl_node_hash_map",
    "absl/flags:flag": "absl_flags",
    "absl/flags:parse": "absl_flags_parse",
    "absl/flags:usage": "absl_flags_usage",
    "absl/functional:any_invocable": "absl_any_invocable",
    "absl/functional:function_ref": "absl_function_ref",
    "absl/hash": "absl_hash",
    "absl/numeric:bits": "absl_bits",
    "absl/numeric:int128": "absl_int128",
    "absl/random": "absl_random_random",
    "absl/status": "absl_status",
    "absl/status:statusor": "absl_statusor",
    "absl/strings": "absl_strings",
    "absl/strings:str_format": "absl_str_format",
    "absl/synchronization": "absl_synchronization",
    "absl/time": "absl_time",
    "absl/types:span": "absl_span",
}

_SYSTEM_LIBRARIES = {
    "cli11": {":cli11": "CLI11"},
    "com_github_google_benchmark": {":benchmark": "benchmark", ":benchmark_main": "-lbenchmark_main benchmark"},
    "com_github_nlohmann_json": {":json": "nlohmann_json"},
    "com_google_absl": {"//" + target: module for target, module in _ABSL_TARGETS.items()},
    "com_google_googletest": {":gtest": "gmock", ":gtest_main": "gmock gtest_main"},
    "com_google_protobuf": {":protobuf": "protobuf", ":protobuf_lite": "protobuf-lite"},
    "com_googlesource_code_re2": {":re2": "re2"},
    "minizip": {":minizip": "minizip"},
    "openssl": {":crypto": "libcrypto"},
    "rapidjson": {":rapidjson": "RapidJSON"},
    "xxhash": {":xxhash": "libxxhash"},
    "zstd": {":zstd": "libzstd"},
}

# Part of the C library: never linked statically on their own.
_C_LIBRARY = ["-lm", "-lpthread", "-ldl", "-lrt", "-lc"]

_PROTOBUF_EXTRA = """
exports_files(["protoc"])
proto_lang_toolchain(
    name = "cc_toolchain",
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
    visibility = ["//visibility:public"],
)
"""

def _ask(rctx, arguments, remedy):
    result = rctx.execute(arguments)
    if result.return_code != 0:
        fail("%s failed: %s\nRun ./encore setup tests%s." % (" ".join(arguments), result.stderr.strip(), remedy))
    return [word for word in result.stdout.strip().split(" ") if word]

def _prefer_archives(rctx, words):
    directories = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]
    flags = []
    for word in words:
        archive = None
        if word.startswith("-l") and word not in _C_LIBRARY:
            for directory in directories:
                if rctx.path("%s/lib%s.a" % (directory, word[2:])).exists:
                    archive = "-l:lib%s.a" % word[2:]
                    break
        flags.append(archive or word)
    return flags

def _library(rctx, name, modules):
    arguments = ["pkg-config", "--static"]
    without_pc = [module for module in modules if module.startswith("-l")]
    modules = [module for module in modules if not module.startswith("-l")]
    libs = without_pc + _ask(rctx, arguments + ["--libs"] + modules, ", which installs what has that .pc file")
    cflags = _ask(rctx, arguments + ["--cflags"] + modules, "")
    defines = [word[2:] for word in cflags if word.startswith("-D")]
    options = [word for word in cflags if not word.startswith("-D") and word != "-I/usr/include" and not word.startswith("-W") and not word.startswith("-m")]
    return """
cc_library(
    name = "{name}",
    copts = {copts},
    defines = {defines},
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
""".format(name = name, copts = options, defines = defines, linkopts = _prefer_archives(rctx, libs))

def _pkg_config_repository_impl(rctx):
    builds = {}
    for label, modules in rctx.attr.targets.items():
        package, _, name = label.partition(":")
        package = package[2:] if package.startswith("//") else package
        name = name or package.split("/")[-1]
        builds.setdefault(package, []).append(_library(rctx, name, modules.split(" ")))
    for package, rules in builds.items():
        extra = rctx.attr.root_build if package == "" else ""
        rctx.file(
            (package + "/" if package else "") + "BUILD.bazel",
            'load("@rules_cc//cc:defs.bzl", "cc_library")\n' + "".join(rules) + extra,
        )
    for link, target in rctx.attr.links.items():
        rctx.symlink(target, link)

pkg_config_repository = repository_rule(
    implementation = _pkg_config_repository_impl,
    attrs = {
        "links": attr.string_dict(doc = "Path in the repository -> absolute path it points to."),
        "root_build": attr.string(doc = "More text for the root BUILD file."),
        "targets": attr.string_dict(doc = "Label in the repository -> pkg-config modules, blank-separated."),
    },
    environ = ["PKG_CONFIG_PATH"],
)

def _folder_repository_impl(rctx):
    base = rctx.attr.base
    if rctx.attr.under_deps:
        deps = rctx.os.environ.get("ENCORE_DEPS")
        if not deps:
            fail("ENCORE_DEPS is not set; run ./encore setup, which writes it into .setup.bazelrc.")
        base = deps
    for link, target in rctx.attr.links.items():
        path = rctx.path(base + "/" + target)
        if not path.exists:
            fail("%s does not exist; run ./encore setup tests, which installs it." % path)
        rctx.symlink(path, link)
    rctx.file("BUILD.bazel", rctx.attr.build)

folder_repository = repository_rule(
    implementation = _folder_repository_impl,
    attrs = {
        "base": attr.string(doc = "Absolute folder that the link targets lie in."),
        "build": attr.string(mandatory = True, doc = "Text of the root BUILD file."),
        "links": attr.string_dict(doc = "Path in the repository -> path below the base."),
        "under_deps": attr.bool(doc = "Whether the base is the folder of unpacked wheels."),
    },
    environ = ["ENCORE_DEPS"],
)

_LOAD = 'load("@rules_cc//cc:defs.bzl", "cc_library", "cc_proto_library")\n'

_LLVM_COMPONENTS = ["asmparser", "passes", "x86codegen"]

_LLVM_BUILD = _LOAD + """
# LLVM for x86-64, of archives: whoever links it carries all of what generates its code.
cc_library(
    name = "x86",
    hdrs = glob(["include/**/*.h", "include/**/*.def", "include/**/*.inc"]),
    includes = ["include"],
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

def _llvm_repository_impl(rctx):
    config = ["llvm-config-19", "--link-static"]
    folder = _ask(rctx, config + ["--libdir"], ", which installs llvm-19-dev")
    libraries = _ask(rctx, config + ["--libs"] + _LLVM_COMPONENTS, "") + ["-lz", "-lzstd"]
    include = _ask(rctx, config + ["--includedir"], "")[0]
    for name in ["llvm", "llvm-c"]:
        rctx.symlink(include + "/" + name, "include/" + name)
    linkopts = ["-L" + folder[0]] + ["-l:lib%s.a" % word[2:] for word in libraries]
    rctx.file("BUILD.bazel", _LLVM_BUILD.format(linkopts = linkopts))

llvm_repository = repository_rule(implementation = _llvm_repository_impl)

_ONEDNN_BUILD = _LOAD + """
# The headers alone, for code that loads the library itself.
cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h", "include/**/*.hpp"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)

filegroup(
    name = "shared_library",
    srcs = ["lib/libdnnl.so.3"],
    visibility = ["//visibility:public"],
)

cc_library(
    name = "onednn",
    srcs = [":shared_library"],
    visibility = ["//visibility:public"],
    deps = [":headers"],
)
"""

_ONNX_BUILD = _LOAD + """
proto_library(
    name = "onnx_proto",
    srcs = ["onnx/onnx.proto"],
    visibility = ["//visibility:public"],
)

cc_proto_library(
    name = "onnx_cc_proto",
    visibility = ["//visibility:public"],
    deps = [":onnx_proto"],
)
"""

_IMAGE_CODECS_BUILD = _LOAD + """
# The headers alone, for code that loads the libraries itself; libtiff's lie where the compiler looks.
cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

_HIGHS_BUILD = _LOAD + """
# The C interface alone, for code that loads the library itself.
cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)

filegroup(
    name = "shared_library",
    srcs = ["lib/libhighs.so"],
    visibility = ["//visibility:public"],
)
"""

_CUDA_BUILD = _LOAD + """
# The headers alone, for tests: the library is loaded at run time.
cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

_CUPTI_BUILD = _LOAD + """
# The headers alone, for tests: the library is loaded at run time.
cc_library(
    name = "headers",
    hdrs = glob([
        "crt/**/*.h",
        "cupti/**/*.h",
        "runtime/*.h",
    ]),
    includes = [
        "crt",
        "cupti",
        "runtime",
    ],
    visibility = ["//visibility:public"],
)
"""

_NVRTC_BUILD = _LOAD + """
# The header alone, for code that loads the library itself.
cc_library(
    name = "headers",
    hdrs = ["include/nvrtc.h"],
    includes = ["include"],
    visibility = ["//visibility:public"],
)

filegroup(
    name = "shared_library",
    srcs = glob(["lib/*.so*"]),
    visibility = ["//visibility:public"],
)
"""

_ONEDNN_VERSION = "2023.2.0"

def _declare_folders(existing):
    if "llvm" not in existing:
        llvm_repository(name = "llvm")
    if "onnx" not in existing:
        folder_repository(
            name = "onnx",
            base = "/usr/include",
            build = _ONNX_BUILD,
            links = {"onnx/onnx.proto": "onnx/onnx.proto"},
        )
    if "image_codecs" not in existing:
        folder_repository(
            name = "image_codecs",
            base = "/usr/include",
            build = _IMAGE_CODECS_BUILD,
            links = {
                "include/openjpeg-2.5/openjpeg.h": "openjpeg-2.5/openjpeg.h",
                "include/openjpeg-2.5/opj_config.h": "openjpeg-2.5/opj_config.h",
                "include/openjpeg-2.5/opj_stdint.h": "openjpeg-2.5/opj_stdint.h",
                "include/png.h": "libpng16/png.h",
                "include/pngconf.h": "libpng16/pngconf.h",
                "include/pnglibconf.h": "libpng16/pnglibconf.h",
                "include/turbojpeg.h": "turbojpeg.h",
                "include/webp/decode.h": "webp/decode.h",
                "include/webp/types.h": "webp/types.h",
            },
        )
    if "cuda" not in existing:
        folder_repository(
            name = "cuda",
            build = _CUDA_BUILD,
            links = {
                "include/cuda.h": "cuda/nvidia-cuda-runtime==13.0.96/nvidia/cu13/include/cuda.h",
                "include/cudaTypedefs.h": "cuda/nvidia-cuda-runtime==13.0.96/nvidia/cu13/include/cudaTypedefs.h",
            },
            under_deps = True,
        )
    if "cublas" not in existing:
        folder_repository(
            name = "cublas",
            build = _CUDA_BUILD,
            links = {
                "include/cublasLt.h": "cuda/nvidia-cublas==13.1.0.3/nvidia/cu13/include/cublasLt.h",
                "include/cublas_api.h": "cuda/nvidia-cublas==13.1.0.3/nvidia/cu13/include/cublas_api.h",
                "include/library_types.h": "cuda/nvidia-cuda-runtime==13.0.96/nvidia/cu13/include/library_types.h",
            },
            under_deps = True,
        )
    if "cupti" not in existing:
        folder_repository(
            name = "cupti",
            build = _CUPTI_BUILD,
            links = {
                "crt/crt": "cuda/nvidia-cuda-crt==13.0.88/nvidia/cu13/include/crt",
                "cupti": "cuda/nvidia-cuda-cupti==13.0.85/nvidia/cu13/include",
                "runtime": "cuda/nvidia-cuda-runtime==13.0.96/nvidia/cu13/include",
            },
            under_deps = True,
        )
    if "nvtx" not in existing:
        folder_repository(
            name = "nvtx",
            build = _CUDA_BUILD,
            links = {"include/nvtx3": "cuda/nvidia-nvtx==13.0.85/nvidia/cu13/include/nvtx3"},
            under_deps = True,
        )
    if "highs" not in existing:
        distribution = "highs/highsbox==1.15.1/highsbox-1.15.1.data/purelib/highsbox/highs_dist/"
        folder_repository(
            name = "highs",
            build = _HIGHS_BUILD,
            links = {
                "include/interfaces/highs_c_api.h": distribution + "include/highs/interfaces/highs_c_api.h",
                "include/lp_data/HighsCallbackStruct.h": distribution + "include/highs/lp_data/HighsCallbackStruct.h",
                "include/util/HighsInt.h": distribution + "include/highs/util/HighsInt.h",
                "include/HConfig.h": distribution + "include/highs/HConfig.h",
                "lib/libhighs.so": distribution + "lib/libhighs.so",
            },
            under_deps = True,
        )
    if "nvrtc" not in existing:
        wheel = "nvrtc/nvidia-cuda-nvrtc==13.0.88/nvidia/cu13/"
        folder_repository(
            name = "nvrtc",
            build = _NVRTC_BUILD,
            links = {file: wheel + file for file in [
                "include/nvrtc.h",
                "lib/libnvrtc-builtins.so.13.0",
                "lib/libnvrtc.so.13",
            ]},
            under_deps = True,
        )
    if "onednn" not in existing:
        wheel = "onednn/onednn-{0}==%s/onednn_{1}-%s.data/data/{2}" % (_ONEDNN_VERSION, _ONEDNN_VERSION)
        folder_repository(
            name = "onednn",
            build = _ONEDNN_BUILD,
            links = {
                "include": wheel.format("devel-cpu-gomp", "devel_cpu_gomp", "include"),
                "lib": wheel.format("cpu-gomp", "cpu_gomp", "lib"),
            },
            under_deps = True,
        )

def declare_system_libraries(existing):
    """Declares every library of the table that `existing` does not have."""
    for name, targets in _SYSTEM_LIBRARIES.items():
        if name in existing:
            continue
        protobuf = name == "com_google_protobuf"
        pkg_config_repository(
            name = name,
            links = {"protoc": "/usr/bin/protoc"} if protobuf else {},
            root_build = _PROTOBUF_EXTRA if protobuf else "",
            targets = targets,
        )
    _declare_folders(existing)
