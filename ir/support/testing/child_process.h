// Child processes of tests, none of which goes on where its parent is gone: a
// test that is killed, by its time limit or by whoever ran it, leaves no
// process behind that still reads, writes or waits.
#ifndef ENCORE_IR_SUPPORT_TESTING_CHILD_PROCESS_H_
#define ENCORE_IR_SUPPORT_TESTING_CHILD_PROCESS_H_

#include <sys/types.h>

#include <functional>

namespace encore {

// Forks a process that runs `body` and ends with the exit code that it gives,
// without destructors and without what is done at exit; gives the process's
// number, which is for the caller to wait for (WaitForChild). The child is
// killed (SIGKILL) when its parent ends, and may be when the thread that called
// this does. CHECKs that there can be another process.
pid_t StartChild(const std::function<int()>& body);

// Waits until a child has ended; its wait status.
int WaitForChild(pid_t child);

}  // namespace encore

#endif  // ENCORE_IR_SUPPORT_TESTING_CHILD_PROCESS_H_
