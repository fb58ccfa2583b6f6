// IrBuilder: writes one LLVM function as text, with structured control flow.
//
// Generated kernels are LLVM IR in text form, so nothing here needs LLVM: the
// module behind compiler.h parses it on a cache miss. Values are SSA names with
// a type; a scalar meets a vector only after Splat. Loops and conditionals take
// callables that write their bodies. State that changes in loops lives in
// variables (NewVariable).
//
// What was computed before, where it is known whenever the next instruction
// runs, is not computed again (local value numbering, scoped by structured
// control flow: Briggs, Cooper and Simpson, Value Numbering, 1997), and
// constants are folded: unrolled tiles ask for the same addresses and masks at
// each of their points, and what LLVM need not read it need not remove.
//
// Not thread-safe. Misuse (types that do not fit) is a CHECK failure here or a
// parse error in the module, never bad code.
#ifndef ENCORE_BACKENDS_CPU_CODEGEN_BUILDER_IR_BUILDER_H_
#define ENCORE_BACKENDS_CPU_CODEGEN_BUILDER_IR_BUILDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace encore::backends::cpu {

enum class Elem : uint8_t {
  kI1,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kF32,
  kF64,
  kPtr
};

int ElemBits(Elem elem);
// Bytes of an element in memory.
int ElemBytes(Elem elem);
inline bool IsFloatElem(Elem elem) {
  return elem == Elem::kF16 || elem == Elem::kF32 || elem == Elem::kF64;
}

// lanes 1 is a scalar.
struct IrType {
  Elem elem = Elem::kI64;
  int lanes = 1;

  std::string ToString() const;  // "<16 x float>"
  std::string Suffix() const;    // "v16f32", as intrinsics are named
  IrType With(Elem other) const { return {other, lanes}; }
  IrType Lanes(int other) const { return {elem, other}; }
  bool operator==(const IrType&) const = default;
};

struct Value {
  std::string name;  // "%12", "7", "zeroinitializer"
  IrType type;

  bool valid() const { return !name.empty(); }
  int lanes() const { return type.lanes; }
  std::string ToString() const;  // "i64 %12"
};

class IrBuilder {
 public:
  // Constants. Floats are exact: written by their bits.
  static Value Int(IrType type, int64_t value);
  static Value I64(int64_t value) { return Int({Elem::kI64, 1}, value); }
  static Value I32(int64_t value) { return Int({Elem::kI32, 1}, value); }
  static Value Float(IrType type, double value);
  static Value Zero(IrType type);
  static Value True(int lanes);
  // <0, step, 2 * step, …> of an integer type, each `repeat` times.
  static Value Steps(IrType type, int64_t step, int64_t repeat = 1);
  // Lanes below `count` are true.
  static Value PrefixMask(int lanes, int64_t count);
  // A named parameter of the function.
  static Value Parameter(std::string_view name, Elem elem);

  // `opcode` as LLVM spells it: "fadd", "add", "shl", "and".
  Value Binary(std::string_view opcode, const Value& a, const Value& b);
  Value Unary(std::string_view opcode, const Value& a);  // "fneg"
  // `opcode`: "sitofp", "zext", …; the same value where the types are the same.
  Value Convert(std::string_view opcode, const Value& a, Elem to);
  Value Bitcast(const Value& a, Elem to);
  // `predicate`: "slt", "oeq", …; integers or floats by the operands' type.
  Value Compare(std::string_view predicate, const Value& a, const Value& b);
  Value Select(const Value& condition, const Value& a, const Value& b);
  // llvm.<name>.<suffix of the first operand>.
  Value Intrinsic(std::string_view name, std::vector<Value> operands,
                  std::string_view flags = {});
  Value Fma(const Value& a, const Value& b, const Value& c) {
    return Intrinsic("fma", {a, b, c});
  }
  // The larger or the smaller one of floats; NaN where one is, which is asked
  // of `a`: where many are combined, the new value. Of two zeros either.
  Value Extreme(bool max, const Value& a, const Value& b) {
    return Intrinsic(max ? "maximum" : "minimum", {a, b}, "nsz ");
  }
  // A conversion intrinsic such as fptosi.sat.
  Value ConvertIntrinsic(std::string_view name, const Value& a, Elem to);
  // The same value, through which LLVM combines nothing. Of floats; others are
  // what they were.
  Value Opaque(const Value& a);
  // The bitwise or of all lanes of an integer vector.
  Value ReduceOr(const Value& a);
  // a * 2^floor(exponent), rounded once; NaN of NaN. REQUIRES CanScaleByPower.
  Value ScaleByPower(const Value& a, const Value& exponent);
  // Whether there is an instruction for it: in f32 vectors of AVX-512.
  static bool CanScaleByPower(IrType type) {
    return type.elem == Elem::kF32 && type.lanes == 16;
  }
  Value Shuffle(const Value& a, const Value& b, std::span<const int> lanes);
  Value Extract(const Value& a, int lane);
  Value Insert(const Value& a, const Value& scalar, int lane);
  // The value in every lane; vectors of that many lanes stay.
  Value Splat(const Value& a, int lanes);

  // Integer arithmetic on scalars and vectors, folded where constant.
  Value Add(const Value& a, const Value& b);
  Value Sub(const Value& a, const Value& b);
  Value Mul(const Value& a, const Value& b);
  Value Mul(const Value& a, int64_t b);
  Value Add(const Value& a, int64_t b);

  // base + index elements of `elem`; vector indices give vectors of pointers.
  Value Gep(const Value& base, Elem elem, const Value& index);
  Value Load(IrType type, const Value& pointer, int align);
  void Store(const Value& value, const Value& pointer, int align);
  Value MaskedLoad(IrType type, const Value& pointer, const Value& mask,
                   const Value& otherwise, int align);
  void MaskedStore(const Value& value, const Value& pointer, const Value& mask,
                   int align);
  Value Gather(IrType type, const Value& pointers, const Value& mask,
               const Value& otherwise, int align);
  void Scatter(const Value& value, const Value& pointers, const Value& mask,
               int align);
  // *pointer = *pointer `opcode` value, of a scalar, at once.
  void AtomicUpdate(std::string_view opcode, const Value& pointer,
                    const Value& value);
  enum class CacheLevel : uint8_t { kFirst, kSecond };
  // The line of `pointer`, which need not be mapped.
  void Prefetch(const Value& pointer, CacheLevel level = CacheLevel::kFirst);

  // A variable, for Get and Set alone: it has no address. Between blocks it is
  // in memory, of which LLVM makes registers.
  Value NewVariable(IrType type);
  // What Set put there last. `type` is the variable's.
  Value Get(const Value& variable, IrType type);
  void Set(const Value& variable, const Value& value);

  // Memory on the stack of the function, aligned to kStackAlign.
  static constexpr int kStackAlign = 64;
  Value NewArray(IrType type, int64_t count);
  // Such memory that holds the value.
  Value Spill(const Value& value);

  // for (i = begin; i < end; i += step), signed; no iteration where
  // begin >= end.
  void Loop(const Value& begin, const Value& end, int64_t step,
            const std::function<void(const Value&)>& body);
  // while (condition()) body().
  void While(const std::function<Value()>& condition,
             const std::function<void()>& body);
  void If(const Value& condition, const std::function<void()>& then,
          const std::function<void()>& otherwise = nullptr);

  // Calls a pointer: returns nothing. `attributes`: of the call, as LLVM spells
  // them.
  void Call(const Value& function, const std::vector<Value>& arguments,
            std::string_view attributes = {});

  // The module's text: the function `name` with these parameters
  // ("ptr noalias %buffers, …"). `vector_bits`: widest register.
  std::string Finish(std::string_view name, std::string_view parameters,
                     int vector_bits);

 private:
  // llvm.<name>, whose result is of that type.
  Value CallIntrinsic(std::string_view name, IrType type,
                      const std::vector<Value>& operands,
                      std::string_view flags = {});
  Value Emit(IrType type, const std::string& text);
  // One that only depends on its operands: what it gave before, where known.
  Value Compute(IrType type, const std::string& text);
  // One that reads memory too: what it gave since the last write, where known.
  Value Read(IrType type, const std::string& text);
  Value ComputeSince(uint64_t writes, IrType type, const std::string& text);
  // One that writes memory or may do so.
  void Write(const std::string& text);
  // Ends a block: `text` is what follows "br".
  void Branch(const std::string& text);
  struct Variable {
    Value memory;
    Value value;           // in this block; not valid: it is in memory
    bool changed = false;  // it is not what is in memory
  };
  Variable& VariableOf(const Value& value);
  void Hold(Variable* variable, const Value& value);
  void StoreVariables();  // to where the next block finds them
  static std::optional<int64_t> ConstantOf(const Value& value);
  // What all lanes of a constant of i1 are.
  static std::optional<bool> TruthOf(const Value& value);
  // a + b of i64, the constants of sums joined.
  Value AddOffset(const Value& a, int64_t b);
  // What `body` computes is not known behind it.
  void InScope(const std::function<void()>& body);
  void Line(const std::string& text);
  void Declare(const std::string& declaration);
  std::string NewLabel();
  void StartBlock(const std::string& label);

  std::string allocas_, body_;
  std::set<std::string> declarations_;
  std::string label_ = "start";
  // What pure instructions gave, by their text, and in which scope.
  struct Known {
    std::string name;
    size_t scope = 0;
    uint64_t writes = 0;  // before it, where it reads memory
  };
  std::unordered_map<std::string, Known> known_;
  size_t scope_ = 0;
  std::vector<bool> open_ = {true};  // by scope
  // `base` + `offset` by the name of what has it: sums of i64, and pointers to
  // elements of one kind.
  struct Sum {
    Value base;
    int64_t offset = 0;
    Elem elem = Elem::kI64;
  };
  std::unordered_map<std::string, Sum> sums_, pointers_;
  uint64_t writes_ = 1;
  std::map<std::string, Variable> variables_;  // by name
  std::vector<Variable*> held_;                // those with a value
  int next_ = 0, next_label_ = 0;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_CODEGEN_BUILDER_IR_BUILDER_H_
