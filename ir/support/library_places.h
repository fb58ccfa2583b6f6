// Where a shared library that is loaded at run time may lie.
#ifndef ENCORE_IR_SUPPORT_LIBRARY_PLACES_H_
#define ENCORE_IR_SUPPORT_LIBRARY_PLACES_H_

#include <string>
#include <string_view>
#include <vector>

namespace encore {

// The places to look at, in order:
//   1. what the environment variable `variable` says, and only that where it is
//      set ("" or "none": nowhere);
//   2. `runfile`, "onednn/lib/libdnnl.so.3", in the runfiles of the program or
//      test;
//   3. beside the program.
std::vector<std::string> LibraryPlaces(const char* variable,
                                       std::string_view runfile);

// The first of them that exists; empty where none does.
std::string FindLibrary(const char* variable, std::string_view runfile);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_LIBRARY_PLACES_H_
