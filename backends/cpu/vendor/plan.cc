#include "encore/backends/cpu/vendor/plan.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#define XXH_INLINE_ALL
#include "encore/ir/support/integers.h"
#include "encore/ir/support/status_macros.h"
#include "encore/ir/support/strings.h"
#include "xxhash.h"

namespace encore::backends::cpu {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kElement = sizeof(float);
constexpr int64_t kSourceParts = 4;

using Dims = std::vector<int64_t>;

int64_t AlignedSize(size_t bytes) {
  return RoundUp(static_cast<int64_t>(bytes), kAlign);
}

// Owns a description of the library.
template <typename Handle, dnnl_status_t (*VendorLibrary::*destroy)(Handle)>
class Owned {
 public:
  explicit Owned(const VendorLibrary& library) : library_(library) {}
  ~Owned() {
    if (handle_ != nullptr) (library_.*destroy)(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }
  Handle Release() { return std::exchange(handle_, nullptr); }

 private:
  const VendorLibrary& library_;
  Handle handle_ = nullptr;
};
using OwnedLayout =
    Owned<dnnl_memory_desc_t, &VendorLibrary::memory_desc_destroy>;
using OwnedDescription =
    Owned<dnnl_primitive_desc_t, &VendorLibrary::primitive_desc_destroy>;
using OwnedAttributes =
    Owned<dnnl_primitive_attr_t, &VendorLibrary::primitive_attr_destroy>;

// What of `tensor` one piece of `extent` sees.
struct PieceDims {
  Dims source, weights, result;
  int64_t groups = 1;
};

PieceDims DimsOf(const VendorProgram& p, int64_t extent) {
  PieceDims dims{p.source.dims, p.weights.dims, p.result.dims, p.groups};
  dims.result[p.split] = extent;
  const size_t rank = p.result.dims.size();
  if (p.kind == VendorProgram::Kind::kMatmul) {
    const bool batch = p.split + 2 < rank;
    if (p.split == rank - 2 || (batch && p.source.dims[p.split] > 1)) {
      dims.source[p.split] = extent;
    }
    if (p.split == rank - 1 || (batch && p.weights.dims[p.split] > 1)) {
      dims.weights[p.split] = extent;
    }
  } else if (p.split == 0) {
    dims.source[0] = extent;
  } else {
    dims.weights[0] = extent;
    if (p.groups > 1) {
      dims.groups = extent / (p.result.dims[1] / p.groups);
      dims.source[1] = dims.groups * p.weights.dims[1];
    }
  }
  return dims;
}

// Bytes between pieces of a tensor whose piece has `dims`.
int64_t StepOf(const VendorTensor& tensor, const Dims& dims) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != tensor.dims[d])
      return dims[d] * tensor.strides[d] * kElement;
  }
  return 0;
}

}  // namespace

class VendorPlan::Builder {
 public:
  Builder(VendorPlan* plan, bool pack)
      : plan_(*plan),
        library_(plan->library_),
        program_(plan->program_),
        pack_(pack),
        attributes_(plan->library_),
        source_layout_(plan->library_) {}

  // Makes the primitives; or only asks whether the library has them.
  Status Run(bool make) {
    ENCORE_RETURN_IF_ERROR(
        Check(library_.primitive_attr_create(attributes_.out()), "attributes"));
    ENCORE_RETURN_IF_ERROR(
        Check(library_.primitive_attr_set_scratchpad_mode(
                  attributes_.get(), dnnl_scratchpad_mode_user),
              "attributes"));
    const int64_t pieces = program_.pieces(), piece = program_.piece;
    const int64_t extent = program_.result.dims[program_.split];
    const int64_t last = extent - (pieces - 1) * piece;
    ENCORE_RETURN_IF_ERROR(AddShape(pieces == 1 ? last : piece, make));
    if (pieces > 1 && last != piece) {
      ENCORE_RETURN_IF_ERROR(AddShape(last, make));
    }
    if (make) SetSteps(pieces);
    return OkStatus();
  }

 private:
  Status Check(dnnl_status_t status, std::string_view what) const {
    if (status == dnnl_unimplemented || status == dnnl_invalid_arguments) {
      return UnimplementedError(StrCat("oneDNN has no ", what, " for this"));
    }
    return ToStatus(library_, status, what);
  }

  Status Strided(const Dims& dims, const Dims& strides,
                 OwnedLayout* out) const {
    return Check(library_.memory_desc_create_with_strides(
                     out->out(), static_cast<int>(dims.size()), dims.data(),
                     dnnl_f32, strides.data()),
                 "layout");
  }
  Status Any(const Dims& dims, OwnedLayout* out) const {
    return Check(library_.memory_desc_create_with_tag(
                     out->out(), static_cast<int>(dims.size()), dims.data(),
                     dnnl_f32, dnnl_format_tag_any),
                 "layout");
  }

  // Weights of a convolution in groups have a dim for them.
  Status PlainWeights(const PieceDims& piece, bool any,
                      OwnedLayout* out) const {
    Dims dims = piece.weights, strides = program_.weights.strides;
    if (piece.groups > 1) {
      dims[0] /= piece.groups;
      dims.insert(dims.begin(), piece.groups);
      strides.insert(strides.begin(), strides[0] * dims[1]);
    }
    return any ? Any(dims, out) : Strided(dims, strides, out);
  }

  bool shared_source() const {
    return program_.kind == VendorProgram::Kind::kConvolution &&
           program_.split == 1 && program_.groups == 1;
  }

  // A piece of some extent as the library sees it.
  struct Described {
    const VendorLibrary& library;
    OwnedLayout source{library}, weights{library}, result{library};  // plain
    OwnedDescription description{library};
  };

  Status Describe(int64_t extent, Described* piece) const {
    const PieceDims dims = DimsOf(program_, extent);
    ENCORE_RETURN_IF_ERROR(
        Strided(dims.source, program_.source.strides, &piece->source));
    ENCORE_RETURN_IF_ERROR(PlainWeights(dims, false, &piece->weights));
    ENCORE_RETURN_IF_ERROR(
        Strided(dims.result, program_.result.strides, &piece->result));
    ENCORE_RETURN_IF_ERROR(
        program_.kind == VendorProgram::Kind::kMatmul
            ? DescribeMatmul(piece->source, piece->weights, piece->result, dims,
                             &piece->description)
            : DescribeConvolution(dims, &piece->description));
    const char* implementation = "";
    library_.primitive_desc_query(piece->description.get(),
                                  dnnl_query_impl_info_str, 0, &implementation);
    if (std::string_view(implementation).substr(0, 3) == "ref") {
      return UnimplementedError("oneDNN has reference code only for this");
    }
    return OkStatus();
  }

  Status AddShape(int64_t extent, bool make) {
    Described piece{library_};
    ENCORE_RETURN_IF_ERROR(Describe(extent, &piece));
    if (make) {
      Shape& shape = plan_.shapes_.emplace_back();
      shape.extent = extent;
      return MakeSteps(&piece, &shape);
    }
    // Other pieces get the source in the layout that the first one wants.
    if (!shared_source() || source_layout_.get() != nullptr) return OkStatus();
    return Check(library_.memory_desc_clone(
                     source_layout_.out(),
                     library_.primitive_desc_query_md(piece.description.get(),
                                                      dnnl_query_src_md, 0)),
                 "layout");
  }

  Status DescribeMatmul(const OwnedLayout& source, const OwnedLayout& weights,
                        const OwnedLayout& result, const PieceDims& dims,
                        OwnedDescription* description) const {
    OwnedLayout any(library_);
    if (pack_) ENCORE_RETURN_IF_ERROR(PlainWeights(dims, true, &any));
    return Check(library_.matmul_primitive_desc_create(
                     description->out(), library_.engine, source.get(),
                     pack_ ? any.get() : weights.get(), nullptr, result.get(),
                     attributes_.get()),
                 "matmul");
  }

  Status DescribeConvolution(const PieceDims& dims,
                             OwnedDescription* description) const {
    OwnedLayout source(library_), weights(library_), result(library_);
    if (shared_source() && source_layout_.get() != nullptr) {
      ENCORE_RETURN_IF_ERROR(
          Check(library_.memory_desc_clone(source.out(), source_layout_.get()),
                "layout"));
    } else {
      ENCORE_RETURN_IF_ERROR(Any(dims.source, &source));
    }
    ENCORE_RETURN_IF_ERROR(PlainWeights(dims, true, &weights));
    ENCORE_RETURN_IF_ERROR(Any(dims.result, &result));
    Dims dilations = program_.dilations;
    for (int64_t& dilation : dilations) --dilation;  // 0 is dense here
    return Check(
        library_.convolution_forward_primitive_desc_create(
            description->out(), library_.engine, dnnl_forward_inference,
            dnnl_convolution_direct, source.get(), weights.get(), nullptr,
            result.get(), program_.strides.data(), dilations.data(),
            program_.padding_low.data(), program_.padding_high.data(),
            attributes_.get()),
        "convolution");
  }

  StatusOr<std::unique_ptr<VendorStep>> Reorder(
      const_dnnl_memory_desc_t from, const_dnnl_memory_desc_t to) const {
    return MakeReorder(library_, from, to);
  }

  Status MakeSteps(Described* piece, Shape* shape) {
    const auto layout = [&](dnnl_query_t what) {
      return library_.primitive_desc_query_md(piece->description.get(), what,
                                              0);
    };
    const_dnnl_memory_desc_t from = layout(dnnl_query_src_md);
    const_dnnl_memory_desc_t by = layout(dnnl_query_weights_md);
    const_dnnl_memory_desc_t to = layout(dnnl_query_dst_md);
    const_dnnl_memory_desc_t pad = layout(dnnl_query_scratchpad_md);
    if (!library_.memory_desc_equal(from, piece->source.get())) {
      if (!shared_source()) {
        ENCORE_ASSIGN_OR_RETURN(shape->source,
                                Reorder(piece->source.get(), from));
        shape->source_bytes = AlignedSize(library_.memory_desc_get_size(from));
      } else if (source_layout_.get() == nullptr) {
        ENCORE_RETURN_IF_ERROR(ShareSource(piece->source.get(), from));
      }
    }
    if (!library_.memory_desc_equal(to, piece->result.get())) {
      ENCORE_ASSIGN_OR_RETURN(shape->result, Reorder(to, piece->result.get()));
      shape->result_bytes = AlignedSize(library_.memory_desc_get_size(to));
    }
    shape->workspace_bytes = AlignedSize(library_.memory_desc_get_size(pad));
    if (pack_) {
      shape->packed_bytes = AlignedSize(library_.memory_desc_get_size(by));
      ENCORE_RETURN_IF_ERROR(AddToDigest(by));
      ENCORE_RETURN_IF_ERROR(Check(
          library_.memory_desc_clone(&shape->packed_weights, by), "layout"));
      shape->plain_weights = piece->weights.Release();
    }
    std::vector<VendorStep::Argument> arguments = {
        {DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, by}, {DNNL_ARG_DST, to}};
    if (shape->workspace_bytes > 0) {
      arguments.push_back({DNNL_ARG_SCRATCHPAD, pad});
    }
    ENCORE_ASSIGN_OR_RETURN(
        shape->compute,
        VendorStep::Make(library_, piece->description.Release(), arguments));
    return OkStatus();
  }

  // The whole source is brought into layout `to`, in parts where that has no
  // padding.
  Status ShareSource(const_dnnl_memory_desc_t plain,
                     const_dnnl_memory_desc_t to) {
    const Dims& dims = program_.source.dims;
    const int64_t rows = dims[2];
    ENCORE_RETURN_IF_ERROR(
        Check(library_.memory_desc_clone(source_layout_.out(), to), "layout"));
    plan_.shared_source_bytes_ = AlignedSize(library_.memory_desc_get_size(to));
    plan_.source_parts_ = 1;
    plan_.source_rows_ = rows;
    const dnnl_dims_t* padded = nullptr;
    const dnnl_dims_t* strides = nullptr;
    if (library_.memory_desc_query(to, dnnl_query_padded_dims, &padded) !=
            dnnl_success ||
        library_.memory_desc_query(to, dnnl_query_strides, &strides) !=
            dnnl_success) {
      return UnimplementedError("oneDNN wants a source of unknown layout");
    }
    const bool whole = std::equal(dims.begin(), dims.end(), *padded);
    const int64_t part = CeilDiv(rows, kSourceParts);
    if (!whole || part == rows) {
      ENCORE_ASSIGN_OR_RETURN(plan_.source_part_, Reorder(plain, to));
      return OkStatus();
    }
    plan_.source_rows_ = part;
    plan_.source_parts_ = CeilDiv(rows, part);
    plan_.source_row_bytes_ = (*strides)[2] * kElement;
    ENCORE_ASSIGN_OR_RETURN(plan_.source_part_, ReorderRows(part, to));
    const int64_t rest = rows - (plan_.source_parts_ - 1) * part;
    if (rest != part) {
      ENCORE_ASSIGN_OR_RETURN(plan_.last_source_part_, ReorderRows(rest, to));
    }
    return OkStatus();
  }

  StatusOr<std::unique_ptr<VendorStep>> ReorderRows(
      int64_t rows, const_dnnl_memory_desc_t to) const {
    Dims dims = program_.source.dims;
    dims[2] = rows;
    const Dims zero(dims.size());
    OwnedLayout plain(library_), part(library_);
    ENCORE_RETURN_IF_ERROR(Strided(dims, program_.source.strides, &plain));
    ENCORE_RETURN_IF_ERROR(Check(library_.memory_desc_create_submemory(
                                     part.out(), to, dims.data(), zero.data()),
                                 "layout"));
    return Reorder(plain.get(), part.get());
  }

  Status AddToDigest(const_dnnl_memory_desc_t layout) {
    const auto add = [&](const void* data, size_t size) {
      plan_.packed_layout_ =
          XXH3_64bits_withSeed(data, size, plan_.packed_layout_);
    };
    const auto list = [&](dnnl_query_t what, int64_t count) {
      const dnnl_dims_t* values = nullptr;
      if (library_.memory_desc_query(layout, what, &values) != dnnl_success) {
        return false;
      }
      add(*values, count * sizeof((*values)[0]));
      return true;
    };
    int32_t rank = 0, blocks = 0;
    const bool known =
        library_.memory_desc_query(layout, dnnl_query_ndims_s32, &rank) ==
            dnnl_success &&
        library_.memory_desc_query(layout, dnnl_query_inner_nblks_s32,
                                   &blocks) == dnnl_success &&
        list(dnnl_query_padded_dims, rank) && list(dnnl_query_strides, rank) &&
        list(dnnl_query_inner_blks, blocks) &&
        list(dnnl_query_inner_idxs, blocks);
    if (!known) return UnimplementedError("weights of unknown layout");
    return OkStatus();
  }

  void SetSteps(int64_t pieces) {
    const PieceDims dims = DimsOf(program_, program_.piece);
    plan_.source_step_ = StepOf(program_.source, dims.source);
    plan_.result_step_ = StepOf(program_.result, dims.result);
    const bool varies = dims.weights != program_.weights.dims;
    if (pack_) {
      plan_.weights_step_ = varies ? plan_.shapes_[0].packed_bytes : 0;
      plan_.packed_bytes_ = varies ? (pieces - 1) * plan_.weights_step_ +
                                         plan_.shapes_.back().packed_bytes
                                   : plan_.shapes_[0].packed_bytes;
    } else {
      plan_.weights_step_ = StepOf(program_.weights, dims.weights);
    }
    for (const Shape& shape : plan_.shapes_) {
      plan_.piece_scratch_ = std::max(
          plan_.piece_scratch_,
          shape.source_bytes + shape.result_bytes + shape.workspace_bytes);
    }
    plan_.scratch_bytes_ =
        plan_.shared_source_bytes_ + pieces * plan_.piece_scratch_;
  }

 public:
  static StatusOr<std::unique_ptr<VendorStep>> MakeReorder(
      const VendorLibrary& library, const_dnnl_memory_desc_t from,
      const_dnnl_memory_desc_t to) {
    dnnl_primitive_desc_t description = nullptr;
    ENCORE_RETURN_IF_ERROR(ToStatus(
        library,
        library.reorder_primitive_desc_create(
            &description, from, library.engine, to, library.engine, nullptr),
        "reorder"));
    const VendorStep::Argument arguments[] = {{DNNL_ARG_FROM, from},
                                              {DNNL_ARG_TO, to}};
    return VendorStep::Make(library, description, arguments);
  }

 private:
  VendorPlan& plan_;
  const VendorLibrary& library_;
  const VendorProgram& program_;
  bool pack_;
  OwnedAttributes attributes_;
  OwnedLayout source_layout_;  // the library's, of a shared source
};

StatusOr<std::unique_ptr<VendorPlan>> VendorPlan::Make(
    const VendorLibrary& library, const VendorProgram& program, bool pack) {
  const SingleThread single(library);
  std::unique_ptr<VendorPlan> plan(new VendorPlan(library, program));
  Builder builder(plan.get(), pack);
  ENCORE_RETURN_IF_ERROR(builder.Run(/*make=*/true));
  return plan;
}

Status VendorPlan::Check(const VendorLibrary& library,
                         const VendorProgram& program, bool pack) {
  const SingleThread single(library);
  VendorPlan plan(library, program);
  return Builder(&plan, pack).Run(/*make=*/false);
}

VendorPlan::~VendorPlan() {
  for (const Shape& shape : shapes_) {
    for (const dnnl_memory_desc_t layout :
         {shape.plain_weights, shape.packed_weights}) {
      if (layout != nullptr) library_.memory_desc_destroy(layout);
    }
  }
}

Status VendorPlan::RunSourcePart(int64_t part, const std::byte* source,
                                 std::byte* scratch) const {
  const SingleThread single(library_);
  const int64_t row = part * source_rows_;
  const VendorTensor& tensor = program_.source;
  void* const data[] = {
      const_cast<std::byte*>(source) +
          (tensor.offset + row * tensor.strides[2]) * kElement,
      scratch + row * source_row_bytes_};
  const bool last = part == source_parts_ - 1 && last_source_part_ != nullptr;
  return (last ? last_source_part_ : source_part_)->Run(data);
}

Status VendorPlan::RunPiece(int64_t piece, const std::byte* source,
                            const std::byte* weights, std::byte* result,
                            std::byte* scratch) const {
  const SingleThread single(library_);
  const Shape& shape = ShapeOf(piece);
  std::byte* own = scratch + shared_source_bytes_ + piece * piece_scratch_;
  auto* from = const_cast<std::byte*>(source) +
               program_.source.offset * kElement + piece * source_step_;
  if (source_parts_ > 0) from = scratch;
  if (shape.source != nullptr) {
    void* const data[] = {from, own};
    ENCORE_RETURN_IF_ERROR(shape.source->Run(data));
    from = own;
    own += shape.source_bytes;
  }
  std::byte* const to =
      result + program_.result.offset * kElement + piece * result_step_;
  std::byte* const made = shape.result == nullptr ? to : own;
  own += shape.result_bytes;
  const int64_t offset =
      packed_bytes_ > 0 ? 0 : program_.weights.offset * kElement;
  void* const data[] = {
      from, const_cast<std::byte*>(weights) + offset + piece * weights_step_,
      made, own};
  ENCORE_RETURN_IF_ERROR(shape.compute->Run(data));
  if (shape.result == nullptr) return OkStatus();
  void* const moved[] = {made, to};
  return shape.result->Run(moved);
}

Status VendorPlan::Pack(const std::byte* weights, std::byte* packed) const {
  const SingleThread single(library_);
  std::vector<std::unique_ptr<VendorStep>> steps;
  for (const Shape& shape : shapes_) {
    ENCORE_ASSIGN_OR_RETURN(steps.emplace_back(),
                            Builder::MakeReorder(library_, shape.plain_weights,
                                                 shape.packed_weights));
  }
  const PieceDims dims = DimsOf(program_, program_.piece);
  const int64_t step = StepOf(program_.weights, dims.weights);
  const int64_t blocks = weights_step_ == 0 ? 1 : program_.pieces();
  for (int64_t i = 0; i < blocks; ++i) {
    void* const data[] = {const_cast<std::byte*>(weights) +
                              program_.weights.offset * kElement + i * step,
                          packed + i * weights_step_};
    const bool last = blocks > 1 && i == blocks - 1 && steps.size() > 1;
    ENCORE_RETURN_IF_ERROR(steps[last ? 1 : 0]->Run(data));
  }
  return OkStatus();
}

}  // namespace encore::backends::cpu
