// The identity of this compiler: SHA-256 over the sources of everything between
// graph and compiled graph, in hexadecimal. Made by compiler_id.bzl.
#ifndef ENCORE_CACHE_KEY_COMPILER_ID_H_
#define ENCORE_CACHE_KEY_COMPILER_ID_H_

#include <string_view>

namespace encore::cache {

std::string_view CompilerId();

}  // namespace encore::cache

#endif  // ENCORE_CACHE_KEY_COMPILER_ID_H_
