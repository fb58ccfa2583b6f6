// Ending by a signal (Ctrl-C, a closed terminal, kill, a file that is cut off
// while it is mapped) or by an internal error leaves nothing behind.
#ifndef ENCORE_TOOLS_SIGNALS_H_
#define ENCORE_TOOLS_SIGNALS_H_

namespace encore::tools {

// From now on
//   * signals that end a process (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE and
//     the like), where they are not ignored, remove staging files, wipe the
//     progress bar and then end the process as they would have: a shell sees
//     128
//     + the signal's number. A verb that ends in an orderly way by itself may
//     replace the handler;
//   * SIGABRT (a check that failed, an exception that nobody caught), SIGBUS,
//     and SIGSEGV, SIGILL and SIGFPE unless a sanitizer has taken them, clean
//     up likewise, say what happened, and by whom where another process sent
//     the signal, and end the process with exit code 3, in whatever thread they
//     come, also where its stack has overflowed: threads started through
//     ir/support/thread.h have a stack for this;
//   * SIGBUS for a mapped file that somebody made shorter ends it with exit
//     code 2, and says so;
//   * SIGXFSZ is ignored: what cannot be written for `ulimit -f` is an error of
//     the call.
// Several at once, in several threads, clean up once. Call once, first in main:
// threads that are there already get no such stack. Libraries of Encore install
// no handlers.
void CleanUpOnSignals();

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_SIGNALS_H_
