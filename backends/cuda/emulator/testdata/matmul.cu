// c = a b: f16 with f32 accumulators, tiles of 64 x 64 x 32, four warps, each
// 32 x 32; tensor cores through mma.sync, fragments by ldmatrix, two tiles in
// flight by cp.async. m, n multiples of 64, k of 32.
#include <cuda_fp16.h>

namespace {

constexpr int kTile = 64, kDepth = 32, kPitch = kDepth + 8, kPitchB = kTile + 8;

__device__ unsigned SharedAddress(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void Copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   SharedAddress(to)),
               "l"(from));
}

__device__ void LoadTiles(const __half* a, const __half* b, int n, int k,
                          __half* sa, __half* sb) {
  for (int i = threadIdx.x; i < kTile * kDepth / 8; i += 128) {
    const int r = i / (kDepth / 8), c = i % (kDepth / 8) * 8;
    Copy16(sa + r * kPitch + c, a + r * k + c);
  }
  for (int i = threadIdx.x; i < kTile * kDepth / 8; i += 128) {
    const int r = i / (kTile / 8), c = i % (kTile / 8) * 8;
    Copy16(sb + r * kPitchB + c, b + r * n + c);
  }
  asm volatile("cp.async.commit_group;");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
    matmul(const __half* a, const __half* b, float* c, int n, int k) {
  __shared__ __align__(16) __half sa[2][kTile * kPitch];
  __shared__ __align__(16) __half sb[2][kDepth * kPitchB];
  a += blockIdx.y * kTile * k;
  b += blockIdx.x * kTile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row0 = warp / 2 * 32, col0 = warp % 2 * 32;
  float sums[2][4][4] = {};
  LoadTiles(a, b, n, k, sa[0], sb[0]);
  for (int step = 0; step * kDepth < k; ++step) {
    if ((step + 1) * kDepth < k) {
      LoadTiles(a + (step + 1) * kDepth, b + (step + 1) * kDepth * n, n, k,
                sa[(step + 1) % 2], sb[(step + 1) % 2]);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    for (int kk = 0; kk < kDepth; kk += 16) {
      unsigned fa[2][4], fb[4][2];
      for (int i = 0; i < 2; ++i) {
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3])
            : "r"(SharedAddress(&sa[step % 2][(row0 + i * 16 + lane % 16) *
                                                  kPitch +
                                              kk + lane / 16 * 8])));
      }
      for (int j = 0; j < 4; ++j) {
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
            : "=r"(fb[j][0]), "=r"(fb[j][1])
            : "r"(SharedAddress(&sb[step % 2][(kk + lane % 16) * kPitchB +
                                              col0 + j * 8])));
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
              "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
              : "+f"(sums[i][j][0]), "+f"(sums[i][j][1]), "+f"(sums[i][j][2]),
                "+f"(sums[i][j][3])
              : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]),
                "r"(fb[j][0]), "r"(fb[j][1]));
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int r = blockIdx.y * kTile + row0 + i * 16 + lane / 4;
      const int col = blockIdx.x * kTile + col0 + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(c + r * n + col) =
          make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(c + (r + 8) * n + col) =
          make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
}
