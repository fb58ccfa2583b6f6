#include "encore/backends/cpu/relocatable_kernel.h"

#include <cstring>
#include <utility>

#include "encore/backends/cpu/elf/image_linker.h"
#include "encore/backends/cpu/helpers.h"
#include "encore/backends/cpu/image.h"
#include "encore/backends/cpu/kernel_params.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/sha256.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/dim_codec.h"

namespace encore::backends::cpu {
namespace {

// Bytes of the shortest elements of lists.
constexpr size_t kLeastPacking = 4, kLeastInPlace = 2;

Status Bad(std::string_view what) {
  return DataLossError(StrCat("not a relocatable kernel: ", what));
}

Digest DigestOf(std::string_view key, std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(Sha256Of(key).view());
  hash.Update(bytes);
  return hash.Finish();
}

void Write(const RelocatableKernel::Code& code, ByteWriter* out) {
  out->Varint(code.function ? uint64_t{*code.function} + 1 : 0);
  out->Varint(code.params.size());
  out->Raw(code.params);
}

RelocatableKernel::Code ReadCode(ByteReader* in) {
  RelocatableKernel::Code code;
  const uint64_t function = in->Varint();
  if (function > UINT32_MAX) in->Fail();
  if (function > 0) code.function = static_cast<uint32_t>(function - 1);
  const auto params = std::as_bytes(std::span(in->String()));
  code.params.assign(params.begin(), params.end());
  return code;
}

uint32_t ReadIndex(ByteReader* in) {
  const uint64_t index = in->Varint();
  if (index > UINT32_MAX) in->Fail();
  return static_cast<uint32_t>(index);
}

RelocatableKernel Read(ByteReader* in, const KernelRequest& request) {
  RelocatableKernel kernel;
  kernel.functions.resize(in->Count());
  for (std::string& function : kernel.functions) function = in->String();
  kernel.code = ReadCode(in);
  kernel.packed.resize(in->Count(kLeastPacking));
  for (RelocatableKernel::Packing& packing : kernel.packed) {
    packing.input = ReadIndex(in);
    packing.bytes = in->Signed();
    packing.code = ReadCode(in);
  }
  kernel.scratch = ReadDim(in, request.region->symbols);
  kernel.in_place.resize(in->Count(kLeastInPlace));
  for (runtime::Launch::InPlace& pair : kernel.in_place) {
    pair.read = ReadIndex(in);
    pair.write = ReadIndex(in);
  }
  return kernel;
}

// `used`: by function.
Status CheckCode(const RelocatableKernel::Code& code, bool packs,
                 std::vector<bool>* used) {
  if (code.function) {
    if (*code.function >= used->size()) return Bad("a function that it lacks");
    (*used)[*code.function] = true;
  }
  std::optional<GeneratedParams> generated;
  if (IsVendor(code.params)) {
    ENCORE_ASSIGN_OR_RETURN(const DecodedVendor vendor,
                            DecodeVendor(code.params));
    if (vendor.packs != packs) return Bad("a vendor's program of another role");
    generated = vendor.program.epilogue;
  } else {
    ENCORE_ASSIGN_OR_RETURN(generated, DecodeGenerated(code.params));
  }
  if (generated.has_value() != code.function.has_value()) {
    return Bad("params that do not go with its function");
  }
  if (generated && (generated->image_digest != 0 ||
                    generated->helper_version > kHelperVersion)) {
    return Bad("params of another image or of later helpers");
  }
  return OkStatus();
}

Status CheckObject(const std::string& object) {
  const std::string name(kRelocatableName);
  const auto image = LinkImage({&object, 1}, {&name, 1});
  if (!image.ok()) return Bad(Message(image.status()));
  return Image::Verify(*image);
}

Status Check(const RelocatableKernel& kernel, const KernelRequest& request) {
  std::vector<bool> used(kernel.functions.size());
  ENCORE_RETURN_IF_ERROR(CheckCode(kernel.code, /*packs=*/false, &used));
  std::vector<bool> packed(request.region->inputs.size());
  for (const RelocatableKernel::Packing& packing : kernel.packed) {
    if (packing.input >= packed.size() || packed[packing.input] ||
        !request.weights[packing.input] || packing.bytes < 1) {
      return Bad("a packed input that is none");
    }
    packed[packing.input] = true;
    ENCORE_RETURN_IF_ERROR(CheckCode(packing.code, /*packs=*/true, &used));
  }
  if (kernel.scratch.is_constant() && kernel.scratch.constant() < 0) {
    return Bad("scratch of a negative size");
  }
  for (const runtime::Launch::InPlace& pair : kernel.in_place) {
    if (pair.read >= request.region->inputs.size() ||
        pair.write >= request.region->outputs.size()) {
      return Bad("an in-place pair of buffers that are not there");
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) return Bad("a function that nobody calls");
    ENCORE_RETURN_IF_ERROR(CheckObject(kernel.functions[i]));
  }
  return OkStatus();
}

}  // namespace

std::string Encode(const RelocatableKernel& kernel, std::string_view key) {
  ByteWriter out;
  out.Varint(kernel.functions.size());
  for (const std::string& function : kernel.functions) out.String(function);
  Write(kernel.code, &out);
  out.Varint(kernel.packed.size());
  for (const RelocatableKernel::Packing& packing : kernel.packed) {
    out.Varint(packing.input);
    out.Signed(packing.bytes);
    Write(packing.code, &out);
  }
  WriteDim(kernel.scratch, &out);
  out.Varint(kernel.in_place.size());
  for (const runtime::Launch::InPlace& pair : kernel.in_place) {
    out.Varint(pair.read);
    out.Varint(pair.write);
  }
  return StrCat(DigestOf(key, std::as_bytes(std::span(out.str()))).view(),
                out.str());
}

StatusOr<RelocatableKernel> DecodeRelocatable(std::span<const std::byte> bytes,
                                              std::string_view key,
                                              const KernelRequest& request) {
  constexpr size_t kDigestBytes = sizeof(Digest::bytes);
  if (bytes.size() < kDigestBytes) return Bad("too short");
  const std::span<const std::byte> rest = bytes.subspan(kDigestBytes);
  if (std::memcmp(bytes.data(), DigestOf(key, rest).bytes.data(),
                  kDigestBytes) != 0) {
    return Bad("made for another key, or changed since");
  }
  ByteReader in(rest);
  RelocatableKernel kernel = Read(&in, request);
  if (!in.ok() || !in.done()) return Bad("malformed");
  ENCORE_RETURN_IF_ERROR(Check(kernel, request));
  return kernel;
}

}  // namespace encore::backends::cpu
