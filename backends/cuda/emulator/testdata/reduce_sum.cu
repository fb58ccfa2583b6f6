// The sum of n numbers: shuffles within a warp, shared memory between warps,
// one atomic a block.
extern "C" __global__ void reduce_sum(const float* x, float* sum, int n) {
  __shared__ float partial[32];
  float value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    value += x[i];
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  if (warp != 0) return;
  value = lane < blockDim.x / 32 ? partial[lane] : 0;
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  if (lane == 0) atomicAdd(sum, value);
}
