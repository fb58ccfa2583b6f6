// CheckProgram: from the text of a program to a checked Program.
//
// Everything that can be wrong with a program before it runs is found here:
// syntax, unknown names, sorts, numbers of arguments, duplicate declarations,
// unbound variables, constructs outside the supported language. Files named by
// (include ...) are read and checked in place; their paths are relative to the
// current folder or, where there is no such file, to the including file's.
//
// Linear time but for (print-size), which lists all tables. Depth of nesting
// is bounded by memory only.
#ifndef ENCORE_OPT_EGRAPH_PROGRAM_CHECKER_H_
#define ENCORE_OPT_EGRAPH_PROGRAM_CHECKER_H_

#include <functional>
#include <optional>
#include <string>

#include "encore/opt/egraph/program/ast.h"
#include "encore/opt/egraph/program/diagnostics.h"

namespace encore::opt::program {

// The bytes of a file, or nothing where it cannot be read.
using ReadFileFn =
    std::function<std::optional<std::string>(const std::string& path)>;

// The program in `text`, called `name` in messages. It may be run where
// `diagnostics` has no findings.
Program CheckProgram(const std::string& name, std::string text,
                     const ReadFileFn& read_file, Diagnostics* diagnostics);

}  // namespace encore::opt::program

#endif  // ENCORE_OPT_EGRAPH_PROGRAM_CHECKER_H_
