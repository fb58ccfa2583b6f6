// Ending by a signal (Ctrl-C, a closed terminal, kill, a file that is cut off
// while it is mapped) or by a fault of ours leaves nothing behind.
#ifndef ENCORE_TOOLS_SIGNALS_H_
#define ENCORE_TOOLS_SIGNALS_H_

namespace encore::tools {

// From now on SIGINT, SIGTERM and SIGHUP, where they are not ignored, remove
// staging files, wipe the progress bar and then end the process as they would
// have (a shell sees 128 + the signal's number). Likewise abort (a check that
// failed, an exception that nobody caught) and SIGSEGV, SIGILL and SIGFPE,
// which end it with exit code 3, unless a sanitizer has taken them. Call once,
// from main; a verb that ends in an orderly way by itself may replace the
// handler.
//
// On SIGBUS, which a mapped file brings that somebody makes shorter while it is
// read, it says so and ends the process with exit code 2.
void CleanUpOnSignals();

}  // namespace encore::tools

#endif  // ENCORE_TOOLS_SIGNALS_H_
