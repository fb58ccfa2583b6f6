#include "encore/backends/cuda/kernel_params.h"

#include <algorithm>

#include "encore/backends/region/region.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim_codec.h"

namespace encore::backends::cuda {
namespace {

// "CUK1", the last byte of which is the version.
constexpr std::string_view kMagic = "CUK1";

bool IsSound(const std::array<uint32_t, 3>& block) {
  uint64_t threads = 1;
  for (size_t d = 0; d < block.size(); ++d) {
    if (block[d] < 1 || block[d] > kMostThreads[d]) return false;
    threads *= block[d];
  }
  return threads <= kMostThreadsOfBlock;
}

KernelParams::Launch ReadLaunch(ByteReader* in, uint32_t args) {
  KernelParams::Launch launch;
  launch.entry = std::string(in->String());
  for (Dim& dim : launch.grid) dim = ReadDim(in, args);
  for (uint32_t& size : launch.block) {
    size = static_cast<uint32_t>(std::min<uint64_t>(in->Varint(), UINT32_MAX));
  }
  launch.shared_bytes = ReadDim(in, args);
  if (launch.entry.empty() || !IsSound(launch.block)) in->Fail();
  return launch;
}

KernelParams::Check ReadCheck(ByteReader* in) {
  KernelParams::Check check;
  for (uint32_t* field : {&check.node, &check.component, &check.axis}) {
    const uint64_t value = in->Varint();
    if (value >= IndexCheck::kMost) in->Fail();
    *field = static_cast<uint32_t>(value);
  }
  const auto op = ParseOp(in->String());
  if (!op) in->Fail();
  check.op = op.value_or(Op::kGather);
  return check;
}

}  // namespace

std::vector<std::byte> Encode(const KernelParams& params) {
  ByteWriter out;
  out.Raw(kMagic);
  out.Varint(params.launches.size());
  for (const KernelParams::Launch& launch : params.launches) {
    out.String(launch.entry);
    for (const Dim& dim : launch.grid) WriteDim(dim, &out);
    for (const uint32_t size : launch.block) out.Varint(size);
    WriteDim(launch.shared_bytes, &out);
  }
  out.Varint(params.checks.size());
  for (const KernelParams::Check& check : params.checks) {
    out.Varint(check.node);
    out.Varint(check.component);
    out.Varint(check.axis);
    out.String(Mnemonic(check.op));
  }
  const auto bytes = std::as_bytes(std::span(out.str()));
  return {bytes.begin(), bytes.end()};
}

StatusOr<KernelParams> DecodeKernelParams(std::span<const std::byte> bytes,
                                          uint32_t args) {
  ByteReader in(bytes);
  if (in.Raw(kMagic.size()) != kMagic) {
    return DataLossError("the params of a CUDA kernel are of another version");
  }
  KernelParams params;
  const size_t launches = in.Count();
  if (launches > kMostLaunches) in.Fail();
  for (size_t i = 0; in.ok() && i < launches; ++i) {
    params.launches.push_back(ReadLaunch(&in, args));
  }
  const size_t checks = in.Count();
  for (size_t i = 0; in.ok() && i < checks; ++i) {
    params.checks.push_back(ReadCheck(&in));
  }
  if (!in.ok() || !in.done()) {
    return DataLossError("the params of a CUDA kernel are not sound");
  }
  return params;
}

std::optional<LaunchSize> SizeOf(const KernelParams::Launch& launch,
                                 std::span<const int64_t> args) {
  LaunchSize size;
  for (size_t d = 0; d < size.grid.size(); ++d) {
    const std::optional<int64_t> blocks = launch.grid[d].Evaluate(args);
    if (!blocks || *blocks < 0 || *blocks > kMostBlocks[d]) return std::nullopt;
    size.grid[d] = static_cast<uint32_t>(*blocks);
  }
  const std::optional<int64_t> shared = launch.shared_bytes.Evaluate(args);
  if (!shared || *shared < 0 || *shared > INT32_MAX) return std::nullopt;
  size.shared_bytes = static_cast<uint32_t>(*shared);
  return size;
}

Status TooLarge(const KernelParams::Launch& launch,
                std::span<const int64_t> args) {
  std::string text;
  for (const int64_t arg : args) {
    StrAppend(&text, text.empty() ? "" : ", ", arg);
  }
  return InvalidArgumentError(
      StrCat("kernel ", launch.entry, " has no grid for the sizes (", text,
             "): blocks [", launch.grid[0], ", ", launch.grid[1], ", ",
             launch.grid[2], "], shared memory ", launch.shared_bytes));
}

Status ReportFault(const FaultRecord& record, const KernelParams& params,
                   uint32_t* node) {
  if (record.found == 0) return OkStatus();
  if (record.check >= params.checks.size()) {
    return DataLossError("a CUDA kernel reported a fault of no check of its");
  }
  const KernelParams::Check& check = params.checks[record.check];
  FirstFault fault;
  fault.Add(
      {{check.axis, record.index, record.position, record.count, record.extent},
       check.node,
       check.component,
       check.op});
  return fault.Report(node);
}

}  // namespace encore::backends::cuda
