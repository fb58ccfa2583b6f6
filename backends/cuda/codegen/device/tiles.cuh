// Tiles of factors in shared memory, without tensor cores.

// kCount elements from an address that is aligned to all of them, or to 16 bytes
// where they are more; and to one.
template <int kCount, class T> struct Aligned {
  static const int kBytes = kCount * sizeof(T), kStep = kBytes < 16 ? kBytes : 16;
  typedef typename Bits<kStep>::type Vector;
};
template <int kCount, class T> FN void LoadAligned(T* to, const T* from) {
  typedef Aligned<kCount, T> As;
#pragma unroll
  for (int i = 0; i < As::kBytes / As::kStep; ++i) {
    const typename As::Vector vector = ((const typename As::Vector*)from)[i];
    memcpy((u8*)to + i * As::kStep, &vector, As::kStep);
  }
}
template <int kCount, class T> FN void StoreAligned(T* to, const T* from) {
  typedef Aligned<kCount, T> As;
#pragma unroll
  for (int i = 0; i < As::kBytes / As::kStep; ++i) {
    typename As::Vector vector;
    memcpy(&vector, (const u8*)from + i * As::kStep, As::kStep);
    ((typename As::Vector*)to)[i] = vector;
  }
}
// threadIdx.x and blockIdx.x, read anew.
FN u32 ThreadAgain() {
  u32 thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
FN u32 BlockAgain() {
  u32 block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
}
