// RandomData: tensors for tests of kernels.
#ifndef ENCORE_IR_TESTING_RANDOM_DATA_H_
#define ENCORE_IR_TESTING_RANDOM_DATA_H_

#include <cstdint>

#include "encore/ir/types/literal.h"
#include "encore/ir/types/shape.h"

namespace encore {

// Floats in [-1, 1), integers in [-5, 5); the same for the same type and seed
// on every machine. REQUIRES constant dims and a dtype of numbers.
Literal RandomData(const TensorType& type, uint32_t seed);

}  // namespace encore

#endif  // ENCORE_IR_TESTING_RANDOM_DATA_H_
