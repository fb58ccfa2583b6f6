// LinkImage: object files in, an image of generated code out (../image.h).
//
// An image has no dynamic linker behind it, so what is left to do is little:
// the sections that an exported function reaches are laid one after the other,
// constants once where several objects have the same, and references among them
// are filled in. All of it happens in memory; no file and no process is
// involved.
//
// Objects are relocatable ELF files for x86-64 of position-independent code. An
// exported function is a global one of default visibility. What would need a
// dynamic linker is refused: names that no object defines, absolute addresses,
// writable and thread-local data.
//
// An object that does not depend on the image that it becomes part of calls its
// one function as it likes; the image's names are then given beside the
// objects.
#ifndef ENCORE_BACKENDS_CPU_ELF_IMAGE_LINKER_H_
#define ENCORE_BACKENDS_CPU_ELF_IMAGE_LINKER_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

// Deterministic, thread-safe. Internal says what cannot be linked, and why;
// bytes that are no objects are no worse. Cost: linear in the objects, and a
// hash lookup per constant.
StatusOr<std::vector<std::byte>> LinkImage(
    std::span<const std::string> objects);

// The same of objects that export one function each, which the image exports as
// names[i]. REQUIRES as many names as objects.
StatusOr<std::vector<std::byte>> LinkImage(std::span<const std::string> objects,
                                           std::span<const std::string> names);

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_ELF_IMAGE_LINKER_H_
