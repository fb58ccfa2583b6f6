// Elements that threads update in any order: stores that combine with what is
// there, where the order of combination may be any.
template <int kBytes> struct WordOf;
template <> struct WordOf<2> { typedef unsigned short type; };
template <> struct WordOf<4> { typedef u32 type; };
template <> struct WordOf<8> { typedef u64 type; };

// *at = next(*at), at once.
template <class M, class Next> FN void AtomicUpdate(M* at, Next next) {
  typedef typename WordOf<sizeof(M)>::type Word;
  Word held = *(volatile Word*)at;
  for (;;) {
    M element;
    memcpy(&element, &held, sizeof(M));
    element = next(element);
    Word wanted;
    memcpy(&wanted, &element, sizeof(M));
    const Word was = atomicCAS((Word*)at, held, wanted);
    if (was == held) return;
    held = was;
  }
}

// What memory does by itself.
FN void AtomicAdd(i32* at, i32 x) { atomicAdd(at, x); }
FN void AtomicAdd(u32* at, u32 x) { atomicAdd(at, x); }
FN void AtomicAdd(i64* at, i64 x) { atomicAdd((u64*)at, (u64)x); }
FN void AtomicAdd(u64* at, u64 x) { atomicAdd(at, x); }
FN void AtomicAdd(f32* at, f32 x) { atomicAdd(at, x); }
FN void AtomicAdd(f64* at, f64 x) { atomicAdd(at, x); }
FN void AtomicMax(i32* at, i32 x) { atomicMax(at, x); }
FN void AtomicMax(u32* at, u32 x) { atomicMax(at, x); }
FN void AtomicMax(i64* at, i64 x) { atomicMax(at, x); }
FN void AtomicMax(u64* at, u64 x) { atomicMax(at, x); }
FN void AtomicMin(i32* at, i32 x) { atomicMin(at, x); }
FN void AtomicMin(u32* at, u32 x) { atomicMin(at, x); }
FN void AtomicMin(i64* at, i64 x) { atomicMin(at, x); }
FN void AtomicMin(u64* at, u64 x) { atomicMin(at, x); }
