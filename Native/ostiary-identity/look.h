// What one process executes, and for whom.
#ifndef OSTIARY_LOOK_H
#define OSTIARY_LOOK_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

// As FactFailure of the daemon; `known` is none.
enum result { KNOWN = 0, ABSENT = 1, UNREADABLE = 2, REFUSED = 3 };

// In the order in which they are passed; the bits of the answer.
enum { PASSED_MAPS = 1, PASSED_STAT = 2, PASSED_CGROUP = 4 };

struct look {
  struct statx executable;  // with the number of its mount, if the kernel tells it
  uint64_t mount_namespace, pid_namespace, user_namespace;  // inodes
  uint32_t user;                                             // effective
  int knows_real_ids;
  uint32_t real_user, real_group;
  int knows_login;
  uint32_t login;  // the user whose login began the process, UINT32_MAX for none
  char path[PATH_MAX];
  uint16_t path_length;
  int descriptors[3];
  unsigned descriptor_count;
  unsigned passed;  // which descriptors these are
};

// Looks at the process whose folder below /proc `handle` is. `descriptors` is an open /proc/self/fd. The caller closes the descriptors of a look that is known.
enum result look_at(int handle, int descriptors, int passes_descriptors, struct look *look);

// What the errno of a call that looked at a process means.
enum result meaning_of(int code);

#endif
