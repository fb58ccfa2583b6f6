// An ONNX model file as views into its bytes.
//
// The structs mirror onnx.proto; names, strings and tensor data stay where they
// are in the file, so reading a model of gigabytes costs what its nodes cost,
// and initializers can be mapped, not copied. Everything is bounded by the
// file: a length that leaves its message is an error, and messages nest at most
// kMaxGraphDepth graphs deep.
//
// Source: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto (field
// numbers).
#ifndef ENCORE_IR_IMPORT_ONNX_FORMAT_MODEL_H_
#define ENCORE_IR_IMPORT_ONNX_FORMAT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/element_types.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

inline constexpr int kMaxGraphDepth = 64;

struct SparseLayout;

struct Tensor {
  std::string_view name;
  int32_t data_type = 0;
  std::vector<int64_t> dims;
  // At most one of these holds the data, whichever the writer chose.
  std::string_view raw_data;
  bool has_raw_data = false;
  std::vector<float> float_data;
  std::vector<int32_t> int32_data;
  std::vector<int64_t> int64_data;
  std::vector<double> double_data;
  std::vector<uint64_t> uint64_data;
  std::vector<std::string_view> string_data;
  // Where a SparseTensorProto is meant: all else describes its values, but for
  // `dims`.
  std::shared_ptr<const SparseLayout> sparse = {};
  // Where data_location is EXTERNAL: keys location, offset, length, checksum.
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
  bool is_external = false;
  // Whether the data are a part of those of a larger tensor.
  bool is_segment = false;
};

// Where the values of a sparse tensor are; the others are zero.
struct SparseLayout {
  std::vector<int64_t> value_dims;
  // i64 [values], positions among all elements, or [values, rank].
  Tensor indices;
};

struct Dimension {
  std::optional<int64_t> value;
  std::string_view param;
};

struct Type {
  enum class Kind {
    kNone,
    kTensor,
    kSequence,
    kOptional,
    kOptionalSequence,
    kMap,          // of int64 or strings to tensors of one element
    kMapSequence,  // of such maps
    kOther
  };
  Kind kind = Kind::kNone;
  // Of the tensors in it, where it is none itself.
  int32_t element_type = 0;
  // Nothing where the rank is unknown.
  std::optional<std::vector<Dimension>> shape;
  int32_t key_type = 0;  // of maps
  // Of maps and other kinds: what the standard writes,
  // "map(int64,tensor(float))".
  std::string text = {};
};

struct Graph;

// AttributeProto.AttributeType.
enum class AttributeType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14,
};

struct Attribute {
  std::string_view name = {};
  std::string_view ref_attr_name = {};
  AttributeType type = AttributeType::kUndefined;
  // The numbers of the value fields that the file has, as bits.
  uint32_t values = 0;
  float f = 0;
  int64_t i = 0;
  std::string_view s = {};
  std::vector<float> floats = {};
  std::vector<int64_t> ints = {};
  std::vector<std::string_view> strings = {};
  std::shared_ptr<const Tensor> t = {};
  std::shared_ptr<const Graph> g = {};
  std::shared_ptr<const Type> tp = {};
};

struct OpsetImport {
  std::string_view domain;
  int64_t version = 0;
};

// Imported opsets by domain, ascending; the default domain is "", however the
// file says it.
using OpsetImports = std::vector<OpsetImport>;

struct Node {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> attributes;
  // Those of the function that the node was in; null for the model's.
  const OpsetImports* opsets = nullptr;
  // Among the nodes of its graph or function, as the file has them.
  size_t position = 0;
};

struct ValueInfo {
  std::string_view name;
  Type type;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
};

struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<Attribute> attribute_defaults;
  std::vector<Node> nodes;
  OpsetImports opsets;
};

struct Model {
  int64_t ir_version = 0;
  std::string_view producer;
  OpsetImports opsets;
  Graph graph;
  bool has_graph = false;
  bool has_training_info = false;
  std::vector<Function> functions;
};

// Reads `bytes`, which must outlive the model. InvalidArgument where they are
// no ModelProto; the message names the field at fault and the byte that it
// begins at.
StatusOr<Model> ReadModel(std::span<const std::byte> bytes);

// The model's metadata_props in their order, without reading its graph; errors
// as above.
StatusOr<std::vector<std::pair<std::string_view, std::string_view>>>
ReadMetadata(std::span<const std::byte> bytes);

// Reads a TensorProto or SparseTensorProto by itself (test data's input_0.pb).
StatusOr<Tensor> ReadTensor(std::span<const std::byte> bytes);

// Reads a SequenceProto of tensors by itself; Unimplemented, naming what it
// holds, for one of others.
StatusOr<std::vector<Tensor>> ReadSequence(std::span<const std::byte> bytes);

// Reads an OptionalProto by itself: the value's bytes, a TensorProto's,
// SparseTensorProto's or SequenceProto's; nothing where it has none.
// Unimplemented, naming what it holds, for one of others.
StatusOr<std::optional<std::span<const std::byte>>> ReadOptional(
    std::span<const std::byte> bytes);

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_FORMAT_MODEL_H_
