#include "encore/backends/region/text.h"

#include <string_view>

#include "encore/ir/support/strings.h"

namespace encore::backends {
namespace {

void AppendExpr(std::string* out, ExprId id) {
  StrAppend(out, "%", id.valid() ? StrCat(id.value()) : std::string("none"));
}

std::string IndexText(const Index& index) {
  std::string sum;
  const auto add = [&sum](const std::string& piece) {
    if (!sum.empty()) sum += " + ";
    sum += piece;
  };
  for (const Index::Term& term : index.terms) {
    const std::string variable = StrCat("v", term.variable);
    add(term.stride == Dim(1) ? variable
                              : StrCat("(", term.stride, ")*", variable));
  }
  if (index.indirect.valid()) add(StrCat("%", index.indirect.value()));
  if (!(index.offset == Dim(0)) || sum.empty()) add(index.offset.ToString());
  return index.divisor == 1 ? sum : StrCat("(", sum, ")/", index.divisor);
}

std::string IndicesText(const std::vector<Index>& indices) {
  return StrCat("[",
                StrJoin(indices, ", ",
                        [](std::string* out, const Index& index) {
                          *out += IndexText(index);
                        }),
                "]");
}

std::string VariablesText(const std::vector<uint32_t>& variables) {
  return StrCat("[",
                StrJoin(variables, ",",
                        [](std::string* out, uint32_t variable) {
                          StrAppend(out, "v", variable);
                        }),
                "]");
}

std::string OperandText(const Operand& operand) {
  std::string out = StrCat(operand.dtype, "[", StrJoin(operand.dims, ","), "]");
  if (!operand.layout.is_row_major()) {
    StrAppend(&out, " ", ToText(operand.layout));
  }
  return out;
}

void AppendAccess(std::string* out, const Access& access) {
  if (access.source == Access::Source::kInput) {
    StrAppend(out, "in", access.number);
  } else {
    StrAppend(out, "s", access.number);
    if (access.component > 0) StrAppend(out, ".", access.component);
  }
  *out += IndicesText(access.indices);
  if (access.checked) {
    *out += " else ";
    AppendExpr(out, access.fill);
  }
}

void AppendCheck(std::string* out, const IndexCheck& check) {
  StrAppend(out, " below ", check.count, " of ", check.extent, " in dim ",
            check.axis, " of ", check.op, " ", check.node, "[", check.component,
            "] at ", IndexText(check.position));
}

void AppendDefinition(std::string* out, const Region& region,
                      const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kConstant:
      StrAppend(out, "bits ", expr.bits);
      return;
    case Expr::Kind::kVariable:
      StrAppend(out, "v", expr.number);
      return;
    case Expr::Kind::kDim:
      StrAppend(out, "dim ", expr.dim);
      return;
    case Expr::Kind::kLoad:
      *out += "load ";
      AppendAccess(out, region.accesses[expr.number]);
      return;
    case Expr::Kind::kOp:
      StrAppend(out, expr.op);
      if (expr.op == Op::kCompare) {
        StrAppend(out, ".", EnumText(expr.comparison));
      }
      if (expr.saturate) *out += ".saturate";
      for (const ExprId operand : expr.operands) {
        if (!operand.valid()) break;
        *out += " ";
        AppendExpr(out, operand);
      }
      return;
    case Expr::Kind::kChecked:
      *out += "checked ";
      AppendExpr(out, expr.operands[0]);
      AppendCheck(out, region.checks[expr.number]);
  }
}

void AppendStage(std::string* out, uint32_t number, const Stage& stage) {
  constexpr std::string_view kKinds[] = {"map", "reduce", "scan"};
  StrAppend(out, "  ", kKinds[static_cast<int>(stage.kind)], " s", number);
  if (stage.kind != Stage::Kind::kMap) {
    StrAppend(out, " ", Name(stage.combiner),
              stage.exclusive ? " exclusive" : "");
  }
  if (!stage.loops.empty()) {
    StrAppend(out, " loops ", VariablesText(stage.loops));
  }
  if (stage.kind == Stage::Kind::kReduce) {
    StrAppend(out, " over ", VariablesText(stage.reduced));
  }
  if (stage.value.valid()) {
    *out += " of ";
    AppendExpr(out, stage.value);
    StrAppend(out, " : ", stage.dtype);
    if (stage.kind != Stage::Kind::kMap) {
      StrAppend(out, " in ", stage.accumulate);
    }
  }
  for (const Store& store : stage.stores) {
    StrAppend(out, "\n    out", store.output, IndicesText(store.indices),
              store.checked ? " checked " : " ");
    StrAppend(out, EnumText(store.update), " ");
    AppendExpr(out, store.value);
  }
  *out += "\n";
}

}  // namespace

std::string ToText(const Region& region) {
  const size_t outer = region.outer;
  std::string out = "region vars=[";
  for (size_t v = 0; v < region.extents.size(); ++v) {
    StrAppend(&out, v == 0 ? "" : v == outer ? "|" : ",", region.extents[v]);
  }
  StrAppend(&out, "] outer=", region.outer, " symbols=", region.symbols, "\n");
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    StrAppend(&out, "  in", i, " ", OperandText(region.inputs[i]), "\n");
  }
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    StrAppend(&out, "  out", i, " ", OperandText(region.outputs[i]), "\n");
  }
  for (size_t i = 0; i < region.exprs.size(); ++i) {
    const Expr& expr = region.exprs[i];
    StrAppend(&out, "  %", i, " = ", expr.dtype, " ");
    AppendDefinition(&out, region, expr);
    out += "\n";
  }
  for (size_t i = 0; i < region.stages.size(); ++i) {
    AppendStage(&out, static_cast<uint32_t>(i), region.stages[i]);
  }
  if (region.contraction.has_value()) {
    const Contraction& c = *region.contraction;
    if (c.kind == Contraction::Kind::kDot) {
      StrAppend(&out, "  dot s", c.stage, " batch ", VariablesText(c.batch),
                " m ", VariablesText(c.m), " n ", VariablesText(c.n), " k ",
                VariablesText(c.k), "\n");
    } else {
      StrAppend(&out, "  convolution s", c.stage, " [",
                StrJoin(c.lhs_dims, ","), "] * [", StrJoin(c.rhs_dims, ","),
                "] -> [", StrJoin(c.result_dims, ","), "] strides [",
                StrJoin(c.convolution.strides, ","), "] groups ",
                c.convolution.feature_groups, "\n");
    }
  }
  return out;
}

std::string ToText(const Layout& layout) {
  if (layout.is_row_major()) return "row-major";
  std::string out;
  if (!layout.order.empty()) {
    StrAppend(&out, "order=[", StrJoin(layout.order, ","), "]");
  }
  if (!layout.blocks.empty()) {
    StrAppend(&out, out.empty() ? "" : " ", "blocks=[",
              StrJoin(layout.blocks, ",",
                      [](std::string* text, const Layout::Block& block) {
                        StrAppend(text, block.size, "@", block.dim);
                      }),
              "]");
  }
  return out;
}

}  // namespace encore::backends
