// Texts as nobody writes them who means well, for tests of parsers: changed by
// tokens, lines and brackets, so that a parser understands most of the rest.
//
// A token is a word, a number, a quoted string or one other character. What
// holds a zero byte is no text: its bytes are changed.
#ifndef ENCORE_IR_SUPPORT_TESTING_TEXT_MUTATIONS_H_
#define ENCORE_IR_SUPPORT_TESTING_TEXT_MUTATIONS_H_

#include <cstddef>
#include <random>
#include <string>

namespace encore {

// Removes, repeats, moves, swaps or replaces tokens, lines or what is between
// brackets; puts what is between brackets into itself, many times over; puts
// boundary values in the place of numbers. At most `max_size` bytes are left.
// The same for equal states of `random`. Time: linear in the sizes.
std::string MutateText(std::string text, size_t max_size, std::mt19937& random);

// The head of one and the tail of the other, or one with something of the
// other; at most `max_size` bytes of it.
std::string CrossTexts(const std::string& a, const std::string& b,
                       size_t max_size, std::mt19937& random);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_TESTING_TEXT_MUTATIONS_H_
