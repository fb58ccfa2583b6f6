// Loads and stores of vector lanes, each at an address of its own.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_LANE_MEMORY_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_LANE_MEMORY_H_

#include <cstdint>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"

namespace encore::backends::cpu {

// Where the lanes of a vector, or a scalar, lie: elements behind a base.
struct LaneAddress {
  Value element;            // i64, one lane or all
  int64_t offset = 0;       // added to it
  int64_t lane_stride = 0;  // step per lane where `element` is one lane
  int64_t repeat = 1;       // or for each time that so much is reached by
  int64_t repeat_step = 1;  // adding this for every lane
  Value phase;  // to an i64 below it for the first one; invalid: to 0, by 1s
  Value valid;  // i1, one lane or all; invalid: always
  bool whole = false;  // lanes that do not exist may be read
  // Bits of an element in memory; below 8 elements share a byte, the first in
  // its lowest bits. Their values are i8: of what is loaded the upper bits are
  // 0, of what is stored they do not count. 0: elements have whole bytes.
  int packed_bits = 0;

  bool is_vector() const { return element.lanes() > 1 || lane_stride != 0; }
};

// Whether lanes so many elements apart are loaded as that many vectors and
// picked from them, which takes less than a gather.
inline constexpr int kMostShuffledStride = 4;
bool IsShuffledStride(int64_t stride, int lanes);

// How many phases (LaneAddress) vectors may begin with, which themselves begin
// at multiples of their lanes.
int64_t PhasesOf(int64_t repeat, int64_t repeat_step, int lanes);
// Whether such lanes are shuffled, once for each phase, which takes less than a
// gather.
bool IsShuffledRepeat(int64_t repeat, int64_t repeat_step, int lanes);

// What these accesses are as code: consecutive lanes, and those a small stride
// apart, are loads of vectors, others gathers. Values are in their form in
// memory. A mask says which lanes are accessed; an invalid one, all.
class LaneMemory {
 public:
  // `b` gets the code of vectors of `lanes`.
  LaneMemory(int lanes, IrBuilder& b) : lanes_(lanes), b_(b) {}

  // Other lanes are `fill`; zeros where that is invalid.
  Value LoadVector(Elem elem, const Value& base, const LaneAddress& address,
                   const Value& fill, const Value& mask);
  // One element, or `fill` as above where the address is not valid.
  Value LoadScalar(Elem elem, const Value& base, const LaneAddress& address,
                   const Value& fill);
  void StoreVector(const Value& value, const Value& base,
                   const LaneAddress& address, const Value& mask);
  // One element, whether or not the address is valid.
  void StoreScalar(const Value& value, const Value& base,
                   const LaneAddress& address);
  // Element `index` of `bits` bits behind `base`. The rest of the byte may be
  // another thread's at the same time.
  void StorePacked(const Value& value, const Value& base, const Value& index,
                   int bits);

  // What the lanes add to the element.
  Value LaneSteps(const LaneAddress& address);

 private:
  // base + the address's element, of its first lane.
  Value Pointer(const Value& base, Elem elem, const LaneAddress& address);
  // The same, or `base` where the address is valid for no lane, as far as one
  // condition for all lanes says: asking each lane takes longer than it saves.
  // A masked load without any lane takes hundreds of nanoseconds where nothing
  // is mapped at its address: the processor meets a fault, and then that no
  // lane has it.
  Value ReadablePointer(const Value& base, Elem elem,
                        const LaneAddress& address);
  Value Indices(const LaneAddress& address);
  Value Pointers(const Value& base, Elem elem, const LaneAddress& address);
  // REQUIRES IsShuffledStride.
  Value LoadStrided(IrType type, const Value& pointer, int stride,
                    const Value& mask, const Value& otherwise);
  // lanes / repeat neighbours, each in `repeat` lanes.
  Value LoadRepeated(IrType type, const Value& pointer, int repeat,
                     const Value& mask);
  // The same by the address's phase. REQUIRES IsShuffledRepeat.
  Value LoadUneven(IrType type, const Value& pointer,
                   const LaneAddress& address, const Value& mask);

  Value LoadPackedVector(const Value& base, const LaneAddress& address,
                         const Value& otherwise, const Value& mask);
  // All lanes, neighbours of four bits of which the first is half `first` of a
  // byte.
  Value LoadHalves(const Value& base, const Value& first);
  void StorePackedVector(const Value& value, const Value& base,
                         const LaneAddress& address, const Value& mask);
  void StoreHalves(const Value& value, const Value& base, const Value& first);
  void StoreEachPacked(const Value& value, const Value& base,
                       const LaneAddress& address, const Value& mask);

  int lanes_;
  IrBuilder& b_;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_LANE_MEMORY_H_
