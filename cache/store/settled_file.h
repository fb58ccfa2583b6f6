// Whether a file's stamp stands for its contents.
//
// A write that comes within a tick of the clock of an earlier one leaves the
// same times (ir/support/file_stamp.h). The clock is the file system's own: a
// server's may be hours behind this machine's, whose clock says nothing of it.
// So it is asked by a file that is made for that: in the store, or without a
// name in the folder where the file lies. Where neither is possible, a stamp is
// settled once it was there FileStamp::kSettledNs ago, by the clock of the
// store, which remembers when it saw it first.
#ifndef ENCORE_CACHE_STORE_SETTLED_FILE_H_
#define ENCORE_CACHE_STORE_SETTLED_FILE_H_

#include "encore/cache/store/disk_store.h"
#include "encore/ir/support/mapped_file.h"

namespace encore::cache {

// Whether any write from now on shows in the stamp that the file was opened
// with: what is read of it from now on belongs to that stamp if the file then
// is UnchangedSinceOpen. Once that is so of a stamp, it is so for good. False
// too where it cannot be told. Cost: some calls of the system.
bool IsSettled(const MappedFile& file, DiskStore& store);

}  // namespace encore::cache

#endif  // ENCORE_CACHE_STORE_SETTLED_FILE_H_
