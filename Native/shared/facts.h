// What the kernel says of a file.
#ifndef OSTIARY_FACTS_H
#define OSTIARY_FACTS_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

// Describes what `name` leads to; with an empty name the open file itself. 0, or -1 with errno.
//
// The server of a file system is not asked (AT_STATX_DONT_SYNC): a program may lie in a file system of its user's own, whose server
// never answers.
static inline int describe(int folder, const char *name, struct statx *status) {
  int flags = *name ? AT_STATX_DONT_SYNC : AT_STATX_DONT_SYNC | AT_EMPTY_PATH;
  return statx(folder, name, flags, STATX_BASIC_STATS | STATX_MNT_ID, status);
}

// As st_dev and st_rdev of stat(2).
static inline uint64_t device_of(const struct statx *status) { return makedev(status->stx_dev_major, status->stx_dev_minor); }

#endif
