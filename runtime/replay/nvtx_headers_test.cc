// Numbers and structures beside those of NVIDIA's headers.
#include <cstddef>
#include <cstdint>

#include "encore/runtime/replay/nvtx_types.h"
#include "gtest/gtest.h"
#include "nvtx3/nvToolsExt.h"

namespace encore::runtime::nvtx {
namespace {

#define ENCORE_SAME(ours, theirs) \
  static_assert(static_cast<int64_t>(ours) == static_cast<int64_t>(theirs))
ENCORE_SAME(kVersion, NVTX_VERSION);
ENCORE_SAME(Module::kCore, NVTX_CB_MODULE_CORE);
ENCORE_SAME(Module::kCore2, NVTX_CB_MODULE_CORE2);
ENCORE_SAME(ExportTable::kCallbacks, NVTX_ETID_CALLBACKS);
ENCORE_SAME(ExportTable::kVersionInfo, NVTX_ETID_VERSIONINFO);
ENCORE_SAME(kFunctions, NVTX_CBID_CORE_SIZE);
ENCORE_SAME(kFunctions, NVTX_CBID_CORE2_SIZE);
ENCORE_SAME(kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx);
ENCORE_SAME(kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
ENCORE_SAME(kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA);
ENCORE_SAME(kDomainCreateA, NVTX_CBID_CORE2_DomainCreateA);
ENCORE_SAME(kAttributesVersion, NVTX_VERSION);
ENCORE_SAME(kRegistered, NVTX_MESSAGE_TYPE_REGISTERED);

#define ENCORE_PLACE(ours, theirs, field)                           \
  static_assert(offsetof(ours, field) == offsetof(theirs, field) && \
                sizeof(ours::field) == sizeof(theirs::field))
ENCORE_PLACE(Callbacks, NvtxExportTableCallbacks, struct_size);
ENCORE_PLACE(Callbacks, NvtxExportTableCallbacks, GetModuleFunctionTable);
static_assert(sizeof(Callbacks) == sizeof(NvtxExportTableCallbacks));
ENCORE_PLACE(VersionInfo, NvtxExportTableVersionInfo, struct_size);
ENCORE_PLACE(VersionInfo, NvtxExportTableVersionInfo, version);
ENCORE_PLACE(VersionInfo, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);
static_assert(sizeof(VersionInfo) == sizeof(NvtxExportTableVersionInfo));
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, version);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, size);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, category);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, colorType);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, color);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, payloadType);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, payload);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, messageType);
ENCORE_PLACE(EventAttributes, nvtxEventAttributes_t, message);
static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));

// What was not compared when this was compiled: how tables are filled, which a
// library of NVTX's own answers as ours does.
TEST(NvtxHeaders, TablesHaveAPointerForEachFunction) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(
      NVTX_VERSIONED_IDENTIFIER(nvtxGetExportTable)(NVTX_ETID_CALLBACKS));
  ASSERT_NE(callbacks, nullptr);
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  ASSERT_EQ(
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size),
      1);
  EXPECT_EQ(size, kFunctions);
  EXPECT_EQ(table[0], nullptr);
  EXPECT_NE(table[kDomainCreateA], nullptr);
}

}  // namespace
}  // namespace encore::runtime::nvtx
