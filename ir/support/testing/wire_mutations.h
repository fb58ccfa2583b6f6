// Protocol-buffer messages as nobody writes them who means well, for tests of
// what reads them: changed field by field, with lengths that are right, so that
// they reach what comes after the parser.
#ifndef ENCORE_IR_SUPPORT_TESTING_WIRE_MUTATIONS_H_
#define ENCORE_IR_SUPPORT_TESTING_WIRE_MUTATIONS_H_

#include <cstddef>
#include <random>
#include <string>

namespace encore {

// Removes, repeats, moves or renumbers a field at some depth, puts a field of
// elsewhere there, changes its value, or puts the message around it into it,
// many times over. A message whose fields are whole (no groups) keeps them so;
// of others the bytes are changed. At most `max_size` bytes are left. The same
// for equal states of `random`.
std::string MutateMessage(const std::string& message, size_t max_size,
                          std::mt19937& random);

// The first message with a field of the second, as above.
std::string CrossMessages(const std::string& a, const std::string& b,
                          size_t max_size, std::mt19937& random);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_TESTING_WIRE_MUTATIONS_H_
