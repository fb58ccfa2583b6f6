// The text of machines.txt.
#ifndef ENCORE_BACKENDS_CPU_PROFILE_MACHINE_TEXTS_H_
#define ENCORE_BACKENDS_CPU_PROFILE_MACHINE_TEXTS_H_

#include <string_view>

namespace encore::backends::cpu {

std::string_view MachineTexts();

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_PROFILE_MACHINE_TEXTS_H_
