// Containers that somebody who knows the format made to do harm: for fuzzing
// what lies behind checksums.
//
// A mutation takes a container apart, changes sections (their kind, order,
// alignment, number, and their contents by what they are: fields of the
// compiled graph, items of lists, bytes), and writes it with right sizes and
// checksums. One in eight is then damaged as well: in its header, table or
// anywhere, mostly with the head's checksum right again.
#ifndef ENCORE_CACHE_TESTING_CONTAINER_MUTATOR_H_
#define ENCORE_CACHE_TESTING_CONTAINER_MUTATOR_H_

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "encore/cache/store/container.h"

namespace encore::cache {

// A container, taken apart.
struct ContainerParts {
  struct Part {
    SectionType type;
    std::string bytes;
    size_t alignment = 64;
  };
  std::vector<Part> sections;
};

// Nothing where the bytes are no container. Checksums of sections are not
// looked at.
std::optional<ContainerParts> TakeApart(std::string_view bytes);
std::string PutTogether(const ContainerParts& parts);

// The bytes with the checksums of the head and of all sections that lie in the
// file made right, whatever else is in them.
std::string WithRightChecksums(std::string bytes);

// A mutant of at most about `max_size` bytes; of what is no container a mutant
// of its bytes, with right checksums half of the time. The same for equal
// states of `random`.
std::string MutateContainer(std::string bytes, size_t max_size,
                            std::mt19937& random);

// A container with sections of both.
std::string CrossContainers(std::string_view a, std::string_view b,
                            size_t max_size, std::mt19937& random);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_TESTING_CONTAINER_MUTATOR_H_
