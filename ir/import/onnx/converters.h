// The converters: one per ONNX operator, in its newest form (older ones are
// upgraded first, see upgrade.h), grouped by theme in convert_<theme>.cc.
//
// To add an operator: write its converter in the file of its theme and add one
// row to that file's table.
#ifndef ENCORE_IR_IMPORT_ONNX_CONVERTERS_H_
#define ENCORE_IR_IMPORT_ONNX_CONVERTERS_H_

#include <optional>
#include <span>
#include <string_view>

#include "encore/ir/import/onnx/scope/context.h"
#include "encore/ir/ops/op.h"
#include "encore/ir/support/status.h"

namespace encore::onnx {

struct Converter {
  // Of another domain than the default one: "domain.Operator".
  std::string_view op_type;
  Status (*convert)(NodeContext& context);
  // What its nodes become, up to movement and arithmetic around it; nothing
  // where they vanish. `encore ops` lists it.
  std::optional<Op> op = std::nullopt;
};

std::span<const Converter> ElementwiseConverters();
std::span<const Converter> ActivationConverters();
std::span<const Converter> ShapeConverters();
std::span<const Converter> IndexingConverters();
std::span<const Converter> ReductionConverters();
std::span<const Converter> ContractionConverters();
std::span<const Converter> PoolingConverters();
std::span<const Converter> NormalizationConverters();
std::span<const Converter> ResizeConverters();
std::span<const Converter> ConstructConverters();
std::span<const Converter> AttentionConverters();
std::span<const Converter> ControlFlowConverters();
std::span<const Converter> DecoderConverters();
std::span<const Converter> EinsumConverters();
std::span<const Converter> EncoderConverters();
std::span<const Converter> FeatureConverters();
std::span<const Converter> ImageConverters();
std::span<const Converter> LinearConverters();
std::span<const Converter> LoopConverters();
std::span<const Converter> LossConverters();
std::span<const Converter> MapConverters();
std::span<const Converter> RandomConverters();
std::span<const Converter> RoiConverters();
std::span<const Converter> RecurrentConverters();
std::span<const Converter> SamplingConverters();
std::span<const Converter> ScanConverters();
std::span<const Converter> SelectionConverters();
std::span<const Converter> SequenceConverters();
std::span<const Converter> SequenceMapConverters();
std::span<const Converter> SpectralConverters();
std::span<const Converter> StringConverters();
std::span<const Converter> SvmConverters();
std::span<const Converter> TextConverters();
std::span<const Converter> TrainingConverters();
std::span<const Converter> TreeConverters();
std::span<const Converter> UnpoolConverters();
std::span<const Converter> QuantizeConverters();

// Of the domain com.microsoft.
std::span<const Converter> BlockConverters();
std::span<const Converter> DynamicQuantizeConverters();
std::span<const Converter> FusedConverters();
std::span<const Converter> GroupQueryConverters();
std::span<const Converter> MicrosoftAttentionConverters();
std::span<const Converter> QLinearConverters();
std::span<const Converter> SkipNormalizationConverters();

}  // namespace encore::onnx

#endif  // ENCORE_IR_IMPORT_ONNX_CONVERTERS_H_
