#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "encore/ir/import/onnx/format/element_types.h"
#include "encore/ir/support/strings.h"
#include "encore/tests/onnx/base_models.h"
#include "encore/tests/onnx/mutations.h"

namespace encore::tests {
namespace {

using ::onnx::ModelProto;
using ::onnx::SparseTensorProto;
using ::onnx::TensorProto;

using Entries = std::vector<std::pair<std::string, std::string>>;

class DataMutator {
 public:
  explicit DataMutator(const Sink& sink) : sink_(sink) {}

  void MutateInitializer();
  void MutateExternalData();
  void MutateExternalNumbers();
  void MutateSparse();
  void MutateConstant();
  void MutateNarrow();

 private:
  TensorProto* Weights() {
    model_ = Chain();
    return model_.mutable_graph()->mutable_initializer(0);
  }
  // The weights with what says where their data are.
  void ExternalWeights(const Entries& entries);
  // The weights as a sparse tensor [3] with entries at 0 and 2.
  SparseTensorProto* SparseWeights();
  // Weights of kNarrowCount elements of a type of less than a byte, in `bytes`
  // zeros, which a Cast reads.
  TensorProto* NarrowWeights(int type, size_t bytes);
  // The weights as a Constant node's.
  TensorProto* ConstantValue();
  void Emit(std::string_view what, std::string_view rule,
            Fault fault = {.node = kNodeName}) {
    sink_({StrCat("data/", what), model_.SerializeAsString(), std::move(fault),
           std::string(rule)});
  }

  const Sink& sink_;
  ModelProto model_;
};

void DataMutator::MutateInitializer() {
  for (const size_t size : {0, 1, 11, 13, 24}) {
    Weights()->set_raw_data(std::string(size, '\0'));
    Emit(StrCat("initializer/raw data of ", size, " bytes"),
         "data are as long as dims say");
  }
  Weights()->clear_raw_data();
  Emit("initializer/no data", "data are as long as dims say");
  for (const int count : {1, 2, 4}) {
    TensorProto* weights = Weights();
    weights->clear_raw_data();
    for (int i = 0; i < count; ++i) weights->add_float_data(1);
    Emit(StrCat("initializer/", count, " floats"),
         "data are as long as dims say");
  }
  TensorProto* weights = Weights();
  weights->clear_raw_data();
  for (int i = 0; i < 3; ++i) weights->add_int64_data(1);
  Emit("initializer/data in another type's field", "floats are in float_data");
  weights = Weights();
  for (int i = 0; i < 3; ++i) weights->add_float_data(1);
  Emit("initializer/raw data and floats", "data are in one field");
  for (const int64_t dim :
       {int64_t{-1}, int64_t{0}, int64_t{1} << 29, int64_t{1} << 62,
        std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max()}) {
    Weights()->set_dims(0, dim);
    Emit(StrCat("initializer/dim ", dim), "data are as long as dims say");
  }
  weights = Weights();
  weights->clear_dims();
  for (int i = 0; i < 4; ++i) weights->add_dims(int64_t{1} << 16);
  Emit("initializer/2^64 elements", "data are as long as dims say");
  weights = Weights();
  for (int i = 0; i < 2000; ++i) weights->add_dims(1);
  Emit("initializer/rank 2001", "");
  for (const int type : {0, 8, 99, -1}) {
    Weights()->set_data_type(type);
    Emit(StrCat("initializer/type ", type), "the data are floats");
  }
  Weights()->set_data_type(TensorProto::INT32);
  Emit("initializer/type of the data", "inputs are of one type");
  weights = Weights();
  weights->clear_name();
  Emit("initializer/without a name", "names are not empty",
       {.field = "initializer #0"});
  weights = Weights();
  weights->mutable_segment()->set_begin(0);
  weights->mutable_segment()->set_end(100);
  Emit("initializer/segment", "tensors are whole");
}

void DataMutator::ExternalWeights(const Entries& entries) {
  TensorProto* weights = Weights();
  weights->clear_raw_data();
  weights->set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = weights->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

void DataMutator::MutateExternalData() {
  // The folder of the mutations has weights.bin of 12 bytes, and links of these
  // names.
  const Entries paths = {{"parent", "../weights.bin"},
                         {"absolute", "/etc/hostname"},
                         {"empty", ""},
                         {"inner parent", "a/../../weights.bin"},
                         {"link to a file", "file_link"},
                         {"link to a folder", "folder_link/hosts"},
                         {"missing", "nowhere.bin"},
                         {"a folder", "."},
                         {"a device", "/dev/zero"},
                         {"link to a device", "device_link"},
                         {"a pipe", "pipe"},
                         {"a link to a pipe", "pipe_link"},
                         {"a link to itself", "loop_link"},
                         {"Windows' parent", "..\\weights.bin"},
                         {"Windows' absolute", "C:\\weights.bin"},
                         {"a URL", "file:///etc/hostname"},
                         {"a long name", std::string(100000, 'x')},
                         {"a NUL", std::string("weights.bin\0x", 13)}};
  for (const auto& [title, path] : paths) {
    ExternalWeights({{"location", path}});
    Emit(StrCat("external/", title), "data lie in files below the model's");
  }
  ExternalWeights({});
  Emit("external/no location", "location is required");
}

void DataMutator::MutateExternalNumbers() {
  const Entries numbers = {{"offset", "1"},
                           {"offset", "13"},
                           {"offset", "-1"},
                           {"offset", "x"},
                           {"offset", "18446744073709551616"},
                           {"offset", "-9223372036854775808"},
                           {"offset", "9223372036854775807"},
                           {"offset", ""},
                           {"offset", "0x0"},
                           {"length", "11"},
                           {"length", "13"},
                           {"length", "-1"},
                           {"length", "x"},
                           {"length", "9223372036854775807"}};
  for (const auto& [key, value] : numbers) {
    ExternalWeights({{"location", "weights.bin"}, {key, value}});
    Emit(StrCat("external/", key, " ", value), "data are as long as dims say");
  }
}

SparseTensorProto* DataMutator::SparseWeights() {
  TensorProto values = *Weights();
  model_.mutable_graph()->clear_initializer();
  values.set_dims(0, 2);
  values.set_raw_data(std::string(8, '\0'));
  SparseTensorProto* sparse = model_.mutable_graph()->add_sparse_initializer();
  *sparse->mutable_values() = values;
  sparse->mutable_indices()->set_data_type(TensorProto::INT64);
  sparse->mutable_indices()->add_dims(2);
  sparse->mutable_indices()->add_int64_data(0);
  sparse->mutable_indices()->add_int64_data(2);
  sparse->add_dims(3);
  return sparse;
}

void DataMutator::MutateSparse() {
  const std::string_view inside = "indices are inside of the tensor";
  for (const int64_t index :
       {int64_t{-1}, int64_t{3}, std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max()}) {
    SparseWeights()->mutable_indices()->set_int64_data(1, index);
    Emit(StrCat("sparse/index ", index), inside);
  }
  SparseWeights()->mutable_indices()->set_int64_data(0, 2);
  Emit("sparse/index twice", "indices ascend");
  SparseTensorProto* sparse = SparseWeights();
  sparse->mutable_indices()->mutable_int64_data()->SwapElements(0, 1);
  Emit("sparse/unsorted", "indices ascend");
  SparseWeights()->mutable_indices()->add_int64_data(1);
  Emit("sparse/more indices", "data are as long as dims say");
  SparseWeights()->mutable_indices()->set_dims(0, 1);
  Emit("sparse/indices of another length", "data are as long as dims say");
  sparse = SparseWeights();
  sparse->mutable_indices()->add_dims(2);
  Emit("sparse/indices of rank 2", "data are as long as dims say");
  SparseWeights()->mutable_indices()->set_data_type(TensorProto::INT32);
  Emit("sparse/indices of int32", "indices are of int64");
  SparseWeights()->clear_indices();
  Emit("sparse/no indices", "there is an index for each value");
  SparseWeights()->clear_dims();
  Emit("sparse/no dims", "the tensor has the weights' rank");
  for (const int64_t dim : {int64_t{-1}, int64_t{2}, int64_t{1} << 40,
                            std::numeric_limits<int64_t>::max()}) {
    SparseWeights()->set_dims(0, dim);
    Emit(StrCat("sparse/dim ", dim), "the dims are the weights'");
  }
  sparse = SparseWeights();
  sparse->mutable_values()->set_dims(0, 1);
  sparse->mutable_values()->add_dims(2);
  Emit("sparse/values of rank 2", "values are a vector");
  SparseWeights()->mutable_values()->set_raw_data("seven b");
  Emit("sparse/values of 7 bytes", "data are as long as dims say");
}

constexpr int kNarrowCount = 5;

TensorProto* DataMutator::NarrowWeights(int type, size_t bytes) {
  model_ = EmptyModel(/*opset=*/28);
  auto* graph = model_.mutable_graph();
  Value("y", TensorProto::FLOAT, {kNarrowCount}, graph->add_output());
  auto* node = AddNode(graph, "Cast", {"w"}, {"y"});
  node->set_name(kNodeName);
  auto* to = node->add_attribute();
  to->set_name("to");
  to->set_type(::onnx::AttributeProto::INT);
  to->set_i(TensorProto::FLOAT);
  TensorProto* weights = graph->add_initializer();
  weights->set_name("w");
  weights->set_data_type(type);
  weights->add_dims(kNarrowCount);
  weights->set_raw_data(std::string(bytes, '\0'));
  return weights;
}

// Elements of less than a byte, whose bytes are rounded up, and which the field
// int32_data has a byte, or of six bits one element, an entry.
void DataMutator::MutateNarrow() {
  using onnx::ElementType;
  struct Narrow {
    ElementType type;
    size_t bytes;
    int entries;
  };
  const Narrow kTypes[] = {
      {ElementType::kUint2, 2, 2},      {ElementType::kInt2, 2, 2},
      {ElementType::kUint4, 3, 3},      {ElementType::kInt4, 3, 3},
      {ElementType::kFloat4E2M1, 3, 3}, {ElementType::kFloat6E2M3, 4, 5},
      {ElementType::kFloat6E3M2, 4, 5}, {ElementType::kFloat8E8M0, 5, 5}};
  const std::string_view rule = "data are as long as dims say";
  for (const auto& [element, bytes, entries] : kTypes) {
    const int type = static_cast<int>(element);
    const std::string title =
        StrCat("narrow/", onnx::ElementName(element), "/");
    for (const size_t size : {size_t{0}, bytes - 1, bytes + 1, size_t{8}}) {
      NarrowWeights(type, size);
      Emit(StrCat(title, "raw data of ", size, " bytes"), rule);
    }
    for (const int count : {0, 1, entries - 1, entries + 1}) {
      TensorProto* weights = NarrowWeights(type, bytes);
      weights->clear_raw_data();
      for (int i = 0; i < count; ++i) weights->add_int32_data(0);
      Emit(StrCat(title, count, " entries"), rule);
    }
    TensorProto* weights = NarrowWeights(type, bytes);
    weights->clear_raw_data();
    for (int i = 0; i < kNarrowCount; ++i) weights->add_float_data(0);
    Emit(StrCat(title, "data in another type's field"),
         "narrow elements are in int32_data");
    NarrowWeights(type, bytes)->add_int32_data(0);
    Emit(StrCat(title, "raw data and entries"), "data are in one field");
    for (const int64_t dim : {int64_t{-1}, int64_t{0}, int64_t{1} << 62,
                              std::numeric_limits<int64_t>::max()}) {
      NarrowWeights(type, bytes)->set_dims(0, dim);
      Emit(StrCat(title, "dim ", dim), rule);
    }
    for (const int64_t value : {256, -129}) {
      weights = NarrowWeights(type, bytes);
      weights->clear_raw_data();
      for (int i = 0; i < entries; ++i) weights->add_int32_data(value);
      Emit(StrCat(title, "entries of ", value), "an entry is of a byte");
    }
  }
}

TensorProto* DataMutator::ConstantValue() {
  const TensorProto values = *Weights();
  auto* graph = model_.mutable_graph();
  graph->clear_initializer();
  graph->mutable_node(0)->set_name("reader");
  auto* node = AddNode(graph, "Constant", {}, {"w"});
  node->set_name(kNodeName);
  auto* attribute = node->add_attribute();
  attribute->set_name("value");
  attribute->set_type(::onnx::AttributeProto::TENSOR);
  *attribute->mutable_t() = values;
  graph->mutable_node()->SwapElements(0, 2);
  graph->mutable_node()->SwapElements(1, 2);
  return graph->mutable_node(0)->mutable_attribute(0)->mutable_t();
}

void DataMutator::MutateConstant() {
  const auto emit = [&](std::string_view what, std::string_view rule) {
    Emit(StrCat("constant/", what), rule,
         {.node = kNodeName, .attribute = "value"});
  };
  for (const size_t size : {0, 11, 13}) {
    ConstantValue()->set_raw_data(std::string(size, '\0'));
    emit(StrCat("raw data of ", size, " bytes"),
         "data are as long as dims say");
  }
  for (const int64_t dim : {int64_t{-1}, int64_t{4}, int64_t{1} << 62}) {
    ConstantValue()->set_dims(0, dim);
    emit(StrCat("dim ", dim), "data are as long as dims say");
  }
  for (const int type : {0, 99, -1}) {
    ConstantValue()->set_data_type(type);
    emit(StrCat("type ", type), "the data are floats");
  }
  TensorProto* value = ConstantValue();
  value->clear_raw_data();
  value->set_data_location(TensorProto::EXTERNAL);
  auto* entry = value->add_external_data();
  entry->set_key("location");
  entry->set_value("../weights.bin");
  emit("external data of the parent", "data lie in files below the model's");
  ConstantValue();
  model_.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_t();
  emit("no tensor", "an attribute has a value");
}

}  // namespace

void MutateData(const Sink& sink) {
  DataMutator mutator(sink);
  mutator.MutateInitializer();
  mutator.MutateExternalData();
  mutator.MutateExternalNumbers();
  mutator.MutateSparse();
  mutator.MutateConstant();
  mutator.MutateNarrow();
}

}  // namespace encore::tests
