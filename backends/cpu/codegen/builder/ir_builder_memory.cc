#include <optional>
#include <utility>

#include "encore/backends/cpu/codegen/builder/ir_builder.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/strings.h"

namespace encore::backends::cpu {

Value IrBuilder::Gep(const Value& base, Elem elem, const Value& index) {
  if (index.name == "0") return base;
  const auto get = [&] {
    return Compute({Elem::kPtr, index.lanes()},
                   StrCat("getelementptr ", IrType{elem, 1}.ToString(), ", ",
                          base.ToString(), ", ", index.ToString()));
  };
  if (index.lanes() > 1 || index.type.elem != Elem::kI64) return get();
  // Constants come last, so that neighbours share what is before them.
  if (const auto sum = sums_.find(index.name); sum != sums_.end()) {
    const int64_t offset = sum->second.offset;
    return Gep(Gep(base, elem, sum->second.base), elem, I64(offset));
  }
  const std::optional<int64_t> offset = ConstantOf(index);
  if (!offset) return get();
  const auto known = pointers_.find(base.name);
  if (known != pointers_.end() && known->second.elem == elem) {
    const Sum sum = known->second;
    return Gep(sum.base, elem, Add(I64(sum.offset), *offset));
  }
  const Value value = get();
  pointers_.try_emplace(value.name, Sum{base, *offset, elem});
  return value;
}

Value IrBuilder::Load(IrType type, const Value& pointer, int align) {
  return Read(type, StrCat("load ", type.ToString(), ", ", pointer.ToString(),
                           ", align ", align));
}

void IrBuilder::Store(const Value& value, const Value& pointer, int align) {
  Write(StrCat("store ", value.ToString(), ", ", pointer.ToString(), ", align ",
               align));
}

Value IrBuilder::MaskedLoad(IrType type, const Value& pointer,
                            const Value& mask, const Value& otherwise,
                            int align) {
  if (const auto truth = TruthOf(mask)) {
    return *truth ? Load(type, pointer, align) : otherwise;
  }
  const std::string head = StrCat("llvm.masked.load.", type.Suffix(), ".p0");
  const std::string result = type.ToString();
  Declare(StrCat("declare ", result, " @", head, "(ptr, i32 immarg, ",
                 mask.type.ToString(), ", ", result, ")"));
  return Read(type, StrCat("call ", result, " @", head, "(", pointer.ToString(),
                           ", i32 ", align, ", ", mask.ToString(), ", ",
                           otherwise.ToString(), ")"));
}

void IrBuilder::MaskedStore(const Value& value, const Value& pointer,
                            const Value& mask, int align) {
  const std::string head =
      StrCat("llvm.masked.store.", value.type.Suffix(), ".p0");
  Declare(StrCat("declare void @", head, "(", value.type.ToString(),
                 ", ptr, i32 immarg, ", mask.type.ToString(), ")"));
  Write(StrCat("call void @", head, "(", value.ToString(), ", ",
               pointer.ToString(), ", i32 ", align, ", ", mask.ToString(),
               ")"));
}

Value IrBuilder::Gather(IrType type, const Value& pointers, const Value& mask,
                        const Value& otherwise, int align) {
  const std::string head =
      StrCat("llvm.masked.gather.", type.Suffix(), ".", pointers.type.Suffix());
  const std::string result = type.ToString();
  Declare(StrCat("declare ", result, " @", head, "(", pointers.type.ToString(),
                 ", i32 immarg, ", mask.type.ToString(), ", ", result, ")"));
  return Read(type, StrCat("call ", result, " @", head, "(",
                           pointers.ToString(), ", i32 ", align, ", ",
                           mask.ToString(), ", ", otherwise.ToString(), ")"));
}

void IrBuilder::Scatter(const Value& value, const Value& pointers,
                        const Value& mask, int align) {
  const std::string head = StrCat("llvm.masked.scatter.", value.type.Suffix(),
                                  ".", pointers.type.Suffix());
  Declare(StrCat("declare void @", head, "(", value.type.ToString(), ", ",
                 pointers.type.ToString(), ", i32 immarg, ",
                 mask.type.ToString(), ")"));
  Write(StrCat("call void @", head, "(", value.ToString(), ", ",
               pointers.ToString(), ", i32 ", align, ", ", mask.ToString(),
               ")"));
}

void IrBuilder::AtomicUpdate(std::string_view opcode, const Value& pointer,
                             const Value& value) {
  ++writes_;
  Emit(value.type, StrCat("atomicrmw ", opcode, " ", pointer.ToString(), ", ",
                          value.ToString(), " monotonic"));
}

void IrBuilder::Prefetch(const Value& pointer, CacheLevel level) {
  Declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
  Line(StrCat("call void @llvm.prefetch.p0(", pointer.ToString(), ", i32 0, ",
              level == CacheLevel::kFirst ? "i32 3" : "i32 2", ", i32 1)"));
}

Value IrBuilder::NewArray(IrType type, int64_t count) {
  Value value{StrCat("%t", next_++), {Elem::kPtr, 1}};
  StrAppend(&allocas_, "  ", value.name, " = alloca [", count, " x ",
            type.ToString(), "], align ", kStackAlign, "\n");
  return value;
}

Value IrBuilder::Spill(const Value& value) {
  const Value memory = NewArray(value.type, 1);
  Store(value, memory, kStackAlign);
  return memory;
}

Value IrBuilder::NewVariable(IrType type) {
  // The text has no such name: what uses it elsewhere does not parse.
  const Value value{StrCat("%v", variables_.size()), {Elem::kPtr, 1}};
  variables_[value.name].memory = NewArray(type, 1);
  return value;
}

IrBuilder::Variable& IrBuilder::VariableOf(const Value& value) {
  const auto found = variables_.find(value.name);
  ENCORE_CHECK(found != variables_.end()) << value.ToString();
  return found->second;
}

Value IrBuilder::Get(const Value& variable, IrType type) {
  Variable& from = VariableOf(variable);
  if (!from.value.valid()) {
    Hold(&from, Emit(type, StrCat("load ", type.ToString(), ", ",
                                  from.memory.ToString())));
  }
  return from.value;
}

void IrBuilder::Set(const Value& variable, const Value& value) {
  Variable& to = VariableOf(variable);
  Hold(&to, value);
  to.changed = true;
}

void IrBuilder::Hold(Variable* variable, const Value& value) {
  if (!variable->value.valid()) held_.push_back(variable);
  variable->value = value;
}

void IrBuilder::StoreVariables() {
  for (Variable* const variable : held_) {
    if (variable->changed) {
      Line(StrCat("store ", variable->value.ToString(), ", ",
                  variable->memory.ToString()));
    }
    variable->value = {};
    variable->changed = false;
  }
  held_.clear();
}

Value IrBuilder::Read(IrType type, const std::string& text) {
  return ComputeSince(writes_, type, text);
}

void IrBuilder::Write(const std::string& text) {
  ++writes_;
  Line(text);
}

}  // namespace encore::backends::cpu
