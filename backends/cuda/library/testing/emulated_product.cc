#include "encore/backends/cuda/library/testing/emulated_product.h"

#include <algorithm>
#include <array>

namespace encore::backends::cuda {
namespace {

constexpr int64_t kThreads = 64;

const char* NameOf(uint64_t type) {
  switch (static_cast<LtType>(type)) {
    case LtType::kF32:
      return "f32";
    case LtType::kF64:
      return "f64";
    case LtType::kF16:
      return "f16";
    case LtType::kBF16:
      return "bf16";
  }
  return nullptr;
}

bool IsSound(const EmulatedLayout& layout) {
  return layout.mark == EmulatedLayout::kMark && layout.rows > 0 &&
         layout.columns > 0 && layout.pitch >= 0 &&
         static_cast<uint64_t>(layout.pitch) >= layout.rows &&
         layout.batch >= 1 && NameOf(layout.type) != nullptr;
}

bool AreSameShape(const EmulatedLayout& c, const EmulatedLayout& d) {
  return c.type == d.type && c.rows == d.rows && c.columns == d.columns &&
         c.batch == d.batch;
}

LtStatus CheckTypes(const EmulatedDesc& desc, const EmulatedLayout& a,
                    const EmulatedLayout& d, bool wide) {
  const auto compute = static_cast<LtCompute>(desc.compute);
  const auto in = static_cast<LtType>(a.type);
  const auto out = static_cast<LtType>(d.type);
  if (wide) {
    // Without an epilogue, as the library's table of types has it.
    return in == LtType::kF64 && out == LtType::kF64 &&
                   desc.scale == static_cast<uint64_t>(LtType::kF64) &&
                   desc.epilogue == kLtEpilogueDefault
               ? LtStatus::kSuccess
               : LtStatus::kNotSupported;
  }
  const bool halves = in == LtType::kF16 || in == LtType::kBF16;
  const bool known = compute == LtCompute::kF32 ||
                     (!halves && (compute == LtCompute::kFastTF32 ||
                                  compute == LtCompute::kFastF16 ||
                                  compute == LtCompute::kFastBF16));
  const bool fits = halves ? out == in || out == LtType::kF32
                           : in == LtType::kF32 && out == LtType::kF32;
  return known && fits && desc.scale == static_cast<uint64_t>(LtType::kF32)
             ? LtStatus::kSuccess
             : LtStatus::kNotSupported;
}

}  // namespace

LtStatus EmulatedProduct::Of(const EmulatedDesc& desc, const EmulatedLayout& a,
                             const EmulatedLayout& b, const EmulatedLayout& c,
                             const EmulatedLayout& d,
                             EmulatedProduct* product) {
  if (desc.mark != EmulatedDesc::kMark || !IsSound(a) || !IsSound(b) ||
      !IsSound(c) || !IsSound(d) || !AreSameShape(c, d) || a.type != b.type ||
      a.batch != d.batch || b.batch != d.batch) {
    return LtStatus::kInvalidValue;
  }
  EmulatedProduct& p = *product;
  const bool ta = desc.trans_a != 0, tb = desc.trans_b != 0;
  p.rows = static_cast<int64_t>(d.rows);
  p.columns = static_cast<int64_t>(d.columns);
  p.depth = static_cast<int64_t>(ta ? a.rows : a.columns);
  p.batch = d.batch;
  if ((ta ? a.columns : a.rows) != d.rows ||
      (tb ? b.rows : b.columns) != d.columns ||
      (tb ? b.columns : b.rows) != static_cast<uint64_t>(p.depth)) {
    return LtStatus::kInvalidValue;
  }
  p.a_row = ta ? a.pitch : 1;
  p.a_depth = ta ? 1 : a.pitch;
  p.a_batch = a.batch_stride;
  p.b_depth = tb ? b.pitch : 1;
  p.b_column = tb ? 1 : b.pitch;
  p.b_batch = b.batch_stride;
  p.c_column = c.pitch;
  p.c_batch = c.batch_stride;
  p.d_column = d.pitch;
  p.d_batch = d.batch_stride;
  p.relu = (desc.epilogue & kLtEpilogueRelu) != 0;
  p.has_bias = (desc.epilogue & kLtEpilogueBias) != 0;
  p.bias = desc.bias;
  p.wide = static_cast<LtCompute>(desc.compute) == LtCompute::kF64;
  p.kernel = std::string("product_") + NameOf(a.type) + "_" + NameOf(d.type);
  return CheckTypes(desc, a, d, p.wide);
}

uint64_t EmulatedProduct::WorkspaceBytes(int64_t pieces) const {
  if (pieces == 1) return 0;
  return static_cast<uint64_t>(rows * columns * batch * pieces) * sizeof(float);
}

Result LaunchProduct(const DriverTable& api, CUfunction function,
                     const EmulatedProduct& product,
                     const EmulatedOperands& operands, int64_t pieces,
                     CUstream stream) {
  const EmulatedProduct& p = product;
  const void* const bias = p.has_bias ? p.bias : nullptr;
  std::array<const void*, 6> pointers = {
      operands.a, operands.b, operands.c, operands.d, bias, operands.workspace};
  std::array<int64_t, 18> numbers = {
      p.rows,     p.columns, p.depth,    p.batch,   p.a_row,    p.a_depth,
      p.a_batch,  p.b_depth, p.b_column, p.b_batch, p.c_column, p.c_batch,
      p.d_column, p.d_batch, pieces,     0,         p.relu,     operands.beta};
  constexpr size_t kMode = 15;
  std::array<void*, pointers.size() + numbers.size()> arguments;
  for (size_t i = 0; i < pointers.size(); ++i) arguments[i] = &pointers[i];
  for (size_t i = 0; i < numbers.size(); ++i) {
    arguments[pointers.size() + i] = &numbers[i];
  }
  const int64_t elements = p.rows * p.columns * p.batch;
  const auto blocks =
      static_cast<unsigned>((elements + kThreads - 1) / kThreads);
  const auto launch = [&](int64_t mode, int64_t blocks_y) {
    numbers[kMode] = mode;
    return api.cuLaunchKernel(function, blocks, static_cast<unsigned>(blocks_y),
                              1, kThreads, 1, 1, 0, stream, arguments.data(),
                              nullptr);
  };
  if (pieces == 1) return launch(0, 1);
  const Result result = launch(1, pieces);
  return result == Result::kSuccess ? launch(2, 1) : result;
}

}  // namespace encore::backends::cuda
