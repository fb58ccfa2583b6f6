// Combiners: what reductions and scans keep of what they have seen. Add takes a
// value and its row-major number, Merge what other lanes have kept. All are
// plain data, so that lanes can hand them on.
#define ENCORE_COMBINER(Name, op)                                             \
  template <class T> struct Name {                                            \
    T v;                                                                      \
    __device__ __forceinline__ void Add(T x, i64) { v = op(v, x); }           \
    __device__ __forceinline__ void Merge(const Name& o) { v = op(v, o.v); }  \
  };
ENCORE_COMBINER(SumOf, op_add)
ENCORE_COMBINER(ProductOf, op_mul)
ENCORE_COMBINER(MaxOf, op_max)
ENCORE_COMBINER(MinOf, op_min)
ENCORE_COMBINER(AndOf, op_and)
ENCORE_COMBINER(OrOf, op_or)

// The number of the extreme value: of equal ones the first, or the last. A NaN is
// beyond every number. `order` is -1 while there is none.
template <class T, bool kMax, bool kLast> struct ArgOf {
  T v;
  i64 order;
  __device__ __forceinline__ void Add(T x, i64 number) {
    if (number < 0) return;
    bool better;
    if (order < 0) {
      better = true;
    } else if (x == v || (x != x && v != v)) {
      better = kLast ? number > order : number < order;
    } else if (x != x || v != v) {
      better = x != x;
    } else {
      better = kMax ? x > v : x < v;
    }
    if (!better) return;
    v = x;
    order = number;
  }
  __device__ __forceinline__ void Merge(const ArgOf& o) { Add(o.v, o.order); }
};

// Mean, and sum of squared differences from it.
// Source: T. Chan, G. Golub, R. LeVeque, Updating formulae and a pairwise
// algorithm for computing sample variances, 1979.
template <class T> struct WelfordOf {
  T mean, squares, count;
  __device__ __forceinline__ void Add(T x, i64) {
    count += 1;
    const T delta = x - mean;
    mean += delta / count;
    squares += delta * (x - mean);
  }
  __device__ __forceinline__ void Merge(const WelfordOf& o) {
    if (o.count == 0) return;
    const T total = count + o.count;
    const T delta = o.mean - mean;
    mean += delta * (o.count / total);
    squares += o.squares + delta * delta * (count * (o.count / total));
    count = total;
  }
};

// The maximum m, and the sum of e^(x - m). While m is an infinity, `sum` counts
// the values that are equal to it.
// Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax,
// 2018.
template <class T> struct OnlineSoftmaxOf {
  T largest, sum;
  u32 any;
  static __device__ __forceinline__ T Power(T x, T m) { return x == m ? (T)1 : op_exp(x - m); }
  __device__ __forceinline__ void Add(T x, i64) { Merge(OnlineSoftmaxOf{x, x == x ? (T)1 : x, 1}); }
  __device__ __forceinline__ void Merge(const OnlineSoftmaxOf& o) {
    if (!o.any) return;
    const T m = any ? op_max(largest, o.largest) : o.largest;
    sum = (any ? sum * Power(largest, m) : (T)0) + o.sum * Power(o.largest, m);
    largest = m;
    any = 1;
  }
  // NaN where terms are e^(m - m) of an infinity.
  __device__ __forceinline__ T Sum() const { return any ? sum + (largest - largest) : sum; }
};

// What another lane of the warp has.
template <class A> struct Words { u32 word[(sizeof(A) + 3) / 4]; };
#define ENCORE_SHUFFLE(Name, shuffle)                                         \
  template <class A> FN A Name(const A& a, int by) {                          \
    Words<A> words = {};                                                      \
    memcpy(&words, &a, sizeof(A));                                            \
    for (u32& word : words.word) word = shuffle(0xffffffffu, word, by);       \
    A result;                                                                 \
    memcpy(&result, &words, sizeof(A));                                       \
    return result;                                                            \
  }
ENCORE_SHUFFLE(FromLane, __shfl_sync)
ENCORE_SHUFFLE(FromBelow, __shfl_up_sync)
ENCORE_SHUFFLE(FromAbove, __shfl_down_sync)

// The first lane gets what those of the first `lanes` make, in a fixed order.
template <class A> FN A FirstReduces(A a, int lane, int lanes = 32) {
  // Then what others have from behind the last lane never gets to the first.
  const bool whole = (lanes & (lanes - 1)) == 0;
#pragma unroll
  for (int by = 16; by > 0; by /= 2) {
    if (by >= lanes) continue;
    const A other = FromAbove(a, by);
    if (whole || lane + by < lanes) a.Merge(other);
  }
  return a;
}
// All lanes get it.
template <class A> FN A WarpReduce(A a, int lane, int lanes = 32) {
  return FromLane(FirstReduces(a, lane, lanes), 0);
}
// The same over a block of warps of 32, which meet once: `shared` has two halves
// of 32 places, for calls in `turn`, so that some may be at the next call while
// others still read.
template <class A> FN A BlockReduce(A a, A* shared, int* turn, int thread, int threads) {
  const int lane = thread % 32, warps = threads / 32;
  shared += *turn;
  *turn = 32 - *turn;
  a = FirstReduces(a, lane);
  if (lane == 0) shared[thread / 32] = a;
  __syncthreads();
  return WarpReduce(shared[lane < warps ? lane : 0], lane, warps);
}

// Each lane gets what it and those below make.
template <class A> FN A WarpScan(A a, int lane) {
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    A other = FromBelow(a, by);
    if (lane < by) continue;
    other.Merge(a);
    a = other;
  }
  return a;
}
template <class A> FN A BlockScan(A a, A* shared, int thread, int threads) {
  a = WarpScan(a, thread % 32);
  if (thread % 32 == 31) shared[thread / 32] = a;
  __syncthreads();
  if (thread >= 32) {
    A before = shared[0];
    for (int warp = 1; warp < thread / 32; ++warp) before.Merge(shared[warp]);
    before.Merge(a);
    a = before;
  }
  __syncthreads();
  return a;
}
