// Tensors in NumPy's files, .npy and .npz.
//
// What NumPy has no type for is written as what it has: bf16 and the 8-bit
// floats as unsigned integers of their bits, 4-bit integers as 8-bit ones.
// FromNpyType gives them back.
//
// Sources:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#ifndef ENCORE_TOOLS_IO_NPY_H_
#define ENCORE_TOOLS_IO_NPY_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/support/status.h"
#include "encore/ir/types/literal.h"

namespace encore::tools {

// The tensor in a .npy file. Errors name the path and what is wrong with it.
StatusOr<Literal> ReadNpy(const std::string& path);

// The tensors of an .npz file by name.
StatusOr<std::map<std::string, Literal>> ReadTensors(const std::string& path);

// Writes an .npz file, whole or not at all. Unimplemented for strings,
// sequences and optionals, and where two names are the same or one has a NUL or
// more than 65,531 bytes: what is written can be read.
Status WriteTensors(const std::string& path,
                    std::span<const std::pair<std::string, Literal>> tensors);

// A tensor of `dtype` from a file: what was written in place of it is turned
// back (4-bit integers wrap); any other tensor stays as it is.
Literal FromNpyType(const Literal& literal, DType dtype);

// The bytes of a .npy file, and back. REQUIRES no string tensor for encoding.
std::string EncodeNpy(const Literal& literal);
StatusOr<Literal> DecodeNpy(std::string_view bytes);

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_IO_NPY_H_
