// Ways to put new bytes into a file that others read.
#ifndef ENCORE_TESTS_TORTURE_WRITERS_H_
#define ENCORE_TESTS_TORTURE_WRITERS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace encore::torture {

enum class Way : uint8_t {
  kRename,        // another file under the name
  kRenameTimes,   // the same, with the time that the former one had
  kLink,          // a link under the name, which leads elsewhere each time
  kInPlace,       // the file itself, its size as it was; synced
  kInPlaceTimes,  // the same, then its time put back
};

inline constexpr Way kWays[] = {Way::kRename, Way::kRenameTimes, Way::kLink,
                                Way::kInPlace, Way::kInPlaceTimes};
// "Rename".
std::string_view Name(Way way);
// Whether a reader may see a part of what is written.
bool IsInPlace(Way way);

// Makes `bytes` the contents of `path`, which is there (but for kRename and
// kLink). Ends the program where that fails.
void Replace(const std::string& path, std::string_view bytes, Way way);

}  // namespace encore::torture

#endif  // ENCORE_TESTS_TORTURE_WRITERS_H_
