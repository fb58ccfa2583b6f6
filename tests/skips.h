// The committed list of tests that are skipped, and why: tests/skips.txt.
#ifndef ENCORE_TESTS_SKIPS_H_
#define ENCORE_TESTS_SKIPS_H_

#include <map>
#include <string>

namespace encore::tests {

// Reasons by test name, for the tests whose names begin with `suite`. Lines of
// the file are "SUITE/NAME  REASON"; # begins a comment. Aborts where the file
// is not there.
std::map<std::string, std::string> ReadSkips(const std::string& suite);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_SKIPS_H_
