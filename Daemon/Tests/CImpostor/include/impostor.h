// Lies about a program that the program, without any rights of its own, can make the kernel tell.
#ifndef OSTIARY_IMPOSTOR_H
#define OSTIARY_IMPOSTOR_H

#pragma clang assume_nonnull begin

// Makes /proc/PID/exe of this process lead to the file `path`, which it may read and execute, in a user namespace of
// its own. The process must have one thread. Returns -1 with errno set on failure.
int impostor_execute_as(const char *path);

// A pidfd of the calling thread (PIDFD_THREAD). Returns -1 with errno set where the kernel makes none (before Linux 6.9).
int impostor_open_thread(void);

#pragma clang assume_nonnull end

#endif
