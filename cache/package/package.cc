#include "encore/cache/package/package.h"

#include <utility>

#include "encore/cache/store/container_writer.h"
#include "encore/ir/support/bytes.h"
#include "encore/ir/support/file_stamp.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "encore/ir/types/shape.h"
#include "encore/runtime/plan/compiled_graph_io.h"

namespace encore::cache {
namespace {

constexpr size_t kPage = 4096;

// The type's byte: the dtype, and what it is of above it.
constexpr int kKindShift = 6;

// Writes a list of values: types in one place, bytes in sections of their own.
// A host object is its type, the number of its elements, and these.
class TensorWriter {
 public:
  TensorWriter(SectionType bytes_type, ContainerWriter* writer)
      : bytes_type_(bytes_type), writer_(writer) {}

  void Add(const Literal& literal, ByteWriter* head) {
    head->Byte(
        static_cast<uint8_t>(static_cast<int>(literal.dtype()) |
                             static_cast<int>(literal.kind()) << kKindShift));
    if (literal.kind() != ValueKind::kTensor) {
      Add(literal.elements(), head);
      return;
    }
    head->Varint(literal.dims().size());
    for (const int64_t dim : literal.dims()) {
      head->Varint(static_cast<uint64_t>(dim));
    }
    if (IsString(literal.dtype())) {
      for (const std::string& text : literal.strings()) head->String(text);
    } else {
      writer_->Add(bytes_type_, literal.bytes(),
                   literal.bytes().size() >= kPage ? kPage : 64);
    }
  }
  void Add(std::span<const Literal> literals, ByteWriter* head) {
    head->Varint(literals.size());
    for (const Literal& literal : literals) Add(literal, head);
  }

 private:
  const SectionType bytes_type_;
  ContainerWriter* writer_;
};

class TensorReader {
 public:
  TensorReader(SectionType bytes_type,
               std::shared_ptr<const Container> container)
      : bytes_type_(bytes_type), container_(std::move(container)) {}

  // `depth`: how many host objects this is in.
  StatusOr<Literal> Read(ByteReader& head, int depth = 0) {
    const uint8_t type = head.Byte();
    const uint8_t dtype_number = type & ((1 << kKindShift) - 1);
    const auto kind = static_cast<ValueKind>(type >> kKindShift);
    if (kind != ValueKind::kTensor) {
      if (!IsValidDType(dtype_number) || depth > 1) {
        return DataLossError("package: no type of a host object");
      }
      return ReadObject(static_cast<DType>(dtype_number), kind, head, depth);
    }
    std::vector<int64_t> dims(head.Count());
    for (int64_t& dim : dims) dim = static_cast<int64_t>(head.Varint());
    const auto count = ElementCount(dims);
    if (!head.ok() || !IsValidDType(dtype_number) || !count ||
        dims.size() > kMaxRank) {
      return DataLossError("package: no tensor type");
    }
    const auto dtype = static_cast<DType>(dtype_number);
    if (IsString(dtype)) {
      if (static_cast<uint64_t>(*count) > head.remaining()) {
        return DataLossError("package: truncated strings");
      }
      std::vector<std::string> texts(*count);
      for (std::string& text : texts) text = head.String();
      return Literal::Strings(std::move(dims), std::move(texts));
    }
    ENCORE_ASSIGN_OR_RETURN(const auto bytes,
                            container_->Read(bytes_type_, next_++));
    auto literal = Literal::Map(dtype, std::move(dims), bytes, container_);
    if (literal.ok()) return literal;
    return DataLossError(Message(literal.status()));
  }
  StatusOr<std::vector<Literal>> ReadList(ByteReader& head) {
    std::vector<Literal> literals;
    const size_t count = head.Count(2);
    for (size_t i = 0; i < count; ++i) {
      ENCORE_ASSIGN_OR_RETURN(Literal literal, Read(head));
      literals.push_back(std::move(literal));
    }
    return literals;
  }

 private:
  // An optional has a sequence in it at most, a sequence tensors.
  StatusOr<Literal> ReadObject(DType dtype, ValueKind kind, ByteReader& head,
                               int depth) {
    const ValueKind inner = kind == ValueKind::kOptionalSequence
                                ? ValueKind::kSequence
                                : ValueKind::kTensor;
    const size_t count = head.Count();
    std::vector<Literal> elements;
    for (size_t i = 0; i < count; ++i) {
      ENCORE_ASSIGN_OR_RETURN(Literal element, Read(head, depth + 1));
      if (element.dtype() != dtype || element.kind() != inner) {
        return DataLossError("package: an element of another type");
      }
      elements.push_back(std::move(element));
    }
    if (kind == ValueKind::kSequence) {
      return Literal::Sequence(dtype, std::move(elements));
    }
    if (elements.size() > 1) {
      return DataLossError("package: an optional with several values");
    }
    return elements.empty() ? Literal::Absent(dtype, kind)
                            : Literal::Optional(std::move(elements[0]));
  }

  const SectionType bytes_type_;
  const std::shared_ptr<const Container> container_;
  uint64_t next_ = 0;
};

void WriteTexts(const std::vector<std::string>& texts, ByteWriter* out) {
  out->Varint(texts.size());
  for (const std::string& text : texts) out->String(text);
}

std::vector<std::string> ReadTexts(ByteReader& in) {
  std::vector<std::string> texts(in.Count());
  for (std::string& text : texts) text = in.String();
  return texts;
}

Status Complete(const ByteReader& in, SectionType type) {
  if (in.ok() && in.done()) return OkStatus();
  return DataLossError(StrCat("package: malformed section ", Name(type)));
}

}  // namespace

Status WritePackage(const Package& package, const std::string& path) {
  ContainerWriter writer;
  writer.AddOwned(SectionType::kHeadline, package.ingredients);
  ByteWriter names;
  for (const auto* texts :
       {&package.names.inputs, &package.names.outputs,
        &package.names.parameters, &package.names.origins}) {
    WriteTexts(*texts, &names);
  }
  writer.AddOwned(SectionType::kNames, names.Take());
  const std::vector<std::byte> graph =
      runtime::SerializeCompiledGraph(*package.graph);
  writer.Add(SectionType::kCompiledGraph, graph);
  ByteWriter constants;
  TensorWriter weights(SectionType::kWeights, &writer);
  weights.Add(package.constants, &constants);
  weights.Add(package.parameters, &constants);
  writer.AddOwned(SectionType::kConstants, constants.Take());
  for (const runtime::Blob& blob : package.derived) {
    writer.Add(SectionType::kDerived, blob.bytes,
               blob.bytes.size() >= kPage ? kPage : 64);
  }
  ByteWriter calls;
  TensorWriter tensors(SectionType::kTensor, &writer);
  calls.Varint(package.calls.size());
  for (const Package::Call& call : package.calls) {
    tensors.Add(call.inputs, &calls);
    tensors.Add(call.outputs, &calls);
  }
  writer.AddOwned(SectionType::kCalls, calls.Take());
  const auto unchanged = [&]() -> Status {
    for (const auto& file : package.files) {
      const auto now = StampOf(file->path());
      if (now.ok() && *now == file->stamp()) continue;
      if (!now.ok() && now.status().code() != StatusCode::kNotFound) {
        return now.status();
      }
      return FailedPreconditionError(
          StrCat(file->path(), " changed while it was packed; run again"));
    }
    return OkStatus();
  };
  return WriteFile(writer, path, {.check = unchanged});
}

StatusOr<Package> ReadPackage(const std::string& path) {
  ENCORE_ASSIGN_OR_RETURN(auto container, Container::Open(path));
  auto package = ReadPackage(std::move(container));
  if (package.ok()) return package;
  return Annotate(package.status(), path);
}

StatusOr<Package> ReadPackage(std::shared_ptr<const Container> container) {
  Package package;
  if (container->file() != nullptr) package.files = {container->file()};
  ENCORE_ASSIGN_OR_RETURN(const auto headline,
                          container->Read(SectionType::kHeadline));
  package.ingredients.assign(reinterpret_cast<const char*>(headline.data()),
                             headline.size());
  ENCORE_ASSIGN_OR_RETURN(const auto names_bytes,
                          container->Read(SectionType::kNames));
  ByteReader names(names_bytes);
  for (auto* texts : {&package.names.inputs, &package.names.outputs,
                      &package.names.parameters, &package.names.origins}) {
    *texts = ReadTexts(names);
  }
  ENCORE_RETURN_IF_ERROR(Complete(names, SectionType::kNames));
  ENCORE_ASSIGN_OR_RETURN(const auto graph_bytes,
                          container->Read(SectionType::kCompiledGraph));
  ENCORE_ASSIGN_OR_RETURN(runtime::CompiledGraph graph,
                          runtime::ParseCompiledGraph(graph_bytes, container));
  package.graph =
      std::make_shared<const runtime::CompiledGraph>(std::move(graph));
  ENCORE_ASSIGN_OR_RETURN(const auto constant_bytes,
                          container->Read(SectionType::kConstants));
  ByteReader constants(constant_bytes);
  TensorReader weights(SectionType::kWeights, container);
  ENCORE_ASSIGN_OR_RETURN(package.constants, weights.ReadList(constants));
  ENCORE_ASSIGN_OR_RETURN(package.parameters, weights.ReadList(constants));
  ENCORE_RETURN_IF_ERROR(Complete(constants, SectionType::kConstants));
  for (uint64_t i = 0; i < container->Count(SectionType::kDerived); ++i) {
    ENCORE_ASSIGN_OR_RETURN(const auto bytes,
                            container->Read(SectionType::kDerived, i));
    package.derived.push_back({bytes, container, false});
  }
  ENCORE_ASSIGN_OR_RETURN(const auto call_bytes,
                          container->Read(SectionType::kCalls));
  ByteReader calls(call_bytes);
  TensorReader tensors(SectionType::kTensor, container);
  package.calls.resize(calls.Count(2));
  for (Package::Call& call : package.calls) {
    ENCORE_ASSIGN_OR_RETURN(call.inputs, tensors.ReadList(calls));
    ENCORE_ASSIGN_OR_RETURN(call.outputs, tensors.ReadList(calls));
  }
  ENCORE_RETURN_IF_ERROR(Complete(calls, SectionType::kCalls));
  return package;
}

}  // namespace encore::cache
