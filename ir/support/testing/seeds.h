// A folder of seeds of a fuzz target, for the programs that write some.
#ifndef ENCORE_IR_SUPPORT_TESTING_SEEDS_H_
#define ENCORE_IR_SUPPORT_TESTING_SEEDS_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace encore {

// What cannot be written ends the program.
class Seeds {
 public:
  // Makes the folder; what is in it is removed, but for inputs that once found
  // something (found-*).
  explicit Seeds(std::filesystem::path folder);

  // Seeds of more than 16,000 bytes are left out, which is printed.
  void Add(const std::string& name, std::string_view bytes) const;

 private:
  const std::filesystem::path folder_;
};

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_TESTING_SEEDS_H_
