// SmallBlocks: keeps a library's short-lived objects and buffers off the heap.
//
// oneDNN allocates about eight objects of 8 to 136 bytes per executed primitive
// and deletes them before it returns; its products for AVX2 take buffers for
// packed panels too, by posix_memalign. Recycle() leads the operator new and
// delete, posix_memalign and free of that one library to functions of ours, by
// its relocation table; nothing else in the process is touched. While a Scope
// is open on a thread, they serve small requests from blocks that were
// allocated beforehand, and buffers from those that were given back before;
// otherwise, and where none is left, they call the functions that the library
// was bound to.
//
// Blocks are what operator new gave, so whoever deletes one may do so, inside a
// scope or not. Their size is asked of malloc: a program that has replaced
// operator new keeps its own, and the library allocates from it.
//
// Cost: an atomic exchange per block. Thread-safe.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_SMALL_BLOCKS_H_
#define ENCORE_BACKENDS_CPU_VENDOR_SMALL_BLOCKS_H_

#include "encore/ir/support/status.h"

namespace encore::backends::cpu::small_blocks {

// Bytes of the largest blocks, and how many of each size are kept: enough for
// more executions at once than machines have cores for.
inline constexpr int kMostBytes = 192;
inline constexpr int kKept = 512;
// Buffers that are kept at most, whatever their sizes.
inline constexpr int kKeptBuffers = 64;

// `handle` is dlopen's, of a library that stays loaded. Does nothing where the
// library's operators are not the standard library's. FailedPrecondition where
// its tables cannot be read or written. Once per process.
Status Recycle(void* handle);

// While in scope, small blocks come from those that are kept. Scopes of one
// thread do not nest.
class Scope {
 public:
  Scope() { open_ = true; }
  ~Scope() { open_ = false; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  static bool is_open() { return open_; }

 private:
  static thread_local constinit bool open_;
};

}  // namespace encore::backends::cpu::small_blocks

#endif  // ENCORE_BACKENDS_CPU_VENDOR_SMALL_BLOCKS_H_
