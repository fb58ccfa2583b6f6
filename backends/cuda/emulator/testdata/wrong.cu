// Kernels with one mistake each. Blocks of 64 threads.

// Neighbours are read without waiting for them.
extern "C" __global__ void missing_barrier(const int* x, int* y) {
  __shared__ int shared[64];
  shared[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = shared[63 - threadIdx.x];
}

// Lanes of a warp rely on running in lockstep.
extern "C" __global__ void missing_warp_barrier(const int* x, int* y) {
  __shared__ volatile int unused;
  __shared__ int shared[64];
  shared[threadIdx.x] = x[threadIdx.x];
  unused = 0;
  y[threadIdx.x] = shared[threadIdx.x ^ 1];
}

// The tile is overwritten while others still read it.
extern "C" __global__ void missing_second_barrier(const int* x, int* y) {
  __shared__ int shared[64];
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    shared[threadIdx.x] = x[threadIdx.x + i];
    __syncthreads();
    sum += shared[63 - threadIdx.x];
  }
  y[threadIdx.x] = sum;
}

// Blocks write to one place.
extern "C" __global__ void blocks_race(const int* x, int* y) {
  if (threadIdx.x == 0) y[0] = x[blockIdx.x];
}

// One block hands a value to another by a flag without a fence.
extern "C" __global__ void missing_fence(const int* x, int* y, int* flag) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    y[0] = x[0];
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    y[1] = y[0] + 1;
  }
}

extern "C" __global__ void out_of_bounds(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x + 1];
}

extern "C" __global__ void shared_out_of_bounds(const int* x, int* y) {
  __shared__ int shared[64];
  shared[threadIdx.x + x[threadIdx.x]] = 1;
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x];
}

extern "C" __global__ void misaligned(const int* x, int* y) {
  const int4 v = *reinterpret_cast<const int4*>(x + threadIdx.x);
  y[threadIdx.x] = v.x + v.w;
}

extern "C" __global__ void uninitialized(const int* x, int* y) {
  __shared__ int shared[64];
  if (threadIdx.x < 32) shared[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x];
}

__device__ void CopyAsync(int* to, const int* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from));
}

extern "C" __global__ void early_read(const int* x, int* y) {
  __shared__ int shared[64];
  CopyAsync(shared + threadIdx.x, x + threadIdx.x);
  asm volatile("cp.async.commit_group;");
  y[threadIdx.x] = shared[threadIdx.x];
}

// Only the group before the last is waited for.
extern "C" __global__ void wait_for_wrong_group(const int* x, int* y) {
  __shared__ int shared[64];
  CopyAsync(shared + threadIdx.x, x + threadIdx.x);
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x];
}

extern "C" __global__ void bad_shuffle_mask(const int* x, int* y) {
  int value = x[threadIdx.x];
  if (threadIdx.x % 32 < 16) {
    value = __shfl_down_sync(0xffffffffu, value, 1);
    value *= 3;
  } else {
    value = x[threadIdx.x - 16];
  }
  y[threadIdx.x] = value;
}

extern "C" __global__ void not_in_mask(const int* x, int* y) {
  y[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, x[threadIdx.x], 1);
}

extern "C" __global__ void reads_absent_lane(const int* x, int* y) {
  if (threadIdx.x % 32 < 16) {
    y[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, x[threadIdx.x], 16);
  }
}

extern "C" __global__ void divergent_barrier(const int* x, int* y) {
  if (x[threadIdx.x] > 0) __syncthreads();
  y[threadIdx.x] = 1;
}

// One warp waits for another that is gone elsewhere.
extern "C" __global__ void barriers_apart(const int* x, int* y) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;");
  } else {
    asm volatile("bar.sync 2, 64;");
  }
  y[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void endless(const int* x, int* y) {
  while (*reinterpret_cast<const volatile int*>(x) == 0) {
  }
  y[0] = 1;
}

// No mistake.
extern "C" __global__ void early_exit(const int* x, int* y, int n) {
  __shared__ int shared[64];
  if (threadIdx.x >= n) return;
  shared[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = shared[n - 1 - threadIdx.x];
}
