// What leaves the verbs: text for a person, on standard output and standard
// error, and data for programs, on standard output.
//
// Names, messages and paths come from files and may hold any bytes, some of
// which a terminal obeys (ESC and other controls) or shows as other text than
// they are (marks that turn its direction). Text goes through here alone, where
// such bytes are written out. A test of tools/lint sees to it.
#ifndef ENCORE_TOOLS_TERMINAL_H_
#define ENCORE_TOOLS_TERMINAL_H_

#include <string>
#include <string_view>

#include "encore/ir/support/status.h"

namespace encore::tools {

// `text` with controls and bytes that are no UTF-8 as \xNN, and characters of
// more bytes that control a terminal, turn the direction of text or end a line
// as \uNNNN. Ends of lines and tabs stay. Cost: O(size).
std::string Printable(std::string_view text);

// The same for a part of a line: ends of lines and tabs are written out too.
// For names among the text of a report, which could otherwise add lines to it.
std::string PrintableName(std::string_view name);

// Writes Printable(text).
void Print(std::string_view text);
void PrintError(std::string_view text);

// As printf: what the format and its arguments make is printed as above.
[[gnu::format(printf, 1, 2)]] void Printf(const char* format, ...);

// A line of a log, on standard error: "encore: line".
void PrintLog(std::string_view line);

// Writes bytes to standard output as they are: for what programs read.
// ResourceExhausted where it does not take them all.
Status WriteData(std::string_view bytes);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_TERMINAL_H_
