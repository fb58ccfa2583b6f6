// Attention: the softmax of rows that come a step of keys at a time, each lane
// of a group of kLanes neighbours with kEach scores of each of its kRows rows.
// Source: M. Milakov, N. Gimelshein, Online normalizer calculation for softmax,
// 2018.

// Of the rows so far: the largest score, the sum of e^(score - largest) of those
// that this lane has had, and by what to scale what was added before.
template <int kRows> struct RowsOf {
  f32 largest[kRows], sum[kRows], scale[kRows];
  __device__ __forceinline__ RowsOf() {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      largest[r] = __int_as_float(0xff800000);
      sum[r] = 0;
    }
  }
};

// Score i of row r as a thread has them, and as mma leaves them in tiles of 8.
template <int kRows, int kEach> struct LaneScores {
  f32 at[kRows][kEach];
  __device__ __forceinline__ f32& At(int r, int i) { return at[r][i]; }
};
template <int kTiles> struct MatrixScores {
  f32 at[kTiles][4];
  __device__ __forceinline__ f32& At(int r, int i) { return at[i / 2][r * 2 + i % 2]; }
};

// What powers are taken of the distance to: rows of -infinity alone have none.
FN f32 BaseOf(f32 largest) { return largest == __int_as_float(0xff800000) ? 0.0f : largest; }

// Scores become factor * e^(score - largest).
template <int kEach, int kLanes, int kRows, class Scores>
FN void Weigh(Scores& scores, RowsOf<kRows>& rows, f32 factor) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    f32 largest = rows.largest[r];
#pragma unroll
    for (int i = 0; i < kEach; ++i) largest = op_max(largest, scores.At(r, i));
#pragma unroll
    for (int by = kLanes / 2; by > 0; by /= 2) {
      largest = op_max(largest, __shfl_xor_sync(0xffffffffu, largest, by));
    }
    const f32 base = BaseOf(largest);
    f32 sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const f32 weight = op_exp(scores.At(r, i) - base);
      sum += weight;
      scores.At(r, i) = weight * factor;
    }
    rows.scale[r] = op_exp(rows.largest[r] - base);
    rows.sum[r] = rows.sum[r] * rows.scale[r] + sum;
    rows.largest[r] = largest;
  }
}

// The sums of all lanes of a group, of weights as they were added up.
template <int kLanes, int kRows> FN void AddLanes(RowsOf<kRows>& rows, f32 factor) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int by = kLanes / 2; by > 0; by /= 2) {
      rows.sum[r] += __shfl_xor_sync(0xffffffffu, rows.sum[r], by);
    }
    rows.sum[r] *= factor;
  }
}

// What is left of x after the nearest number of fewer bits, which is returned.
#define ENCORE_TAKE(name)                                                     \
  FN u32 Take_##name(f32& x) {                                                \
    const u32 bits = encode_##name(x);                                        \
    x -= decode_##name(bits);                                                 \
    return bits;                                                              \
  }                                                                           \
  FN u32 TakePair_##name(f32& x, f32& y) {                                    \
    const u32 low = Take_##name(x);                                           \
    return low | Take_##name(y) << 16;                                        \
  }
ENCORE_TAKE(f16)
ENCORE_TAKE(bf16)
