// RNN, GRU and LSTM: scans over time, one per direction.

#include <algorithm>
#include <functional>

#include "encore/ir/import/onnx/convert/quantization.h"
#include "encore/ir/import/onnx/converters.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"

namespace encore::onnx {
namespace {

using Values = std::vector<Value>;
using Activation = std::function<Value(GraphBuilder&, Value)>;

// What the three have in common.
struct Recurrence {
  int gates = 1;
  int64_t hidden = 0;
  bool batch_first = false;
  // Per direction: whether it runs backward.
  std::vector<bool> backward;
  // Per direction, one after the other.
  std::vector<Activation> activations;
  std::optional<double> clip;
  // [T, B, I], [D, G H, I], [D, G H, H].
  Value x, w, r;
  // [D, G H] or [D, 1]; where they are there, W and R are integers times these,
  // and products take their first operand rounded as u8: they are sums of
  // integers, scaled.
  Value w_scale, r_scale;
  // [D, 2 G H]; may be absent.
  Value bias;
  // [B]; may be absent.
  Value lengths;
};

// The state of one direction as it goes through time.
struct Cell {
  const Recurrence& shape;
  int direction = 0;
  GraphBuilder& g;
  Value x;  // [B, G H], biases of the input added
  std::span<const Value> states;
  std::span<const Value> captures;

  Value Gate(Value all, int gate) const {
    return g.SliceAxis(all, 1, gate * shape.hidden, (gate + 1) * shape.hidden);
  }
  Value Activate(int number, Value value) const {
    if (shape.clip) {
      value = g.Min(g.Max(value, -*shape.clip), *shape.clip);
    }
    const size_t per_direction =
        shape.activations.size() / shape.backward.size();
    return shape.activations[direction * per_direction + number](g, value);
  }
};

// The new states of a cell; the first is the hidden one.
using Step = std::function<Values(const Cell& cell)>;

StatusOr<Activation> MakeActivation(const std::string& name,
                                    std::optional<double> alpha,
                                    std::optional<double> beta) {
  if (name == "Relu") {
    return Activation([](GraphBuilder& g, Value x) { return g.Relu(x); });
  }
  if (name == "Tanh") {
    return Activation([](GraphBuilder& g, Value x) { return g.Tanh(x); });
  }
  if (name == "Sigmoid") {
    return Activation([](GraphBuilder& g, Value x) { return g.Logistic(x); });
  }
  if (name == "Softsign") {
    return Activation([](GraphBuilder& g, Value x) { return g.Softsign(x); });
  }
  if (name == "Softplus") {
    return Activation([](GraphBuilder& g, Value x) { return g.Softplus(x); });
  }
  if (name == "LeakyRelu") {
    const double a = alpha.value_or(0.01);
    return Activation(
        [a](GraphBuilder& g, Value x) { return g.LeakyRelu(x, a); });
  }
  if (name == "Elu") {
    const double a = alpha.value_or(1.0);
    return Activation([a](GraphBuilder& g, Value x) { return g.Elu(x, a); });
  }
  if (name == "ThresholdedRelu") {
    const double a = alpha.value_or(1.0);
    return Activation(
        [a](GraphBuilder& g, Value x) { return g.ThresholdedRelu(x, a); });
  }
  const double a = alpha.value_or(name == "HardSigmoid" ? 0.2 : 1.0);
  const double b = beta.value_or(name == "HardSigmoid"  ? 0.5
                                 : name == "ScaledTanh" ? 1.0
                                                        : 0.0);
  if (name == "HardSigmoid") {
    return Activation(
        [a, b](GraphBuilder& g, Value x) { return g.HardSigmoid(x, a, b); });
  }
  if (name == "ScaledTanh") {
    return Activation([a, b](GraphBuilder& g, Value x) {
      return g.Mul(g.Tanh(g.Mul(x, b)), a);
    });
  }
  if (name == "Affine") {
    return Activation(
        [a, b](GraphBuilder& g, Value x) { return g.Add(g.Mul(x, a), b); });
  }
  return NodeContext::Error(
      StrCat("attribute activations has the unknown entry ", Quote(name)));
}

Status ReadActivations(NodeContext& context,
                       std::span<const std::string_view> defaults,
                       Recurrence* shape) {
  AttributeReader& attributes = context.attributes();
  const size_t count = defaults.size() * shape->backward.size();
  ENCORE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          attributes.Strings("activations"));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> alphas,
                          attributes.Floats("activation_alpha"));
  ENCORE_ASSIGN_OR_RETURN(const std::vector<float> betas,
                          attributes.Floats("activation_beta"));
  if (!names.empty() && names.size() != count) {
    return NodeContext::Error(StrCat("attribute activations has ", names.size(),
                                     " entries, expected ", count));
  }
  // The lists have entries for the functions that take one, in their order.
  size_t next_alpha = 0, next_beta = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string name(names.empty() ? defaults[i % defaults.size()]
                                         : names[i]);
    const bool both =
        name == "HardSigmoid" || name == "ScaledTanh" || name == "Affine";
    const bool one =
        name == "LeakyRelu" || name == "Elu" || name == "ThresholdedRelu";
    std::optional<double> alpha, beta;
    if ((both || one) && next_alpha < alphas.size()) {
      alpha = alphas[next_alpha++];
    }
    if (both && next_beta < betas.size()) beta = betas[next_beta++];
    ENCORE_ASSIGN_OR_RETURN(Activation activation,
                            MakeActivation(name, alpha, beta));
    shape->activations.push_back(std::move(activation));
  }
  return OkStatus();
}

StatusOr<Recurrence> ReadRecurrence(
    NodeContext& context, int gates,
    std::span<const std::string_view> defaults) {
  AttributeReader& attributes = context.attributes();
  GraphBuilder& g = context.builder();
  Recurrence shape;
  shape.gates = gates;
  ENCORE_ASSIGN_OR_RETURN(shape.backward,
                          attributes.Word<std::vector<bool>>(
                              "direction", {{"forward", {false}},
                                            {"reverse", {true}},
                                            {"bidirectional", {false, true}}}));
  ENCORE_RETURN_IF_ERROR(ReadActivations(context, defaults, &shape));
  if (attributes.Has("clip")) {
    ENCORE_ASSIGN_OR_RETURN(const float clip, attributes.Float("clip", 0));
    shape.clip = clip;
  }
  ENCORE_ASSIGN_OR_RETURN(shape.batch_first, attributes.Bool("layout", false));
  attributes.Ignore("output_sequence");
  shape.x = context.Input(0);
  shape.w = context.Input(1);
  shape.r = context.Input(2);
  if (shape.x.rank() != 3 || shape.w.rank() != 3 || shape.r.rank() != 3 ||
      !shape.r.shape()[2].is_constant()) {
    return context.ShapeMismatch(
        "inputs X, W and R must have rank 3, and a known last extent of R");
  }
  shape.hidden = shape.r.shape()[2].constant();
  ENCORE_ASSIGN_OR_RETURN(const int64_t declared,
                          attributes.Int("hidden_size", shape.hidden));
  const auto directions = static_cast<int64_t>(shape.backward.size());
  if (declared != shape.hidden || !(shape.w.shape()[0] == Dim(directions)) ||
      !(shape.w.shape()[1] == Dim(gates * shape.hidden))) {
    return NodeContext::Error(
        StrCat("inputs W and R are ", shape.w.type(), " and ", shape.r.type(),
               " for ", directions, " directions and hidden_size ", declared));
  }
  if (shape.batch_first) shape.x = g.Transpose(shape.x, {1, 0, 2});
  if (context.HasInput(3)) shape.bias = context.Input(3);
  if (context.HasInput(4))
    shape.lengths = g.Cast(context.Input(4), DType::kI64);
  ENCORE_RETURN_IF_ERROR(g.status());
  return shape;
}

// Part `d` along dim 0, dropped.
Value Part(GraphBuilder& g, Value x, int64_t d) {
  return g.Squeeze(g.SliceAxis(x, 0, d, d + 1), {0});
}

// Half `half` of the biases of direction d, [G H].
Value BiasOf(GraphBuilder& g, const Recurrence& shape, int d, int half) {
  const int64_t size = shape.gates * shape.hidden;
  return g.SliceAxis(Part(g, shape.bias, d), 0, half * size, (half + 1) * size);
}

// An initial state [D, B, H] (or batch first), zeros where it is left out.
Value InitialState(NodeContext& context, const Recurrence& shape, int input) {
  GraphBuilder& g = context.builder();
  if (context.HasInput(input)) {
    const Value state = context.Input(input);
    return shape.batch_first ? g.Transpose(state, {1, 0, 2}) : state;
  }
  const auto directions = static_cast<int64_t>(shape.backward.size());
  return g.Full({directions, shape.x.shape()[1], shape.hidden},
                context.Scalar(shape.x.dtype(), 0));
}

// x times weights, which are integers where they have a scale.
Value Product(GraphBuilder& g, Value x, Value weights, Value scale) {
  if (!scale.valid()) return g.MatMul(x, weights);
  const DynamicSteps rounded = StepsOf(g, x);
  return g.Mul(g.MatMul(rounded.steps, weights), g.Mul(scale, rounded.scale));
}

struct DirectionResult {
  Value sequence;  // [T, B, H]
  Values states;   // [B, H] each
};

DirectionResult RunDirection(GraphBuilder& g, const Recurrence& shape, int d,
                             std::span<const Value> initial,
                             std::span<const Value> captures,
                             const Step& step) {
  Value x =
      Product(g, shape.x, g.TransposeMatrix(Part(g, shape.w, d)),
              shape.w_scale.valid() ? Part(g, shape.w_scale, d) : Value());
  if (shape.bias.valid()) x = g.Add(x, BiasOf(g, shape, d, 0));
  Values operands;
  for (const Value& state : initial) operands.push_back(Part(g, state, d));
  const size_t states = operands.size();
  operands.push_back(x);
  operands.push_back(g.Iota(DType::kI64, {shape.x.shape()[0]}, 0));
  const size_t first_capture = operands.size();
  operands.insert(operands.end(), captures.begin(), captures.end());
  const bool masked = shape.lengths.valid();
  if (masked) operands.push_back(shape.lengths);
  const auto body = [&](GraphBuilder& inner, std::span<const Value> in) {
    const Cell cell{shape,
                    d,
                    inner,
                    in[states],
                    in.first(states),
                    in.subspan(first_capture, captures.size())};
    Values next = step(cell);
    Value output = next[0];
    if (masked) {
      // Past its end a sequence keeps its state and gives zeros.
      const Value within = inner.Unsqueeze(
          inner.Compare(in[states + 1], in.back(), Comparison::kLt), {1});
      output = inner.Select(within, output, 0.0);
      for (size_t i = 0; i < states; ++i) {
        next[i] = inner.Select(within, next[i], in[i]);
      }
    }
    next.push_back(output);
    return next;
  };
  ScanAttrs attrs;
  attrs.carried = static_cast<int64_t>(states);
  attrs.captures = static_cast<int64_t>(operands.size() - first_capture);
  attrs.scan_axes = {0, 0, 0};
  attrs.directions = Ints(3, shape.backward[d] ? 1 : 0);
  Values results = g.Scan(operands, body, std::move(attrs));
  results.resize(states + 1);
  const Value sequence = results.back();
  results.pop_back();
  return {sequence, std::move(results)};
}

// Runs all directions; `captures` gives what a direction's step takes beside
// its states.
Status Run(NodeContext& context, const Recurrence& shape,
           std::span<const Value> initial,
           const std::function<Values(int direction)>& captures,
           const Step& step) {
  GraphBuilder& g = context.builder();
  Values sequences;
  std::vector<Values> finals(initial.size());
  for (int d = 0; d < static_cast<int>(shape.backward.size()); ++d) {
    const DirectionResult result =
        RunDirection(g, shape, d, initial, captures(d), step);
    ENCORE_RETURN_IF_ERROR(g.status());
    sequences.push_back(g.Unsqueeze(result.sequence, {1}));
    for (size_t i = 0; i < finals.size(); ++i) {
      finals[i].push_back(g.Unsqueeze(result.states[i], {0}));
    }
  }
  Value y = g.Concat(sequences, 1);
  if (shape.batch_first) y = g.Transpose(y, {2, 0, 1, 3});
  ENCORE_RETURN_IF_ERROR(context.Output(0, y));
  for (size_t i = 0; i < finals.size(); ++i) {
    Value state = g.Concat(finals[i], 0);
    if (shape.batch_first) state = g.Transpose(state, {1, 0, 2});
    ENCORE_RETURN_IF_ERROR(context.Output(static_cast<int>(i) + 1, state));
  }
  return OkStatus();
}

// R of a direction, transposed to [H, G H], the biases of the recurrence and
// R's scale, where there are any.
Values Recurrent(GraphBuilder& g, const Recurrence& shape, int d) {
  Values captures = {g.TransposeMatrix(Part(g, shape.r, d))};
  if (shape.bias.valid()) captures.push_back(BiasOf(g, shape, d, 1));
  if (shape.r_scale.valid()) captures.push_back(Part(g, shape.r_scale, d));
  return captures;
}

// h R^T and the recurrence's biases: [B, G H].
Value FromHidden(const Cell& cell, Value hidden) {
  const bool biased = cell.shape.bias.valid();
  const Value scale =
      cell.shape.r_scale.valid() ? cell.captures[1 + biased] : Value();
  const Value product = Product(cell.g, hidden, cell.captures[0], scale);
  return biased ? cell.g.Add(product, cell.captures[1]) : product;
}

Status Rnn(NodeContext& context) {
  constexpr std::string_view kActivations[] = {"Tanh"};
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 6));
  ENCORE_ASSIGN_OR_RETURN(const Recurrence shape,
                          ReadRecurrence(context, 1, kActivations));
  const Value initial[] = {InitialState(context, shape, 5)};
  return Run(
      context, shape, initial,
      [&](int d) { return Recurrent(context.builder(), shape, d); },
      [](const Cell& cell) {
        const Value sum = cell.g.Add(cell.x, FromHidden(cell, cell.states[0]));
        return Values{cell.Activate(0, sum)};
      });
}

Values GruStep(const Cell& cell, bool linear_before_reset) {
  GraphBuilder& g = cell.g;
  const int64_t hidden = cell.shape.hidden;
  const Value h = cell.states[0];
  const Value all = FromHidden(cell, h);
  const auto gate = [&](int number) {
    return cell.Activate(
        0, g.Add(cell.Gate(cell.x, number), cell.Gate(all, number)));
  };
  const Value update = gate(0), reset = gate(1);
  Value candidate;
  if (linear_before_reset) {
    candidate = g.Mul(reset, cell.Gate(all, 2));
  } else {
    const Value weights =
        g.SliceAxis(cell.captures[0], 1, 2 * hidden, 3 * hidden);
    candidate = g.MatMul(g.Mul(reset, h), weights);
    if (cell.shape.bias.valid()) {
      candidate = g.Add(
          candidate, g.SliceAxis(cell.captures[1], 0, 2 * hidden, 3 * hidden));
    }
  }
  candidate = cell.Activate(1, g.Add(cell.Gate(cell.x, 2), candidate));
  return {g.Add(g.Mul(g.Sub(1.0, update), candidate), g.Mul(update, h))};
}

Status Gru(NodeContext& context) {
  constexpr std::string_view kActivations[] = {"Sigmoid", "Tanh"};
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 6));
  ENCORE_ASSIGN_OR_RETURN(const bool linear, context.attributes().Bool(
                                                 "linear_before_reset", false));
  ENCORE_ASSIGN_OR_RETURN(const Recurrence shape,
                          ReadRecurrence(context, 3, kActivations));
  const Value initial[] = {InitialState(context, shape, 5)};
  return Run(
      context, shape, initial,
      [&](int d) { return Recurrent(context.builder(), shape, d); },
      [linear](const Cell& cell) { return GruStep(cell, linear); });
}

Values LstmStep(const Cell& cell, bool peepholes, bool coupled) {
  GraphBuilder& g = cell.g;
  const Value c = cell.states[1];
  const Value all = g.Add(cell.x, FromHidden(cell, cell.states[0]));
  const auto peep = [&](Value gate, int number, Value state) {
    if (!peepholes) return gate;
    const int64_t hidden = cell.shape.hidden;
    return g.Add(
        gate, g.Mul(state, g.SliceAxis(cell.captures.back(), 0, number * hidden,
                                       (number + 1) * hidden)));
  };
  // Gates stand as input, output, forget, cell; peepholes as input, output,
  // forget.
  const Value in = cell.Activate(0, peep(cell.Gate(all, 0), 0, c));
  const Value forget = coupled
                           ? g.Sub(1.0, in)
                           : cell.Activate(0, peep(cell.Gate(all, 2), 2, c));
  const Value next =
      g.Add(g.Mul(forget, c), g.Mul(in, cell.Activate(1, cell.Gate(all, 3))));
  const Value out = cell.Activate(0, peep(cell.Gate(all, 1), 1, next));
  // The clip is of the gates' inputs, not of the cell.
  const size_t per_direction =
      cell.shape.activations.size() / cell.shape.backward.size();
  const Value shown =
      cell.shape.activations[cell.direction * per_direction + 2](g, next);
  return {g.Mul(out, shown), next};
}

Status Lstm(NodeContext& context) {
  constexpr std::string_view kActivations[] = {"Sigmoid", "Tanh", "Tanh"};
  // The last two, scales, only DynamicQuantizeLSTM gives.
  ENCORE_RETURN_IF_ERROR(context.CheckInputs(3, 10));
  ENCORE_ASSIGN_OR_RETURN(const bool coupled,
                          context.attributes().Bool("input_forget", false));
  ENCORE_ASSIGN_OR_RETURN(Recurrence shape,
                          ReadRecurrence(context, 4, kActivations));
  if (context.HasInput(8)) shape.w_scale = context.Input(8);
  if (context.HasInput(9)) shape.r_scale = context.Input(9);
  GraphBuilder& g = context.builder();
  const Value initial[] = {InitialState(context, shape, 5),
                           InitialState(context, shape, 6)};
  const bool peepholes = context.HasInput(7);
  return Run(
      context, shape, initial,
      [&](int d) {
        Values captures = Recurrent(g, shape, d);
        if (peepholes) captures.push_back(Part(g, context.Input(7), d));
        return captures;
      },
      [&](const Cell& cell) { return LstmStep(cell, peepholes, coupled); });
}

constexpr Converter kConverters[] = {
    {"GRU", Gru, Op::kScan},
    {"LSTM", Lstm, Op::kScan},
    {"RNN", Rnn, Op::kScan},
};

}  // namespace

std::span<const Converter> RecurrentConverters() { return kConverters; }

}  // namespace encore::onnx
