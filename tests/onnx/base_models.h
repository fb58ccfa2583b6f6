// Small good models to mutate, and what they are made of.
#ifndef ENCORE_TESTS_ONNX_BASE_MODELS_H_
#define ENCORE_TESTS_ONNX_BASE_MODELS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/onnx.pb.h"

namespace encore::tests {

// What every mutated node is called, so that a message can be seen to name it.
inline constexpr char kNodeName[] = "the_mutated_node";

// A model without nodes that imports an opset.
::onnx::ModelProto EmptyModel(int opset = 17);

// x: f32[2,3] + w -> a -> Relu -> y, with an initializer w: f32[3]. The first
// node is kNodeName.
::onnx::ModelProto Chain();

// Makes `info` say a tensor; `type` is a TensorProto.DataType.
void Value(std::string_view name, int type, const std::vector<int64_t>& dims,
           ::onnx::ValueInfoProto* info);

::onnx::NodeProto* AddNode(::onnx::GraphProto* graph, const std::string& op,
                           const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs);

}  // namespace encore::tests

#endif  // ENCORE_TESTS_ONNX_BASE_MODELS_H_
