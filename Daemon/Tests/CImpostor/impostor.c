#define _GNU_SOURCE
#include "impostor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Numbers of fields of /proc/PID/stat, see proc(5).
enum {
  START_CODE = 26, END_CODE = 27, START_STACK = 28, START_DATA = 45, END_DATA = 46, START_BRK = 47, ARG_START = 48,
  ARG_END = 49, ENV_START = 50, ENV_END = 51, FIELD_COUNT = 52
};

struct region {
  uintptr_t start, end;
  int protection;
};

// The parts of memory that show this program's file.
static int own_regions(struct region *regions, int capacity) {
  char own[4096], line[8192], path[4096], permissions[5];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  if (length < 0) return -1;
  own[length] = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return -1;
  int count = 0;
  while (count < capacity && fgets(line, sizeof line, maps)) {
    struct region *region = &regions[count];
    int found = sscanf(line, "%lx-%lx %4s %*s %*s %*s %4095[^\n]", &region->start, &region->end, permissions, path);
    if (found != 4 || strcmp(path, own) != 0) continue;
    region->protection = (permissions[0] == 'r' ? PROT_READ : 0) | (permissions[1] == 'w' ? PROT_WRITE : 0) |
                         (permissions[2] == 'x' ? PROT_EXEC : 0);
    count++;
  }
  fclose(maps);
  return count;
}

// Moves a copy of the region into its place, in one step: this very code may be in it.
static int replace(const struct region *region) {
  size_t size = region->end - region->start;
  void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return -1;
  memcpy(copy, (void *)region->start, size);
  if (mprotect(copy, size, region->protection) != 0) return -1;
  void *moved = mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)region->start);
  return moved == MAP_FAILED ? -1 : 0;
}

// The limits of this process's memory as they are: the call that changes the file's name wants all of them.
static int read_limits(struct prctl_mm_map *limits) {
  char text[4096];
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length < 0) return -1;
  text[length] = 0;
  char *rest = strrchr(text, ')');
  if (!rest) return -1;
  uint64_t fields[FIELD_COUNT] = {0};
  rest += 4;  // The state, field 3, is a letter.
  for (int number = 4; number < FIELD_COUNT; number++) fields[number] = strtoull(rest, &rest, 10);
  *limits = (struct prctl_mm_map){
      .start_code = fields[START_CODE], .end_code = fields[END_CODE], .start_data = fields[START_DATA],
      .end_data = fields[END_DATA], .start_brk = fields[START_BRK], .brk = (uintptr_t)sbrk(0),
      .start_stack = fields[START_STACK], .arg_start = fields[ARG_START], .arg_end = fields[ARG_END],
      .env_start = fields[ENV_START], .env_end = fields[ENV_END]};
  return 0;
}

int impostor_execute_as(const char *path) {
  // The kernel changes the name only after nothing of the former file is mapped.
  struct region regions[32];
  int count = own_regions(regions, 32);
  if (count < 0) return -1;
  for (int number = 0; number < count; number++)
    if (replace(&regions[number]) != 0) return -1;
  // It wants CAP_CHECKPOINT_RESTORE, which the maker of a user namespace has in it.
  if (unshare(CLONE_NEWUSER) != 0) return -1;
  struct prctl_mm_map limits;
  if (read_limits(&limits) != 0) return -1;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  limits.exe_fd = (uint32_t)file;
  int result = prctl(PR_SET_MM, PR_SET_MM_MAP, &limits, sizeof limits, 0);
  close(file);
  return result;
}

// PIDFD_THREAD is O_EXCL; headers of older kernels do not name it.
int impostor_open_thread(void) { return (int)syscall(SYS_pidfd_open, (pid_t)syscall(SYS_gettid), O_EXCL); }
