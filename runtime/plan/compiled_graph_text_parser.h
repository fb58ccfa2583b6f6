// Text to compiled graph: what compiled_graph_text.h prints, and what a person
// writes by hand, for whom each thing may have a name instead of its number.
//
// Rows, one a line, in this order; [x] may be missing, {x} repeats:
//
//   text    = "compiled_graph" "1" {device} {pool} {symbol} {blob} {slot}
//             {binary} "inputs" slots "outputs" slots "parameters" slots
//             "prepare" plan-ref "run" plan-ref {plan} "end"
//   device  = "device" name word ["ordinal" n] ["pool" ref]
//   pool    = "pool" name ["device" ref]
//   symbol  = "symbol" name "in" "[" int "," int "]" "from"
//             ("dim" n "of" "input" n | "element" n "of" slot)
//             ["message" word]
//   blob    = "blob" name ("hex" string | "sha256" string "bytes" int)
//             ["executable"]
//   slot    = "slot" slot role ["arena" ["type" type] | type] ["bytes" dim]
//             ["pool" ref] ["base" slot] ["offset" dim] ["blob" ref]
//             ["blob_offset" int]
//   role    = "input" | "output" | "parameter" | "derived" | "constant"
//           | "temporary"
//   binary  = "kernel_binary" name word ":" word ["reads" n] ["writes" n]
//             ["args" n] ["artifact" ref] ["params" "hex" string]
//             ["requires" "[" word {"," word} "]"]
//   plan    = "plan" name "{" { [n] step ["origins" "[" n {"," n} "]"] } "}"
//   step    = "allocate" slot "bytes" dim ["pool" ref]
//           | "copy" slot "->" slot
//           | "launch" ref "on" ref slots "->" slots ["args" "[" dims "]"]
//             ["in_place" "[" n "->" n {"," n "->" n} "]"]
//           | "deallocate" slot ["pool" ref]
//           | "invoke" ("if" | "while" | "scan") "plans" "[" refs "]"
//             ["selector" slot] ["trips" dim]
//             ["carry" "[" slot "->" slot {…} "]"]      next -> state
//             ["stacked" "[" slot "by" slot ["reversed"] {…} "]"]
//             slots "->" slots
//   slots   = "(" [ slot { "," slot } ] ")"
//   slot    = "%" name | "none"        ref = name | "none"
//   name    = n, which is the number of the row, or letters, digits and _
//   word    = letters, digits and _, or a string
//
// Tokens, strings, dims and types are those of ir/README.md; // begins a
// comment. Rows, steps and the words from "inputs" to "end" begin a line, and
// what may be missing stands on the line of what it follows. What is missing is
// what a default- constructed CompiledGraph has, but for "bytes", which are
// then those of a dense tensor. In dims symbol 3 is s3, or has its name.
// Numbers may be out of range, which is for VerifyPlan to say; names may not.
#ifndef ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_PARSER_H_
#define ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_PARSER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status.h"
#include "encore/runtime/plan/compiled_graph.h"

namespace encore::runtime {

// A blob whose bytes have that SHA-256, or nothing.
using BlobSource = std::function<std::optional<Blob>(const Digest& digest)>;

// The graph that `text` describes. InvalidArgument, "line:column: expected …,
// found …" or what is wrong there; NotFound, likewise, for a blob that `blobs`
// does not have (without a source: any that is not in the text). Any text is
// safe: time is linear in its length but for lookups of names, which take
// their logarithm, and memory is linear. Nesting is that of dims, which is
// bounded.
StatusOr<CompiledGraph> ParseCompiledGraphText(std::string_view text,
                                               const BlobSource& blobs = {});

// What can be said of a plan without the bytes of its blobs.
struct PlanWithoutBlobs {
  // Blobs that the text gives by digest are empty here.
  CompiledGraph graph;
  std::vector<int64_t> blob_sizes;  // in bytes, per blob; for VerifyPlan
};

// As above, without looking for blobs.
StatusOr<PlanWithoutBlobs> ParsePlanWithoutBlobs(std::string_view text);

}  // namespace encore::runtime

#endif  // ENCORE_RUNTIME_PLAN_COMPILED_GRAPH_TEXT_PARSER_H_
