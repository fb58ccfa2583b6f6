#include "encore/tools/io/npy.h"

#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/mapped_file.h"
#include "encore/ir/support/staged_file.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::tools {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Of a tensor's name: an archive has 16 bits for its length and ".npy".
constexpr size_t kMostOfName = 65'535 - 4;
constexpr size_t kShownOfName = 100;

// NumPy's type of a dtype, and back ("<f4").
std::string DescrOf(DType dtype) {
  const int bytes = std::max(BitWidth(dtype) / 8, 1);
  if (dtype == DType::kBool) return "|b1";
  char kind = IsSigned(dtype) ? 'i' : 'u';
  if (dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64)
    kind = 'f';
  return StrCat(bytes == 1 ? "|" : "<", kind, bytes);
}

StatusOr<DType> DTypeOfDescr(std::string_view descr) {
  constexpr DType kKnown[] = {DType::kBool, DType::kI8,  DType::kI16,
                              DType::kI32,  DType::kI64, DType::kU8,
                              DType::kU16,  DType::kU32, DType::kU64,
                              DType::kF16,  DType::kF32, DType::kF64};
  for (const DType dtype : kKnown) {
    const std::string known = DescrOf(dtype);
    if (descr == known ||
        (descr.size() == 3 && descr.substr(1) == known.substr(1) &&
         (descr[0] == '=' || (known[0] == '|' && descr[0] != '>')))) {
      return dtype;
    }
  }
  return UnimplementedError(
      StrCat("the array type ", Quote(descr), " is not supported"));
}

// The text of the header's entry `key`, up to `end`.
StatusOr<std::string_view> HeaderEntry(std::string_view header,
                                       std::string_view key, char end) {
  const size_t at = header.find(StrCat("'", key, "'"));
  const size_t colon = header.find(':', at);
  const size_t stop = header.find(end, colon);
  if (at == std::string_view::npos || colon == std::string_view::npos ||
      stop == std::string_view::npos) {
    return InvalidArgumentError(StrCat("the array header has no ", key));
  }
  return StripWhitespace(header.substr(colon + 1, stop - colon - 1));
}

StatusOr<std::vector<int64_t>> ParseShape(std::string_view text) {
  std::vector<int64_t> dims;
  if (text.starts_with('(')) text.remove_prefix(1);
  for (std::string_view part : StrSplit(text, ',')) {
    part = StripWhitespace(part);
    if (part.empty()) continue;
    const auto dim = ParseInt64(part);
    if (!dim || *dim < 0 || dims.size() >= static_cast<size_t>(kMaxRank)) {
      return InvalidArgumentError(
          StrCat("the array shape (", text, ") is impossible"));
    }
    dims.push_back(*dim);
  }
  return dims;
}

// The elements of a column-major array in row-major order.
Literal FromColumnMajor(const Literal& data, const std::vector<int64_t>& dims) {
  Literal result(data.dtype(), dims);
  std::vector<int64_t> index(dims.size());
  for (int64_t i = 0; i < result.element_count(); ++i) {
    int64_t from = 0;
    for (size_t d = dims.size(); d-- > 0;) from = from * dims[d] + index[d];
    if (IsFloat(data.dtype())) {
      result.SetDouble(i, data.AsDouble(from));
    } else {
      result.SetInt(i, data.AsInt(from));
    }
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];)
      index[d] = 0;
  }
  return result;
}

struct CloseUnzip {
  void operator()(void* file) const { unzClose(file); }
};

// The current entry of an archive: its name and bytes.
StatusOr<std::pair<std::string, std::string>> ReadEntry(unzFile archive) {
  unz_file_info64 info;
  // Longer than any name, so that there is a zero behind it.
  std::vector<char> name(1 << 17);
  if (unzGetCurrentFileInfo64(archive, &info, name.data(), name.size(), nullptr,
                              0, nullptr, 0) != UNZ_OK ||
      unzOpenCurrentFile(archive) != UNZ_OK) {
    return DataLossError("an entry of the archive is damaged");
  }
  // The announced size is not believed: the entry is read as far as it goes.
  std::string bytes;
  char buffer[1 << 16];
  int count;
  while ((count = unzReadCurrentFile(archive, buffer, sizeof(buffer))) > 0) {
    bytes.append(buffer, count);
  }
  if (unzCloseCurrentFile(archive) != UNZ_OK || count < 0) {
    return DataLossError(
        StrCat("the entry ", Quote(name.data()), " is damaged"));
  }
  return std::pair(std::string(name.data()), std::move(bytes));
}

}  // namespace

std::string EncodeNpy(const Literal& literal) {
  std::string shape = StrJoin(literal.dims(), ", ");
  if (literal.rank() == 1) shape += ",";
  std::string header =
      StrCat("{'descr': '", DescrOf(literal.dtype()),
             "', 'fortran_order': False, 'shape': (", shape, "), }");
  // Data begins at a multiple of 64.
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
          static_cast<char>(header.size() >> 8)};
  out += header;
  if (IsPacked(literal.dtype())) {
    // Integers as such, of floats the bits.
    const DType dtype = literal.dtype();
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      out += static_cast<char>(
          IsFloat(dtype) ? LoadPacked(dtype, literal.bytes().data(), i)
                         : literal.AsInt(i));
    }
    return out;
  }
  const auto bytes = literal.bytes();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

StatusOr<Literal> DecodeNpy(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) {
    return InvalidArgumentError("no .npy array");
  }
  const bool wide = bytes[6] >= 2;
  const size_t length_bytes = wide ? 4 : 2;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  bytes.remove_prefix(8 + length_bytes);
  if (length > bytes.size())
    return InvalidArgumentError("the array header is cut off");
  const std::string_view header = bytes.substr(0, length);
  bytes.remove_prefix(length);
  ENCORE_ASSIGN_OR_RETURN(std::string_view descr,
                          HeaderEntry(header, "descr", ','));
  if (descr.size() >= 2) descr = descr.substr(1, descr.size() - 2);
  ENCORE_ASSIGN_OR_RETURN(const std::string_view order,
                          HeaderEntry(header, "fortran_order", ','));
  ENCORE_ASSIGN_OR_RETURN(const std::string_view shape,
                          HeaderEntry(header, "shape", ')'));
  ENCORE_ASSIGN_OR_RETURN(const DType dtype, DTypeOfDescr(descr));
  ENCORE_ASSIGN_OR_RETURN(std::vector<int64_t> dims, ParseShape(shape));
  ENCORE_ASSIGN_OR_RETURN(
      Literal literal,
      Literal::Copy(dtype, dims, std::as_bytes(std::span(bytes))));
  if (order == "True" && dims.size() > 1) return FromColumnMajor(literal, dims);
  return literal;
}

Literal FromNpyType(const Literal& literal, DType dtype) {
  if (literal.dtype() == dtype || IsString(dtype)) return literal;
  const StatusOr<DType> stored = DTypeOfDescr(DescrOf(dtype));
  if (!stored.ok() || *stored != literal.dtype() || *stored == dtype) {
    return literal;
  }
  if (!IsPacked(dtype)) {
    return *Literal::Copy(dtype, literal.dims(), literal.bytes());
  }
  Literal packed(dtype, literal.dims());
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    StorePacked(dtype, packed.mutable_bytes().data(), i,
                static_cast<uint8_t>(literal.AsInt(i)));
  }
  return packed;
}

StatusOr<Literal> ReadNpy(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const auto bytes = file->bytes();
  auto literal =
      DecodeNpy({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (literal.ok()) return literal;
  return Annotate(literal.status(), path);
}

StatusOr<std::map<std::string, Literal>> ReadTensors(const std::string& path) {
  ENCORE_RETURN_IF_ERROR(StampOf(path).status());
  const std::unique_ptr<void, CloseUnzip> archive(unzOpen64(path.c_str()));
  unz_global_info64 info;
  if (archive == nullptr ||
      unzGetGlobalInfo64(archive.get(), &info) != UNZ_OK) {
    return InvalidArgumentError(StrCat(path, ": no .npz archive"));
  }
  std::map<std::string, Literal> tensors;
  for (uint64_t i = 0; i < info.number_entry; ++i) {
    const int next = i == 0 ? unzGoToFirstFile(archive.get())
                            : unzGoToNextFile(archive.get());
    if (next != UNZ_OK) {
      return DataLossError(StrCat(path, ": entry ", i, " is damaged"));
    }
    auto entry = ReadEntry(archive.get());
    if (!entry.ok()) return Annotate(entry.status(), path);
    auto& [name, bytes] = *entry;
    StatusOr<Literal> literal = DecodeNpy(bytes);
    if (!literal.ok())
      return Annotate(literal.status(), StrCat(path, ": ", name));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (!tensors.emplace(name, *std::move(literal)).second) {
      return DataLossError(StrCat(path, ": has ", Quote(name), " twice"));
    }
  }
  return tensors;
}

Status WriteTensors(const std::string& path,
                    std::span<const std::pair<std::string, Literal>> tensors) {
  std::set<std::string_view> names;
  for (const auto& [name, literal] : tensors) {
    if (literal.kind() != ValueKind::kTensor || IsString(literal.dtype())) {
      return UnimplementedError(StrCat(path, ": ", Quote(name), " is ",
                                       literal.type(),
                                       ", which .npz files cannot hold"));
    }
    if (!names.insert(name).second || name.size() > kMostOfName ||
        name.find('\0') != std::string::npos) {
      return UnimplementedError(
          StrCat(path, ": ", Quote(name.substr(0, kShownOfName)),
                 " is the name of two, or none that .npz files can hold"));
    }
  }
  ENCORE_ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(path));
  zipFile archive = zipOpen64(file.staging().c_str(), APPEND_STATUS_CREATE);
  bool written = archive != nullptr;
  for (const auto& [name, literal] : tensors) {
    if (!written) break;
    const std::string bytes = EncodeNpy(literal);
    // A fixed date: the same tensors are the same file.
    zip_fileinfo info{};
    info.tmz_date = {0, 0, 0, 1, 0, 1980};
    written =
        zipOpenNewFileInZip64(archive, (name + ".npy").c_str(), &info, nullptr,
                              0, nullptr, 0, nullptr, 0, 0, 1) == ZIP_OK;
    // The library takes 32-bit lengths.
    for (size_t at = 0; written && at < bytes.size(); at += 1 << 30) {
      const size_t count = std::min<size_t>(bytes.size() - at, 1 << 30);
      written = zipWriteInFileInZip(archive, bytes.data() + at,
                                    static_cast<unsigned>(count)) == ZIP_OK;
    }
    written = written && zipCloseFileInZip(archive) == ZIP_OK;
  }
  if (archive != nullptr)
    written = zipClose(archive, nullptr) == ZIP_OK && written;
  if (written) return file.Commit();
  return ResourceExhaustedError(
      StrCat(path, " cannot be written; is the disk full?"));
}

}  // namespace encore::tools
