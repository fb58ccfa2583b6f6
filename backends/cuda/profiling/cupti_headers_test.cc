// Functions, enumerators and structures beside those of CUPTI's headers.
#include <cstddef>
#include <cstdint>

#include "cupti_activity.h"
#include "cupti_version.h"
#include "encore/backends/cuda/driver/testing/same_types.h"
#include "encore/backends/cuda/profiling/cupti.h"
#include "encore/backends/cuda/profiling/cupti_types.h"
#include "gtest/gtest.h"

namespace encore::backends::cuda {

// Callbacks, compared below.
template <>
inline constexpr bool
    kSameStructure<CuptiRequestBuffer, CUpti_BuffersCallbackRequestFunc> = true;
template <>
inline constexpr bool
    kSameStructure<CuptiTakeBuffer, CUpti_BuffersCallbackCompleteFunc> = true;
template <>
inline constexpr bool kSameStructure<CuptiRecord, CUpti_Activity> = true;

namespace {

static_assert(
    SameFunction<CuptiRequestBuffer, CUpti_BuffersCallbackRequestFunc>::value);
static_assert(
    SameFunction<CuptiTakeBuffer, CUpti_BuffersCallbackCompleteFunc>::value);

#define ENCORE_CUPTI_FUNCTION(name, parameters)                           \
  static_assert(                                                          \
      SameFunction<decltype(CuptiTable::name), decltype(&::name)>::value, \
      #name);
#include "encore/backends/cuda/profiling/cupti_functions.def"
#undef ENCORE_CUPTI_FUNCTION

#define ENCORE_SAME(ours, theirs) \
  static_assert(static_cast<int64_t>(ours) == static_cast<int64_t>(theirs))
ENCORE_SAME(CuptiResult::kSuccess, CUPTI_SUCCESS);
ENCORE_SAME(CuptiResult::kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
ENCORE_SAME(CuptiKind::kMemcpy, CUPTI_ACTIVITY_KIND_MEMCPY);
ENCORE_SAME(CuptiKind::kConcurrentKernel,
            CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
ENCORE_SAME(CuptiKind::kMemcpyPeer, CUPTI_ACTIVITY_KIND_MEMCPY2);

#define ENCORE_FIELD(ours, theirs, field)                           \
  static_assert(offsetof(ours, field) == offsetof(theirs, field) && \
                sizeof(ours::field) == sizeof(theirs::field))
#define ENCORE_TIMES(ours, theirs)       \
  ENCORE_FIELD(ours, theirs, kind);      \
  ENCORE_FIELD(ours, theirs, start);     \
  ENCORE_FIELD(ours, theirs, end);       \
  ENCORE_FIELD(ours, theirs, deviceId);  \
  ENCORE_FIELD(ours, theirs, contextId); \
  ENCORE_FIELD(ours, theirs, streamId);  \
  static_assert(sizeof(ours) <= sizeof(theirs))
ENCORE_TIMES(CuptiKernelRecord, CUpti_ActivityKernel10);
ENCORE_TIMES(CuptiCopyRecord, CUpti_ActivityMemcpy6);
ENCORE_TIMES(CuptiCopyRecord, CUpti_ActivityMemcpyPtoP4);
ENCORE_FIELD(CuptiRecord, CUpti_Activity, kind);

// All of it was compared when this was compiled.
TEST(CuptiHeaders, AreOfTheRelease) {
  EXPECT_EQ(CUPTI_API_VERSION / 10000, 13);
}

}  // namespace
}  // namespace encore::backends::cuda
