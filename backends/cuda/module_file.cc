#include "encore/backends/cuda/module_file.h"

#include <tuple>

#include "encore/ir/support/bytes.h"
#include "encore/ir/support/parse_number.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cuda {
namespace {

constexpr std::string_view kMagic = "CUM1";
constexpr uint32_t kLowest = 80, kBeyond = 1000;
// A kind, an architecture such as "sm_80", a version, an empty image.
constexpr size_t kLeastImageBytes = 9;

ModuleImage ReadImage(ByteReader* in) {
  ModuleImage image;
  const uint8_t kind = in->Byte();
  if (kind > static_cast<uint8_t>(ModuleImage::Kind::kCubin)) in->Fail();
  image.kind = static_cast<ModuleImage::Kind>(kind);
  const auto architecture = ParseArchitecture(in->String());
  if (!architecture) in->Fail();
  image.architecture = architecture.value_or(Architecture{});
  const uint64_t driver = in->Varint();
  if (driver > UINT32_MAX) in->Fail();
  image.driver = static_cast<uint32_t>(driver);
  const std::string_view bytes = in->String();
  image.bytes = std::as_bytes(std::span(bytes));
  return image;
}

}  // namespace

std::optional<Architecture> ParseArchitecture(std::string_view name) {
  constexpr std::string_view kPrefix = "sm_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::string_view digits = name.substr(kPrefix.size());
  Architecture result;
  result.specific = digits.ends_with('a');
  if (result.specific) digits.remove_suffix(1);
  const auto number = ParseNumber<uint32_t>(digits);
  if (!number || *number < kLowest || *number >= kBeyond) return std::nullopt;
  result.major = *number / 10;
  result.minor = *number % 10;
  return result;
}

std::string Name(const Architecture& architecture) {
  return StrCat("sm_", architecture.number(), architecture.specific ? "a" : "");
}

bool RunsOn(const ModuleImage& image, const Architecture& device) {
  const Architecture& of = image.architecture;
  if (of.specific) return of.number() == device.number();
  if (image.kind == ModuleImage::Kind::kPtx) {
    return of.number() <= device.number();
  }
  return of.major == device.major && of.minor <= device.minor;
}

const ModuleImage* ChooseImage(std::span<const ModuleImage> images,
                               const Architecture& device, uint32_t driver) {
  const auto rank = [](const ModuleImage& image) {
    return std::tuple(image.kind, image.architecture.number(),
                      image.architecture.specific);
  };
  const ModuleImage* best = nullptr;
  for (const ModuleImage& image : images) {
    if (!RunsOn(image, device) || image.driver > driver) continue;
    if (best == nullptr || rank(*best) < rank(image)) best = &image;
  }
  return best;
}

std::vector<std::byte> EncodeModule(std::span<const ModuleImage> images) {
  ByteWriter out;
  out.Raw(kMagic);
  out.Varint(images.size());
  for (const ModuleImage& image : images) {
    out.Byte(static_cast<uint8_t>(image.kind));
    out.String(Name(image.architecture));
    out.Varint(image.driver);
    out.Varint(image.bytes.size());
    out.Raw(image.bytes);
  }
  const auto bytes = std::as_bytes(std::span(out.str()));
  return {bytes.begin(), bytes.end()};
}

StatusOr<std::vector<ModuleImage>> DecodeModule(
    std::span<const std::byte> file) {
  ByteReader in(file);
  if (in.Raw(kMagic.size()) != kMagic) {
    return DataLossError("a module of CUDA kernels is of another version");
  }
  std::vector<ModuleImage> images;
  const size_t count = in.Count(kLeastImageBytes);
  if (count == 0 || count > kMostImages) in.Fail();
  for (size_t i = 0; in.ok() && i < count; ++i) {
    images.push_back(ReadImage(&in));
  }
  if (!in.ok() || !in.done()) {
    return DataLossError("a module of CUDA kernels is cut short or too long");
  }
  return images;
}

}  // namespace encore::backends::cuda
