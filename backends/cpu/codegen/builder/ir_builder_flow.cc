#include <string>
#include <vector>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {

std::string IrBuilder::NewLabel() { return StrCat("b", next_label_++); }

void IrBuilder::Branch(const std::string& text) {
  StoreVariables();
  Line(StrCat("br ", text));
}

void IrBuilder::StartBlock(const std::string& label) {
  ++writes_;  // on another way to here
  StrAppend(&body_, label, ":\n");
  label_ = label;
}

void IrBuilder::Loop(const Value& begin, const Value& end, int64_t step,
                     const std::function<void(const Value&)>& body) {
  const auto first = ConstantOf(begin), last = ConstantOf(end);
  if (first && last && *first >= *last) return;
  if (first && last && *last - *first <= step) return body(begin);
  const std::string head = NewLabel(), exit = NewLabel();
  const Value induction{StrCat("%t", next_++), begin.type};
  const Value next{StrCat("%t", next_++), begin.type};
  std::string entry = label_;
  if (!(first && last)) {
    const Value any = Compare("slt", begin, end);
    Branch(StrCat("i1 ", any.name, ", label %", head, ", label %", exit));
  } else {
    Branch(StrCat("label %", head));
  }
  StartBlock(head);
  // The phi names the block that the body ends in, which is known afterwards.
  const size_t phi_position = body_.size();
  InScope([&] { body(induction); });
  const std::string phi = StrCat(
      "  ", induction.name, " = phi ", begin.type.ToString(), " [ ", begin.name,
      ", %", entry, " ], [ ", next.name, ", %", label_, " ]\n");
  body_.insert(phi_position, phi);
  Line(StrCat(next.name, " = add nuw nsw ", induction.ToString(), ", ", step));
  const Value more = Compare("slt", next, end);
  Branch(StrCat("i1 ", more.name, ", label %", head, ", label %", exit));
  StartBlock(exit);
}

void IrBuilder::While(const std::function<Value()>& condition,
                      const std::function<void()>& body) {
  const std::string head = NewLabel(), inside = NewLabel(), exit = NewLabel();
  Branch(StrCat("label %", head));
  StartBlock(head);
  const Value more = condition();
  Branch(StrCat("i1 ", more.name, ", label %", inside, ", label %", exit));
  StartBlock(inside);
  InScope(body);
  Branch(StrCat("label %", head));
  StartBlock(exit);
}

void IrBuilder::If(const Value& condition, const std::function<void()>& then,
                   const std::function<void()>& otherwise) {
  if (const auto truth = TruthOf(condition)) {
    if (*truth) return then();
    return otherwise ? otherwise() : void();
  }
  const std::string yes = NewLabel(), no = NewLabel(), join = NewLabel();
  Branch(StrCat("i1 ", condition.name, ", label %", yes, ", label %",
                otherwise ? no : join));
  StartBlock(yes);
  InScope(then);
  Branch(StrCat("label %", join));
  if (otherwise) {
    StartBlock(no);
    InScope(otherwise);
    Branch(StrCat("label %", join));
  }
  StartBlock(join);
}

void IrBuilder::Call(const Value& function, const std::vector<Value>& arguments,
                     std::string_view attributes) {
  Write(StrCat("call void ", function.name, "(",
               StrJoin(arguments, ", ",
                       [](std::string* out, const Value& v) {
                         out->append(v.ToString());
                       }),
               ")", attributes.empty() ? "" : " ", attributes));
}

}  // namespace encore::backends::cpu
