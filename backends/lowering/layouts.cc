#include "encore/backends/lowering/layouts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "encore/backends/backend.h"
#include "encore/backends/lowering/group.h"
#include "encore/backends/region/relayout.h"
#include "encore/ir/support/check.h"
#include "encore/ir/support/status_macros.h"
#include "encore/opt/extract/extract.h"
#include "encore/opt/extract/problem.h"

namespace encore::backends {
namespace {

namespace ex = ::encore::opt::extract;

// Layouts of a value beside row-major.
constexpr size_t kMostLayouts = 2;
constexpr uint64_t kExtractionWork = 200'000;
// A gain below this share is none.
constexpr double kLeastGain = 0.002;

// A value in a layout.
using FormId = uint32_t;
struct Form {
  ValueId value;
  Layout layout;
  int rank = 0;
  int backend = 0;  // where it is made of another form
};

// A kernel in some layouts.
struct Option {
  size_t kernel = 0;
  std::vector<Layout> inputs = {}, outputs = {};
  double seconds = 0;
  std::vector<FormId> reads = {}, writes = {};
};

// How a form may come about.
struct Way {
  enum class Kind : uint8_t { kGiven, kView, kOption, kCopy };
  Kind kind = Kind::kGiven;
  uint32_t number = 0;  // of the option; of the form that is viewed or copied
  double seconds = 0;
};

bool AnyLayout(const std::vector<Layout>& layouts) {
  return std::ranges::any_of(
      layouts, [](const Layout& layout) { return !layout.is_row_major(); });
}

// Whether a tensor may lie in the layout of one of `rank` dims, without
// padding.
bool Fits(const Operand& operand, const Layout& layout, int rank) {
  if (static_cast<int>(operand.dims.size()) != rank) return false;
  return std::ranges::all_of(operand.dims,
                             [](const Dim& d) { return d.is_constant(); }) &&
         std::ranges::all_of(layout.blocks, [&](const Layout::Block& block) {
           return operand.dims[block.dim].constant() % block.size == 0;
         });
}

class LayoutChooser {
 public:
  LayoutChooser(const Graph& graph, const std::vector<bool>& weights,
                KernelTable* table, std::vector<ScopeKernel>* kernels,
                LayoutReport* report)
      : graph_(graph),
        weights_(weights),
        table_(*table),
        kernels_(*kernels),
        report_(report),
        forms_of_(graph.value_count()),
        readers_(graph.value_count()),
        makers_(graph.value_count()),
        in_kernel_(graph.node_count()) {}

  Status Run() {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      for (const NodeId node : kernels_[k].nodes) {
        in_kernel_[node.value()] = true;
      }
      for (const ValueId input : kernels_[k].built.inputs) {
        readers_[input.value()].push_back(k);
      }
      for (const ValueId output : kernels_[k].built.outputs) {
        makers_[output.value()].push_back(k);
      }
    }
    if (!AddAsked()) return OkStatus();
    AddNeighbors();
    AddWays();
    ENCORE_ASSIGN_OR_RETURN(const bool gains, Choose());
    if (gains) Rebuild();
    return OkStatus();
  }

 private:
  // --- Options.

  // The number of the form; nothing where the value has enough of them.
  std::optional<FormId> FormOf(ValueId value, const Layout& layout, int rank,
                               int backend) {
    std::vector<FormId>& forms = forms_of_[value.value()];
    for (const FormId form : forms) {
      if (forms_[form].layout == layout) return form;
    }
    const auto others = std::ranges::count_if(forms, [&](FormId form) {
      return !forms_[form].layout.is_row_major();
    });
    if (!layout.is_row_major() && static_cast<size_t>(others) >= kMostLayouts) {
      return std::nullopt;
    }
    const auto form = static_cast<FormId>(forms_.size());
    forms_.push_back({value, layout, rank, backend});
    forms.push_back(form);
    if (!layout.is_row_major()) pending_.push_back(form);
    return form;
  }
  FormId RowMajor(ValueId value, int backend) {
    return *FormOf(value, {}, graph_.shape(value).rank(), backend);
  }

  // An option with its forms; false where a value has too many.
  bool AddOption(Option option) {
    const ScopeKernel& kernel = kernels_[option.kernel];
    const auto add = [&](const std::vector<ValueId>& values,
                         const std::vector<Operand>& operands,
                         const std::vector<Layout>& layouts,
                         std::vector<FormId>* forms) {
      for (size_t i = 0; i < values.size(); ++i) {
        const auto form = FormOf(
            values[i], layouts.empty() ? Layout() : layouts[i],
            static_cast<int>(operands[i].dims.size()), kernel.site.backend);
        if (!form) return false;
        forms->push_back(*form);
      }
      return true;
    };
    const Region& region = kernel.built.region;
    if (!add(kernel.built.inputs, region.inputs, option.inputs,
             &option.reads) ||
        !add(kernel.built.outputs, region.outputs, option.outputs,
             &option.writes)) {
      return false;
    }
    if (kernel.site.prepare) option.seconds /= CallsPerLoad(table_.options());
    options_.push_back(std::move(option));
    return true;
  }

  // Every kernel as it is, and what backends ask for. Whether there is any of
  // the latter.
  bool AddAsked() {
    std::vector<Option> asked;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const ScopeKernel& kernel = kernels_[k];
      if (kernel.built.region.symbols > 0) continue;
      for (Candidate& candidate : table_.InOtherLayouts(
               kernel.built, Weights(kernel), kernel.site.backend)) {
        asked.push_back({.kernel = k,
                         .inputs = std::move(candidate.inputs),
                         .outputs = std::move(candidate.outputs),
                         .seconds = CallSeconds(candidate, table_.options())});
      }
    }
    if (asked.empty()) return false;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const ScopeKernel& kernel = kernels_[k];
      const auto seconds =
          table_.Seconds(kernel.built, Weights(kernel), kernel.site.backend);
      AddOption({.kernel = k, .seconds = seconds.value_or(0)});
    }
    for (Option& option : asked) AddOption(std::move(option));
    return true;
  }

  // Kernels beside one that works in some layout, in the same one, and those
  // beside these.
  void AddNeighbors() {
    std::set<std::pair<size_t, FormId>> tried;  // kernel, first form so laid
    for (size_t next = 0; next < pending_.size(); ++next) {
      const Form form = forms_[pending_[next]];
      const FormId layout = FirstLike(form);
      for (const auto* kernels :
           {&readers_[form.value.value()], &makers_[form.value.value()]}) {
        for (const size_t kernel : *kernels) {
          if (tried.emplace(kernel, layout).second) TryIn(kernel, form);
        }
      }
    }
  }
  FormId FirstLike(const Form& form) const {
    FormId like = 0;
    while (forms_[like].layout != form.layout ||
           forms_[like].rank != form.rank) {
      ++like;
    }
    return like;
  }

  // The kernel with all operands that fit in the form's layout, and as what
  // brings its inputs into it or its outputs out of it. Contractions say
  // themselves what they want.
  void TryIn(size_t kernel, const Form& form) {
    const Region& region = kernels_[kernel].built.region;
    if (region.symbols > 0 || region.contraction.has_value()) return;
    const auto laid = [&](const std::vector<Operand>& operands) {
      std::vector<Layout> layouts;
      for (const Operand& operand : operands) {
        layouts.push_back(Fits(operand, form.layout, form.rank) ? form.layout
                                                                : Layout());
      }
      return layouts;
    };
    const std::vector<Layout> inputs = laid(region.inputs);
    const std::vector<Layout> outputs = laid(region.outputs);
    const bool in = AnyLayout(inputs), out = AnyLayout(outputs);
    const std::vector<Layout> plain_inputs(inputs.size());
    const std::vector<Layout> plain_outputs(outputs.size());
    if (in && out) TryOption(kernel, inputs, outputs);
    if (in) TryOption(kernel, inputs, plain_outputs);
    if (out) TryOption(kernel, plain_inputs, outputs);
  }
  void TryOption(size_t number, const std::vector<Layout>& inputs,
                 const std::vector<Layout>& outputs) {
    const ScopeKernel& kernel = kernels_[number];
    BuiltRegion built = kernel.built;
    StatusOr<Region> region = WithLayouts(built.region, inputs, outputs);
    if (!region.ok()) return;
    built.region = *std::move(region);
    const auto seconds =
        table_.Seconds(built, Weights(kernel), kernel.site.backend);
    if (!seconds) return;
    AddOption({.kernel = number,
               .inputs = inputs,
               .outputs = outputs,
               .seconds = *seconds});
  }

  std::vector<bool> Weights(const ScopeKernel& kernel) const {
    return WeightInputs(weights_, kernel.built, kernel.site);
  }

  // --- The problem.

  void AddWays() {
    AddRoots();
    // Views lead on to other values.
    for (FormId form = 0; form < forms_.size(); ++form) {
      const ValueId value = forms_[form].value;
      const bool other = !forms_[form].layout.is_row_major();
      if (other || !makers_[value.value()].empty()) continue;
      const NodeId producer = graph_.producer(value);
      if (IsView(graph_, producer)) {
        RowMajor(graph_.operand(producer, 0), forms_[form].backend);
      }
    }
    ways_.resize(forms_.size());
    for (FormId form = 0; form < forms_.size(); ++form) AddWaysOf(form);
    for (uint32_t o = 0; o < options_.size(); ++o) {
      for (const FormId form : options_[o].writes) {
        ways_[form].push_back({Way::Kind::kOption, o, options_[o].seconds});
      }
    }
  }
  // What others than kernels read, behind views: no kernel comes before these.
  void AddRoots() {
    const std::vector<bool> live = LiveNodes(graph_);
    std::set<FormId> roots;
    const auto add = [&](ValueId value) {
      while (makers_[value.value()].empty() &&
             IsView(graph_, graph_.producer(value))) {
        value = graph_.operand(graph_.producer(value), 0);
      }
      roots.insert(RowMajor(value, 0));
    };
    for (const Graph::Output& output : graph_.outputs()) add(output.value);
    for (const NodeId node : Nodes(graph_)) {
      if (!live[node.value()] || in_kernel_[node.value()] ||
          IsView(graph_, node)) {
        continue;
      }
      for (const ValueId operand : graph_.operands(node)) add(operand);
    }
    roots_.assign(roots.begin(), roots.end());
  }

  // Those but options.
  void AddWaysOf(FormId number) {
    const Form& form = forms_[number];
    if (form.layout.is_row_major() && makers_[form.value.value()].empty()) {
      const NodeId producer = graph_.producer(form.value);
      if (IsView(graph_, producer)) {
        const FormId from = RowMajor(graph_.operand(producer, 0), form.backend);
        ways_[number].push_back({Way::Kind::kView, from, 0});
      } else {
        ways_[number].push_back({Way::Kind::kGiven, 0, 0});
      }
    }
    for (const FormId from : forms_of_[form.value.value()]) {
      if (from == number) continue;
      const ScopeKernel copy = CopyOf(from, number);
      const auto seconds =
          table_.Seconds(copy.built, Weights(copy), copy.site.backend);
      if (!seconds) continue;
      ways_[number].push_back({Way::Kind::kCopy, from,
                               copy.site.prepare
                                   ? *seconds / CallsPerLoad(table_.options())
                                   : *seconds});
    }
  }

  ScopeKernel CopyOf(FormId from, FormId to) const {
    const ValueId value = forms_[from].value;
    const TensorType& type = graph_.type(value);
    const auto dims = type.shape.dims();
    ScopeKernel copy;
    copy.built.region = CopyRegion(type.dtype, {dims.begin(), dims.end()},
                                   forms_[from].layout, forms_[to].layout);
    copy.built.inputs = copy.built.outputs = {value};
    const FormId other = forms_[to].layout.is_row_major() ? from : to;
    copy.site = {.backend = forms_[other].backend,
                 .prepare = weights_[value.value()]};
    return copy;
  }

  std::vector<ex::ClassIndex> ChildrenOf(const Way& way) const {
    switch (way.kind) {
      case Way::Kind::kGiven:
        return {};
      case Way::Kind::kView:
      case Way::Kind::kCopy:
        return {way.number};
      case Way::Kind::kOption:
        return options_[way.number].reads;
    }
    return {};
  }

  // Whether the choice is better than leaving all row-major.
  StatusOr<bool> Choose() {
    ex::Problem problem;
    ex::Selection start(forms_.size(), ex::kNoNode);
    for (FormId form = 0; form < forms_.size(); ++form) {
      for (const Way& way : ways_[form]) {
        const bool as_it_is = way.kind == Way::Kind::kOption
                                  ? way.number < kernels_.size()
                                  : way.kind != Way::Kind::kCopy;
        if (as_it_is) start[form] = problem.num_nodes();
        const bool several = way.kind == Way::Kind::kOption &&
                             options_[way.number].writes.size() > 1;
        problem.group.push_back(several ? way.number : ex::kNoGroup);
        problem.AddNode(way.seconds, ChildrenOf(way));
        way_of_.push_back(way);
      }
      problem.FinishClass();
    }
    problem.roots = roots_;
    ex::Options options;
    options.work = kExtractionWork;
    options.start = start;
    ENCORE_ASSIGN_OR_RETURN(const ex::Result result,
                            ex::Extract(problem, options));
    if (!result.feasible) return false;
    double row_major = 0;
    for (size_t k = 0; k < kernels_.size(); ++k)
      row_major += options_[k].seconds;
    choice_ = result.choice;
    const bool gains =
        result.cost < row_major * (1 - kLeastGain) && EachIsMadeOnce();
    const double cost = gains ? result.cost : row_major;
    if (report_ != nullptr) {
      *report_ = {forms_.size(), row_major, cost, result.lower_bound};
    }
    return gains;
  }

  // Whether no form is written by two of the chosen options.
  bool EachIsMadeOnce() {
    std::set<uint32_t> chosen;
    for (const ex::NodeIndex node : choice_) {
      if (node == ex::kNoNode) continue;
      if (way_of_[node].kind == Way::Kind::kOption) {
        chosen.insert(way_of_[node].number);
      }
    }
    std::set<FormId> written;
    chosen_options_.assign(kernels_.size(), {});
    for (const uint32_t option : chosen) {
      for (const FormId form : options_[option].writes) {
        if (!written.insert(form).second) return false;
      }
      chosen_options_[options_[option].kernel].push_back(option);
    }
    return true;
  }

  // --- The kernels again.

  void Rebuild() {
    std::vector<ScopeKernel> laid;
    std::set<FormId> there;
    // What leads to a form by copies and views from forms that kernels write.
    const auto require = [&](FormId form) {
      std::vector<FormId> path;
      for (FormId at = form; there.insert(at).second;) {
        path.push_back(at);
        const Way& way = way_of_[choice_[at]];
        if (way.kind == Way::Kind::kGiven) break;
        ENCORE_CHECK(way.kind != Way::Kind::kOption)
            << "a kernel reads what is made later";
        at = way.number;
      }
      for (auto it = path.rbegin(); it != path.rend(); ++it) {
        const Way& way = way_of_[choice_[*it]];
        if (way.kind != Way::Kind::kCopy) continue;
        laid.push_back(CopyOf(way.number, *it));
        laid.back().origins = OriginsOf(graph_.producer(forms_[*it].value));
      }
    };
    const std::set<FormId> roots(roots_.begin(), roots_.end());
    for (size_t k = 0; k < kernels_.size(); ++k) {
      for (const uint32_t number : chosen_options_[k]) {
        const Option& option = options_[number];
        for (const FormId form : option.reads) require(form);
        ScopeKernel& kernel = laid.emplace_back(kernels_[k]);
        Region& region = kernel.built.region;
        auto relaid = WithLayouts(region, option.inputs, option.outputs);
        ENCORE_CHECK(relaid.ok()) << relaid.status();
        region = *std::move(relaid);
        there.insert(option.writes.begin(), option.writes.end());
        // Nobody says when control flow reads it.
        for (const FormId form : option.writes) {
          for (const FormId other : forms_of_[forms_[form].value.value()]) {
            if (roots.contains(other) && choice_[other] != ex::kNoNode) {
              RequireNow(other, there, require);
            }
          }
        }
      }
    }
    kernels_ = std::move(laid);
  }
  // Where all that it comes from is there.
  template <typename Require>
  void RequireNow(FormId form, const std::set<FormId>& there, Require require) {
    FormId at = form;
    while (!there.contains(at)) {
      const Way& way = way_of_[choice_[at]];
      if (way.kind == Way::Kind::kOption) return;
      if (way.kind == Way::Kind::kGiven) break;
      at = way.number;
    }
    require(form);
  }
  std::vector<uint32_t> OriginsOf(NodeId node) const {
    for (const ScopeKernel& kernel : kernels_) {
      if (std::ranges::binary_search(kernel.nodes, node)) {
        return kernel.origins;
      }
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<bool>& weights_;
  KernelTable& table_;
  std::vector<ScopeKernel>& kernels_;
  LayoutReport* const report_;
  std::vector<Form> forms_;
  std::vector<std::vector<FormId>> forms_of_;          // by value
  std::vector<std::vector<size_t>> readers_, makers_;  // by value
  std::vector<bool> in_kernel_;                        // by node
  std::vector<FormId> pending_;  // not row-major, in the order of their coming
  std::vector<Option> options_;  // those of each kernel as it is come first
  std::vector<FormId> roots_;
  std::vector<std::vector<Way>> ways_;  // by form
  std::vector<Way> way_of_;             // by node of the problem
  ex::Selection choice_;
  std::vector<std::vector<uint32_t>> chosen_options_;  // by kernel
};

}  // namespace

Status ChooseLayouts(const Graph& graph, const std::vector<bool>& weights,
                     KernelTable* table, std::vector<ScopeKernel>* kernels,
                     LayoutReport* report) {
  return LayoutChooser(graph, weights, table, kernels, report).Run();
}

}  // namespace encore::backends
