// The list of system calls that a helper may still make (seccomp(2)). Any other one ends the process.
#ifndef OSTIARY_FILTER_H
#define OSTIARY_FILTER_H

#include <stddef.h>
#include <stdint.h>

enum { MAXIMUM_CONDITIONS = 3 };

// An argument that must have this value. The kernel takes descriptors and flags from the lower 32 bits of an argument.
struct condition {
  unsigned argument;
  uint32_t value;
};

// A call, allowed if all conditions hold. One call may stand in a list several times, with other conditions.
struct allowed_call {
  int number;
  unsigned condition_count;
  struct condition conditions[MAXIMUM_CONDITIONS];
};

struct call_list {
  const struct allowed_call *calls;
  size_t count;
};

// Begins to filter: nothing but what these lists allow. It cannot be taken back. -1 if the kernel refuses; the program must end then.
int allow_only(const struct call_list *lists, size_t list_count);

#endif
