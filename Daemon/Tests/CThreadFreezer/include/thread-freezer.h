// Stops one thread of another process, as if it never returned from a call. The process's other threads go on.
#ifndef OSTIARY_THREAD_FREEZER_H
#define OSTIARY_THREAD_FREEZER_H

#include <sys/types.h>

#pragma clang assume_nonnull begin

// Stops the first thread of a process, until this thread ends or the process does. Returns -1 with errno set on failure: only root
// may do it to a process that forbids to be traced.
int freezer_stop_first_thread(pid_t process);

// Kills a process with a stopped thread, unless it has ended, and takes its end from the kernel. Otherwise it would stay as long as this
// process.
void freezer_reap(pid_t process);

#pragma clang assume_nonnull end

#endif
