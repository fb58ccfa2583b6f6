#include "encore/opt/tensor/coded/merge_products.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "encore/ir/ops/op.h"
#include "encore/ir/types/shape.h"
#include "encore/opt/egraph/core/egraph.h"
#include "encore/opt/tensor/coded/coded_rules.h"
#include "encore/opt/tensor/interned.h"

namespace encore::opt {
namespace {

namespace eg = ::encore::egraph;

// Products beyond these are merged among themselves.
constexpr size_t kMostMembers = 64;

struct Member {
  eg::ClassId other;   // the operand that is not shared
  eg::ClassId shared;  // the other
  eg::ClassId product;
  eg::ClassId c;  // of the product, when it was found
};

// The last dim of an operand that is neither summed nor a batch dim.
std::optional<int> LastFree(const DotGeneralAttrs& attrs, bool rhs, int rank) {
  const Ints& contract = rhs ? attrs.contract.rhs : attrs.contract.lhs;
  const Ints& batch = rhs ? attrs.batch.rhs : attrs.batch.lhs;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (std::ranges::find(contract, axis) == contract.end() &&
        std::ranges::find(batch, axis) == batch.end()) {
      return axis;
    }
  }
  return std::nullopt;
}

class Merger {
 public:
  Merger(TensorEGraph* tensors, RuleCount* count, eg::RuleId rule)
      : tensors_(*tensors), count_(*count), rule_(rule) {}

  void Run() {
    const eg::OpId dot = tensors_.OpOf(Op::kDotGeneral, 2);
    tensors_.graph().SyncOps();
    for (const eg::NodeId node : tensors_.graph().NodesOf(dot)) Add(node);
    for (auto& [key, members] : groups_) {
      std::ranges::sort(members, {}, &Member::c);
      const std::span<const Member> all(members);
      for (size_t i = 0; i < all.size(); i += kMostMembers) {
        const auto some =
            all.subspan(i, std::min(kMostMembers, all.size() - i));
        if (some.size() > 1) Merge(key, some);
      }
    }
    tensors_.graph().Rebuild();
  }

 private:
  // What the members of a group have in common. Shapes stand for their classes
  // in the order in which they came.
  struct Key {
    eg::ClassId shared;
    bool other_is_rhs;
    eg::Value attributes;
    uint32_t shape;

    auto operator<=>(const Key&) const = default;
  };

  void Add(eg::NodeId node) {
    const std::vector<eg::ClassId> operands = tensors_.operands(node);
    const auto& attrs = tensors_.attributes(node).Get<DotGeneralAttrs>();
    const std::vector<eg::ClassId> written = tensors_.WrittenOperands(node);
    const eg::Value attributes = tensors_.graph().args(node)[2];
    for (const bool rhs : {false, true}) {
      const eg::ClassId other = operands[rhs ? 1 : 0];
      const TensorType* const type = tensors_.type(other);
      if (type == nullptr) continue;
      const auto axis = LastFree(attrs, rhs, type->shape.rank());
      if (!axis) continue;
      Shape rest = type->shape;
      rest[*axis] = 0;
      groups_[{operands[rhs ? 0 : 1], rhs, attributes, shapes_.Number(rest)}]
          .push_back({written[rhs ? 1 : 0], written[rhs ? 0 : 1],
                      eg::ClassId(node.value()),
                      tensors_.graph().class_of(node)});
    }
  }

  void Merge(const Key& key, std::span<const Member> members) {
    eg::EGraph& graph = tensors_.graph();
    const Attributes attributes = tensors_.AttributesOf(key.attributes);
    const auto& attrs = attributes.Get<DotGeneralAttrs>();
    const int rank = shapes_[key.shape].rank();
    const int axis = *LastFree(attrs, key.other_is_rhs, rank);
    std::vector<eg::ClassId> others;
    for (const Member& member : members) others.push_back(member.other);
    const size_t enodes = graph.num_enodes();
    const eg::ClassId all =
        tensors_.Add(Op::kConcat, others, AxisAttrs{.axis = axis});
    const eg::ClassId shared = members.front().shared;
    const eg::ClassId operands[2] = {key.other_is_rhs ? shared : all,
                                     key.other_is_rhs ? all : shared};
    const eg::ClassId product =
        tensors_.Add(Op::kDotGeneral, operands, attributes);
    if (tensors_.type(product) == nullptr) return;
    // The last free dim of the second operand is the last of the result; that
    // of the first stands before the second's.
    const Shape shape = tensors_.type(product)->shape;
    int behind = 0;
    if (!key.other_is_rhs) {
      behind =
          tensors_.type(key.shared)->shape.rank() -
          static_cast<int>(attrs.contract.rhs.size() + attrs.batch.rhs.size());
    }
    const int at = shape.rank() - 1 - behind;
    Dim start = 0;
    for (const Member& member : members) {
      const Dim extent = tensors_.type(member.other)->shape[axis];
      SliceAttrs slice;
      slice.starts.assign(shape.rank(), 0);
      slice.limits = shape.dims();
      slice.strides.assign(shape.rank(), 1);
      slice.starts[at] = start;
      slice.limits[at] = start = start + extent;
      const eg::ClassId part = tensors_.Add(Op::kSlice, {&product, 1}, slice);
      TensorEGraph::EqualIds equal;
      if (member.shared != shared) equal.emplace_back(shared, member.shared);
      count_.applications +=
          UniteByCode(&tensors_, rule_, member.product, part, std::move(equal));
    }
    count_.nodes += graph.num_enodes() - enodes;
  }

  TensorEGraph& tensors_;
  RuleCount& count_;
  const eg::RuleId rule_;
  Interned<Shape> shapes_;
  std::map<Key, std::vector<Member>> groups_;
};

}  // namespace

void MergeProducts(TensorEGraph* tensors, RuleCount* count, eg::RuleId rule) {
  Merger(tensors, count, rule).Run();
}

}  // namespace encore::opt
