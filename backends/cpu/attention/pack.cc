#include "encore/backends/cpu/attention/pack.h"

#include <utility>
#include <vector>

#include "encore/ir/support/integers.h"

namespace encore::backends::cpu {
namespace {

// Panels of `panel_vectors` vectors of `value`, along `along` from `first` on;
// lines of a panel are `depth` points of `across` from `start` on.
struct Panels {
  ExprId value;
  uint32_t along = 0;
  Value first;
  int64_t extent = 1;
  int across = kNoVariable;
  Value start;
  int64_t depth = 1;
  int panel_vectors = 1;
  int64_t offset = 0;  // in scratch
};

// One panel as code.
class Panel {
 public:
  Panel(const AttentionCode& code, const Panels& panels, const Value& begin,
        int64_t extent)
      : c_(code),
        b_(code.b),
        p_(panels),
        begin_(b_.Add(p_.first, begin)),
        extent_(extent),
        width_(RoundUp<int64_t>(extent, code.s.lanes)),
        to_(code.Scratch(p_.offset, b_.Mul(begin, p_.depth))) {}

  void Emit() {
    const int64_t lanes = c_.s.lanes;
    const bool transposed =
        IsTransposed(c_.attention.flat(), p_.value, static_cast<int>(p_.along),
                     p_.across, c_.s.lanes);
    const int64_t whole = transposed ? p_.depth / lanes * lanes : 0;
    if (whole > 0) {
      b_.Loop(IrBuilder::I64(0), IrBuilder::I64(whole), lanes,
              [&](const Value& k) { EmitTransposed(k); });
    }
    if (whole < p_.depth) {
      b_.Loop(IrBuilder::I64(whole), IrBuilder::I64(p_.depth), 1,
              [&](const Value& k) { EmitLine(k); });
    }
    c_.e.SetLanes(kNoVariable, {});
  }

 private:
  void SetAcross(const Value& k) {
    if (p_.across == kNoVariable) return;
    c_.e.SetVariable(static_cast<uint32_t>(p_.across), b_.Add(p_.start, k));
  }
  Value Place(const Value& k, int64_t at) {
    return c_.At(b_.Gep(to_, Elem::kF32, b_.Mul(k, width_)), at);
  }

  void EmitLine(const Value& k) {
    SetAcross(k);
    for (int64_t at = 0; at < extent_; at += c_.s.lanes) {
      c_.e.SetVariable(p_.along, begin_, at);
      const int64_t left = extent_ - at;
      c_.e.SetLanes(static_cast<int>(p_.along),
                    left < c_.s.lanes ? IrBuilder::PrefixMask(c_.s.lanes, left)
                                      : Value());
      b_.Store(c_.e.EvalLanes(p_.value), Place(k, at), 4);
    }
  }

  // As many lines as there are lanes, from line k on.
  void EmitTransposed(const Value& k) {
    for (int64_t at = 0; at < extent_; at += c_.s.lanes) {
      std::vector<Value> vectors;
      for (int64_t i = at; i < at + c_.s.lanes; ++i) {
        if (i >= extent_) {
          vectors.push_back(IrBuilder::Zero(c_.vector()));
          continue;
        }
        SetAcross(k);
        c_.e.SetVariable(p_.along, begin_, i);
        c_.e.SetLanes(p_.across, {});
        vectors.push_back(c_.e.EvalLanes(p_.value));
      }
      vectors = Transposed(std::move(vectors));
      for (int i = 0; i < c_.s.lanes; ++i) {
        b_.Store(vectors[i], Place(b_.Add(k, i), at), 4);
      }
    }
  }

  // Of a square of vectors, by interleaving its halves once for each halving.
  std::vector<Value> Transposed(std::vector<Value> rows) {
    const size_t lanes = rows.size(), half = lanes / 2;
    std::vector<int> low(lanes), high(lanes);
    for (size_t i = 0; i < lanes; ++i) {
      low[i] = static_cast<int>(i / 2 + i % 2 * lanes);
      high[i] = static_cast<int>(low[i] + half);
    }
    for (size_t step = 1; step < lanes; step *= 2) {
      std::vector<Value> next;
      for (size_t i = 0; i < half; ++i) {
        next.push_back(b_.Shuffle(rows[i], rows[i + half], low));
        next.push_back(b_.Shuffle(rows[i], rows[i + half], high));
      }
      rows = std::move(next);
    }
    return rows;
  }

  const AttentionCode& c_;
  IrBuilder& b_;
  const Panels& p_;
  const Value begin_;
  const int64_t extent_, width_;
  const Value to_;
};

void EmitPanelsOf(const AttentionCode& code, const Panels& p) {
  const int64_t width = int64_t{p.panel_vectors} * code.s.lanes;
  const int64_t whole = p.extent / width * width;
  if (whole > 0) {
    code.b.Loop(
        IrBuilder::I64(0), IrBuilder::I64(whole), width,
        [&](const Value& begin) { Panel(code, p, begin, width).Emit(); });
  }
  if (whole < p.extent) {
    Panel(code, p, IrBuilder::I64(whole), p.extent - whole).Emit();
  }
}

}  // namespace

void PackKeys(const AttentionCode& code, const Value& first, int64_t keys) {
  const AttentionRegion& a = code.attention;
  EmitPanelsOf(code, {.value = a.key(),
                      .along = a.key_variable(),
                      .first = first,
                      .extent = keys,
                      .across = a.depth_variable(),
                      .start = IrBuilder::I64(0),
                      .depth = code.s.depth,
                      .panel_vectors = code.s.key_vectors,
                      .offset = code.layout.keys});
}

void PackValues(const AttentionCode& code, const Value& first, int64_t keys) {
  const AttentionRegion& a = code.attention;
  EmitPanelsOf(code, {.value = a.value(),
                      .along = a.column_variable(),
                      .first = IrBuilder::I64(0),
                      .extent = code.s.columns,
                      .across = static_cast<int>(a.key_variable()),
                      .start = first,
                      .depth = keys,
                      .panel_vectors = code.s.column_vectors,
                      .offset = code.layout.values});
}

void PackQuery(const AttentionCode& code, const Value& row,
               const Value& place) {
  code.SetRow(row);
  ForVectors(code, code.attention.depth_variable(), IrBuilder::I64(0),
             code.s.depth, [&](const Value& element, const Value&) {
               const Value at = code.b.Add(
                   code.b.Mul(place, code.s.padded_depth()), element);
               code.b.Store(code.b.Splat(code.e.Eval(code.attention.query()),
                                         code.s.lanes),
                            code.Scratch(code.layout.queries, at), 4);
             });
}

}  // namespace encore::backends::cpu
