// Tensor cores, and copies to shared memory that go on by themselves.
// Source: PTX ISA 9.0, mma.m16n8k16 and m16n8k8, ldmatrix, cp.async.
FN u32 SharedAddress(const void* at) { return (u32)__cvta_generic_to_shared(at); }

// 16 bytes, or zeros where there are none. Both addresses are aligned to that.
FN void CopyAsync(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(SharedAddress(to)), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
               : "memory");
}
FN void CommitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Of the groups that were committed, all but the last kLeft.
template <int kLeft> FN void AwaitCopies() { asm volatile("cp.async.wait_group %0;" :: "n"(kLeft) : "memory"); }

// Four matrices of 8 x 8 elements of 16 bits, of which lane i names row i % 8 of
// matrix i / 8.
FN void LoadMatrices(u32 (&to)[4], const void* row, bool transposed) {
  if (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(SharedAddress(row)) : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(SharedAddress(row)) : "memory");
  }
}

#define ENCORE_MULTIPLY(Name, type, depth)                                    \
  FN void Name(f32 (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {              \
    asm volatile("mma.sync.aligned.m16n8" depth ".row.col.f32." type "." type ".f32 " \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"     \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                      \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));      \
  }
ENCORE_MULTIPLY(Multiply_f16, "f16", "k16")
ENCORE_MULTIPLY(Multiply_bf16, "bf16", "k16")
ENCORE_MULTIPLY(Multiply_tf32, "tf32", "k8")

FN u32 encode_tf32(f32 x) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
// Elements that were copied as they are: tensor cores would cut them off.
FN void RoundToTf32(u32 (&x)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = encode_tf32(__uint_as_float(x[i]));
}

// Elements T of a factor in shared memory: kRows rows of 64 bytes along k, or,
// transposed, as many rows as these are elements of kRows. Groups of 16 bytes lie
// so that neither the eight rows of a matrix nor eight neighbours of a copy meet
// in a bank: in another order from row to row, or, where there is padding behind
// what is transposed, in rows that begin elsewhere. Matrices of elements of 32
// bits are read as if they had 16; transposed, which ldmatrix does for 16 bits
// alone, one by one, each bank by one lane.
template <class T, int kRows, bool kTransposed, int kPadding = 8> struct Tile {
  static const int kDepth = 64 / sizeof(T), kGroup = 16 / sizeof(T), kGroups = kRows / kGroup;
  static_assert(!kTransposed || kPadding > 0 || (kGroups & (kGroups - 1)) == 0, "groups trade places in pairs");
  T at[kTransposed ? kDepth : kRows][kTransposed ? kRows + kPadding : kDepth];

  // Whose place a group has in row k of what is transposed.
  static __device__ __forceinline__ int Turned(int group, int k) {
    const int each = sizeof(T) == 2 ? 1 : 2, most = 8 / each;
    const int turn = kGroups >= 8 ? k % most : k / (8 / kGroups) % (kGroups / each);
    return kPadding > 0 ? group : group ^ turn * each;
  }
  __device__ __forceinline__ T* Place(int row, int k) {
    return kTransposed ? &at[k][Turned(row / kGroup, k) * kGroup + row % kGroup]
                       : &at[row][(k / kGroup ^ row / 2 % 4) * kGroup + k % kGroup];
  }
  // The 16 rows of two groups from (row, k) on, as mma takes the first factor.
  __device__ __forceinline__ void LoadFirst(u32 (&to)[4], int row, int k, int lane) {
    if constexpr (kTransposed && sizeof(T) == 4) {
      const int r = row + lane / 4, d = k + lane % 4;
      to[0] = *Place(r, d), to[1] = *Place(r + 8, d), to[2] = *Place(r, d + 4), to[3] = *Place(r + 8, d + 4);
      return;
    }
    const int r = lane / 8 % 2 * 8, d = lane / 16;
    LoadMatrices(to, kTransposed ? Place(row + r, k + lane % 8 + d * 8) : Place(row + r + lane % 8, k + d * kGroup),
                 kTransposed);
  }
  // The same of the second factor: two of its pairs.
  __device__ __forceinline__ void LoadSecond(u32 (&to)[4], int row, int k, int lane) {
    if constexpr (kTransposed && sizeof(T) == 4) {
      const int r = row + lane / 4, d = k + lane % 4;
      to[0] = *Place(r, d), to[1] = *Place(r, d + 4), to[2] = *Place(r + 8, d), to[3] = *Place(r + 8, d + 4);
      return;
    }
    const int d = lane / 8 % 2, r = lane / 16 * 8;
    LoadMatrices(to, kTransposed ? Place(row + r, k + lane % 8 + d * 8) : Place(row + r + lane % 8, k + d * kGroup),
                 kTransposed);
  }
};
