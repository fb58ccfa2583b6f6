// Neighbours in memory as one access, where they are aligned to all of them.
template <int kBytes> struct Bits;
template <> struct Bits<1> { typedef u8 type; };
template <> struct Bits<2> { typedef u16 type; };
template <> struct Bits<4> { typedef u32 type; };
template <> struct Bits<8> { typedef uint2 type; };
template <> struct Bits<16> { typedef uint4 type; };

template <int kWidth, class T> FN void LoadVector(T (&to)[kWidth], const T* from) {
  typedef typename Bits<kWidth * sizeof(T)>::type Vector;
  if ((u64)from % sizeof(Vector) == 0) {
    const Vector vector = *(const Vector*)from;
    memcpy(to, &vector, sizeof(Vector));
  } else {
#pragma unroll
    for (int w = 0; w < kWidth; ++w) to[w] = from[w];
  }
}
template <int kWidth, class T> FN void StoreVector(T* to, const T (&from)[kWidth]) {
  typedef typename Bits<kWidth * sizeof(T)>::type Vector;
  if ((u64)to % sizeof(Vector) == 0) {
    Vector vector;
    memcpy(&vector, from, sizeof(Vector));
    *(Vector*)to = vector;
  } else {
#pragma unroll
    for (int w = 0; w < kWidth; ++w) to[w] = from[w];
  }
}
