// y[c][r] = x[r][c] through a padded tile of shared memory; the tile has no
// bank conflicts.
extern "C" __global__ void transpose(const float* x, float* y, int rows,
                                     int cols) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  int r = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (r + i < rows && c < cols) {
      tile[threadIdx.y + i][threadIdx.x] = x[(r + i) * cols + c];
    }
  }
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (r + i < cols && c < rows) {
      y[(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
    }
  }
}
