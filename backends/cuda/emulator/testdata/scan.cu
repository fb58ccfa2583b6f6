// Inclusive prefix sums over the whole grid in one launch: each block scans its
// part, then waits for the sum of the blocks before it (a chain of flags with
// release and acquire).
__device__ unsigned next_block;

extern "C" __global__ void scan(const int* x, int* y, volatile int* sums,
                                int* flags, int n) {
  __shared__ int warp_sums[32];
  __shared__ int before;
  __shared__ unsigned part;
  if (threadIdx.x == 0) part = atomicAdd(&next_block, 1u);
  __syncthreads();
  const int i = part * blockDim.x + threadIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int value = i < n ? x[i] : 0;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, value, offset);
    if (lane >= offset) value += other;
  }
  if (lane == 31) warp_sums[warp] = value;
  __syncthreads();
  for (int w = 0; w < warp; ++w) value += warp_sums[w];
  if (threadIdx.x == blockDim.x - 1) {
    int sum = 0;
    if (part > 0) {
      while (atomicAdd(&flags[part - 1], 0) == 0) {
      }
      __threadfence();
      sum = sums[part - 1];
    }
    before = sum;
    sums[part] = sum + value;
    __threadfence();
    atomicExch(&flags[part], 1);
  }
  __syncthreads();
  if (i < n) y[i] = value + before;
}
