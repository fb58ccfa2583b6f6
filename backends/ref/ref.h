// The ref backend: the region interpreter as a backend. Slow and obvious; takes
// every region, dtype and symbolic size.
#ifndef ENCORE_BACKENDS_REF_REF_H_
#define ENCORE_BACKENDS_REF_REF_H_

#include "encore/backends/backend.h"

namespace encore::backends::ref {

const Backend& RefBackend();

}  // namespace encore::backends::ref

#endif  // ENCORE_BACKENDS_REF_REF_H_
