// VendorPlan: a VendorProgram as primitives of the library, ready to run.
//
// Pieces of the same extent share their primitives, so there are at most two
// sets: one for all pieces and one for a smaller last piece.
#ifndef ENCORE_BACKENDS_CPU_VENDOR_PLAN_H_
#define ENCORE_BACKENDS_CPU_VENDOR_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "encore/backends/cpu/vendor/library.h"
#include "encore/backends/cpu/vendor/program.h"
#include "encore/backends/cpu/vendor/step.h"
#include "encore/ir/support/status.h"

namespace encore::backends::cpu {

class VendorPlan {
 public:
  // Makes all primitives but those that pack. `pack`: the weights come in the
  // library's own layout. Unimplemented where the library has only reference
  // code for it.
  static StatusOr<std::unique_ptr<VendorPlan>> Make(
      const VendorLibrary& library, const VendorProgram& program, bool pack);
  // Whether Make would, without making anything: Unimplemented likewise.
  static Status Check(const VendorLibrary& library,
                      const VendorProgram& program, bool pack);

  int64_t packed_bytes() const { return packed_bytes_; }
  uint64_t packed_layout() const { return packed_layout_; }
  // What Run wants; a multiple of 64.
  int64_t scratch_bytes() const { return scratch_bytes_; }

  // Step 1 of a launch (program.h): call each of source_parts() once, in any
  // order and on any threads, then RunPiece for each piece. Addresses are of
  // the whole buffers; `scratch` has scratch_bytes().
  int64_t source_parts() const { return source_parts_; }
  Status RunSourcePart(int64_t part, const std::byte* source,
                       std::byte* scratch) const;
  Status RunPiece(int64_t piece, const std::byte* source,
                  const std::byte* weights, std::byte* result,
                  std::byte* scratch) const;

  // Plain weights to packed_bytes() bytes. Makes its primitives each time.
  Status Pack(const std::byte* weights, std::byte* packed) const;

 private:
  // The primitives of pieces of one extent.
  struct Shape {
    int64_t extent = 0;
    // Plain source to the library's, where it is a piece's own.
    std::unique_ptr<VendorStep> source;
    std::unique_ptr<VendorStep> compute;
    std::unique_ptr<VendorStep> result;  // the library's result to plain
    dnnl_memory_desc_t plain_weights = nullptr, packed_weights = nullptr;
    int64_t source_bytes = 0, result_bytes = 0, workspace_bytes = 0;
    int64_t packed_bytes = 0;
  };
  class Builder;

  VendorPlan(const VendorLibrary& library, const VendorProgram& program)
      : library_(library), program_(program) {}

 public:
  ~VendorPlan();

 private:
  const Shape& ShapeOf(int64_t piece) const {
    const bool last = piece == program_.pieces() - 1;
    return last && shapes_.size() > 1 ? shapes_[1] : shapes_[0];
  }

  const VendorLibrary& library_;
  VendorProgram program_;
  std::vector<Shape> shapes_;
  // A source that all pieces share is brought into the library's layout in
  // parts, along its first spatial dim.
  int64_t source_parts_ = 0, source_rows_ = 0;
  int64_t source_row_bytes_ = 0;  // in the library's layout
  std::unique_ptr<VendorStep> source_part_, last_source_part_;
  int64_t shared_source_bytes_ = 0;
  int64_t piece_scratch_ = 0;
  // Bytes from piece to piece in each buffer.
  int64_t source_step_ = 0, weights_step_ = 0, result_step_ = 0;
  int64_t packed_bytes_ = 0, scratch_bytes_ = 0;
  uint64_t packed_layout_ = 0;
};

}  // namespace encore::backends::cpu

#endif  // ENCORE_BACKENDS_CPU_VENDOR_PLAN_H_
