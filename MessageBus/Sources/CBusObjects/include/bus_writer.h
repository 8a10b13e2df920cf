// Who writes on a connection to a bus. Swift does not import the macros that read what the kernel puts beside received bytes.
#ifndef OSTIARY_BUS_WRITER_H
#define OSTIARY_BUS_WRITER_H

#include <sys/types.h>

#pragma clang assume_nonnull begin

// Has the kernel say with all bytes that are written to `socket` from now on who wrote them, or say it no more (SO_PASSCRED): 0, or a
// negative errno.
int ostiary_bus_name_writers(int socket, int are_named);

// The process that wrote the next bytes which `socket` has, as the kernel says. The bytes stay there, and descriptors that came with
// them do, too. 1; 0 if there are no bytes, or if they were written before their writers were named; or a negative errno.
int ostiary_bus_next_writer(int socket, pid_t *process);

#pragma clang assume_nonnull end
#endif
