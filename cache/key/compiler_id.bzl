"""compiler_id: a digest of the sources that a compiler is made of.

The sources are those of `deps` and of everything they depend on within this
repository, found by following the build graph: a file that can change what the
compiler does cannot be left out. Relinking changes nothing.
"""

_Sources = provider(fields = ["files"])

def _collect_impl(target, ctx):
    files = []
    for attribute in ["srcs", "hdrs", "textual_hdrs"]:
        for file in getattr(ctx.rule.files, attribute, []):
            if file.is_source and file.owner.workspace_name == target.label.workspace_name:
                files.append(file)
    below = [
        dep[_Sources].files
        for attribute in ["deps", "srcs", "data"]
        for dep in getattr(ctx.rule.attr, attribute, [])
        if type(dep) == "Target" and _Sources in dep and dep.label.workspace_name == target.label.workspace_name
    ]
    return [_Sources(files = depset(files, transitive = below))]

_collect = aspect(
    implementation = _collect_impl,
    attr_aspects = ["deps", "srcs", "data"],
)

def _compiler_id_impl(ctx):
    files = depset(transitive = [dep[_Sources].files for dep in ctx.attr.deps])
    by_path = {file.short_path: file for file in files.to_list()}
    listing = ctx.actions.declare_file(ctx.label.name + ".list")
    ctx.actions.write(
        listing,
        "".join(["%s %s\n" % (path, by_path[path].path) for path in sorted(by_path)]),
    )
    ctx.actions.run_shell(
        outputs = [ctx.outputs.out],
        inputs = depset([listing], transitive = [files]),
        arguments = [listing.path, ctx.outputs.out.path],
        command = """
set -eu
digest=$(while read -r name path; do
  echo "$name $(sha256sum < "$path")"
done < "$1" | sha256sum | cut -c1-64)
printf '#include "encore/cache/key/compiler_id.h"\\n\\nnamespace encore::cache {\\nstd::string_view CompilerId() { return "%s"; }\\n}  // namespace encore::cache\\n' "$digest" > "$2"
""",
        mnemonic = "CompilerId",
    )
    return [DefaultInfo(files = depset([ctx.outputs.out]))]

compiler_id = rule(
    implementation = _compiler_id_impl,
    attrs = {
        "deps": attr.label_list(aspects = [_collect], mandatory = True),
        "out": attr.output(mandatory = True),
    },
)
