#include "encore/ir/import/onnx/converter_table.h"

#include <map>
#include <span>

namespace encore::onnx {
namespace {

const std::map<std::string_view, const Converter*>& Table() {
  static const auto table = [] {
    std::map<std::string_view, const Converter*> all;
    for (const std::span<const Converter> theme :
         {ElementwiseConverters(),
          ActivationConverters(),
          ShapeConverters(),
          IndexingConverters(),
          ReductionConverters(),
          ContractionConverters(),
          PoolingConverters(),
          NormalizationConverters(),
          ResizeConverters(),
          ConstructConverters(),
          EinsumConverters(),
          LossConverters(),
          RandomConverters(),
          RecurrentConverters(),
          SamplingConverters(),
          SelectionConverters(),
          SpectralConverters(),
          TextConverters(),
          TrainingConverters(),
          UnpoolConverters(),
          ControlFlowConverters(),
          QuantizeConverters(),
          SequenceConverters(),
          SequenceMapConverters(),
          StringConverters(),
          LoopConverters(),
          ImageConverters(),
          RoiConverters(),
          ScanConverters(),
          AttentionConverters(),
          DecoderConverters(),
          EncoderConverters(),
          FeatureConverters(),
          LinearConverters(),
          MapConverters(),
          SvmConverters(),
          TreeConverters(),
          BlockConverters(),
          FusedConverters(),
          QLinearConverters(),
          DynamicQuantizeConverters(),
          GroupQueryConverters(),
          SkipNormalizationConverters(),
          MicrosoftAttentionConverters()}) {
      for (const Converter& converter : theme) {
        all.emplace(converter.op_type, &converter);
      }
    }
    return all;
  }();
  return table;
}

}  // namespace

const Converter* FindConverter(std::string_view op_type) {
  const auto found = Table().find(op_type);
  return found == Table().end() ? nullptr : found->second;
}

Status ConvertInstead(NodeContext& context, Node node) {
  node.name = context.node().name;
  NodeContext instead(node, context.scope(), context.source(),
                      &context.bodies());
  return FindConverter(node.op_type)->convert(instead);
}

std::vector<std::string_view> ConvertedOps() {
  std::vector<std::string_view> ops;
  for (const auto& [op_type, converter] : Table()) ops.push_back(op_type);
  return ops;
}

}  // namespace encore::onnx
