#include "encore/backends/cpu/vendor/program.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/status_macros.h"

namespace encore::backends::cpu {
namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kMostDims = 6;
constexpr int64_t kMostExtent = int64_t{1} << 31;
// Keeps every sum and product of a few of these below 2^63.
constexpr int64_t kMostElements = int64_t{1} << 48;
constexpr int64_t kMostPieces = 1 << 12;

void Put(std::span<const int64_t> values, ByteWriter* out) {
  out->Varint(values.size());
  for (const int64_t value : values) out->Varint(value);
}

void Put(const VendorTensor& tensor, ByteWriter* out) {
  out->Varint(tensor.buffer);
  out->Varint(tensor.offset);
  Put(tensor.dims, out);
  Put(tensor.strides, out);
}

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : in_(bytes) {}

  int64_t Size(int64_t most = kMostElements) {
    const uint64_t value = in_.Varint();
    if (value > static_cast<uint64_t>(most)) in_.Fail();
    return in_.ok() ? static_cast<int64_t>(value) : 0;
  }
  std::vector<int64_t> List(size_t most_values, int64_t most) {
    const size_t count = in_.Count();
    std::vector<int64_t> values;
    if (count > most_values) in_.Fail();
    for (size_t i = 0; i < count && in_.ok(); ++i) values.push_back(Size(most));
    return values;
  }
  VendorTensor Tensor() {
    VendorTensor tensor;
    tensor.buffer = static_cast<uint32_t>(Size(kMostExtent));
    tensor.offset = Size();
    tensor.dims = List(kMostDims, kMostExtent);
    tensor.strides = List(kMostDims, kMostElements);
    return tensor;
  }
  bool Flag() { return Size(1) == 1; }
  std::span<const std::byte> Raw(size_t size) {
    const std::string_view raw = in_.Raw(size);
    return {reinterpret_cast<const std::byte*>(raw.data()), raw.size()};
  }
  bool ok() const { return in_.ok(); }
  bool complete() const { return in_.ok() && in_.done(); }
  uint64_t Fixed() { return in_.Fixed64(); }

 private:
  ByteReader in_;
};

// Dims of at least 1, one stride each, of bounded size.
bool IsSound(const VendorTensor& tensor) {
  if (tensor.dims.empty() || tensor.dims.size() != tensor.strides.size()) {
    return false;
  }
  int64_t span = tensor.offset, elements = 1;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    const int64_t extent = tensor.dims[d], stride = tensor.strides[d];
    if (extent < 1 || stride < 0 || extent > kMostElements / elements ||
        (extent > 1 && stride > kMostElements / extent)) {
      return false;
    }
    elements *= extent;
    span += (extent - 1) * stride;
    if (span > kMostElements) return false;
  }
  return true;
}

bool IsMatmul(const VendorProgram& p) {
  const size_t rank = p.result.dims.size();
  if (rank < 2 || p.source.dims.size() != rank ||
      p.weights.dims.size() != rank) {
    return false;
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    for (const int64_t extent : {p.source.dims[d], p.weights.dims[d]}) {
      if (extent != 1 && extent != p.result.dims[d]) return false;
    }
  }
  return p.source.dims[rank - 2] == p.result.dims[rank - 2] &&
         p.weights.dims[rank - 1] == p.result.dims[rank - 1] &&
         p.source.dims[rank - 1] == p.weights.dims[rank - 2];
}

bool IsConvolution(const VendorProgram& p) {
  const size_t rank = p.result.dims.size();
  if (rank < 3 || rank > 5 || p.source.dims.size() != rank ||
      p.weights.dims.size() != rank || p.packed_bytes == 0 || p.groups < 1 ||
      p.source.dims[0] != p.result.dims[0] ||
      p.weights.dims[0] != p.result.dims[1] ||
      p.result.dims[1] % p.groups != 0 ||
      p.weights.dims[1] * p.groups != p.source.dims[1]) {
    return false;
  }
  for (const auto* list :
       {&p.strides, &p.dilations, &p.padding_low, &p.padding_high}) {
    if (list->size() != rank - 2) return false;
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    const int64_t window = (p.weights.dims[d + 2] - 1) * p.dilations[d] + 1;
    const int64_t covered = (p.result.dims[d + 2] - 1) * p.strides[d] + window;
    if (p.strides[d] < 1 || p.dilations[d] < 1 ||
        covered !=
            p.source.dims[d + 2] + p.padding_low[d] + p.padding_high[d]) {
      return false;
    }
  }
  if (p.split > 1) return false;
  const int64_t per_group = p.result.dims[1] / p.groups;
  return p.split == 0 || p.groups == 1 || p.piece % per_group == 0;
}

bool IsSound(const VendorProgram& p) {
  if (!IsSound(p.source) || !IsSound(p.weights) || !IsSound(p.result)) {
    return false;
  }
  if (p.split >= p.result.dims.size() || p.piece < 1 ||
      p.pieces() > kMostPieces) {
    return false;
  }
  return p.kind == VendorProgram::Kind::kMatmul ? IsMatmul(p)
                                                : IsConvolution(p);
}

}  // namespace

bool IsVendor(std::span<const std::byte> params) {
  uint32_t kind = 0;
  if (params.size() < sizeof(kind)) return false;
  std::memcpy(&kind, params.data(), sizeof(kind));
  return kind == kVendorKind;
}

std::vector<std::byte> Encode(const VendorProgram& p, bool packs) {
  ByteWriter out;
  out.Fixed64(kVendorKind | uint64_t{kVersion} << 32);
  out.Varint(packs ? 1 : 0);
  out.Varint(static_cast<uint64_t>(p.kind));
  Put(p.source, &out);
  Put(p.weights, &out);
  Put(p.result, &out);
  for (const auto* list :
       {&p.strides, &p.dilations, &p.padding_low, &p.padding_high}) {
    Put(*list, &out);
  }
  out.Varint(p.groups);
  out.Varint(p.split);
  out.Varint(p.piece);
  out.Varint(p.packed_bytes);
  out.Fixed64(p.packed_layout);
  out.Varint(p.scratch_bytes);
  out.Varint(p.sums_in_scratch ? 1 : 0);
  out.Varint(p.epilogue.has_value() ? 1 : 0);
  if (p.epilogue.has_value()) {
    out.Raw(Encode(*p.epilogue));
    out.Varint(p.epilogue_scratch);
    Put(p.epilogue_steps, &out);
  }
  const std::string text = out.Take();
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

StatusOr<DecodedVendor> DecodeVendor(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  DecodedVendor decoded;
  VendorProgram& p = decoded.program;
  if (in.Fixed() != (kVendorKind | uint64_t{kVersion} << 32)) {
    return DataLossError("the params of a vendor kernel have another version");
  }
  decoded.packs = in.Flag();
  p.kind = static_cast<VendorProgram::Kind>(in.Size(1));
  p.source = in.Tensor();
  p.weights = in.Tensor();
  p.result = in.Tensor();
  for (auto* list :
       {&p.strides, &p.dilations, &p.padding_low, &p.padding_high}) {
    *list = in.List(kMostDims, kMostExtent);
  }
  p.groups = in.Size(kMostExtent);
  p.split = static_cast<uint32_t>(in.Size(kMostDims));
  p.piece = in.Size(kMostExtent);
  p.packed_bytes = in.Size();
  p.packed_layout = in.Fixed();
  p.scratch_bytes = in.Size();
  p.sums_in_scratch = in.Flag();
  if (in.Flag() && in.ok()) {
    ENCORE_ASSIGN_OR_RETURN(p.epilogue,
                            DecodeGenerated(in.Raw(sizeof(GeneratedParams))));
    p.epilogue_scratch = in.Size();
    p.epilogue_steps = in.List(kMostExtent, kMostElements);
  }
  if (!in.complete() || !IsSound(p)) {
    return DataLossError("the params of a vendor kernel are not sound");
  }
  return decoded;
}

int64_t BytesNeeded(const VendorTensor& tensor) {
  int64_t elements = tensor.offset + 1;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    elements += (tensor.dims[d] - 1) * tensor.strides[d];
  }
  return elements * static_cast<int64_t>(sizeof(float));
}

}  // namespace encore::backends::cpu
