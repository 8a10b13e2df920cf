#define _GNU_SOURCE
#include "attack.h"

#ifdef OSTIARY_TEST_OPTIONS

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "start.h"

// Made before the filter, so that an attempt is one call.
static struct {
  int process, pidfd, socket;
  char maps[64], memory[64];
} victim;

static char bytes[8];
static struct iovec own = {bytes, sizeof(bytes)}, other = {NULL, sizeof(bytes)};
static struct msghdr message = {.msg_iov = &own, .msg_iovlen = 1};

static long get_descriptor(void) { return syscall(SYS_pidfd_getfd, victim.pidfd, 0, 0); }
static long open_pidfd(void) { return syscall(SYS_pidfd_open, victim.process, 0); }
static long read_memory(void) { return syscall(SYS_process_vm_readv, victim.process, &own, 1, &other, 1, 0); }
static long write_memory(void) { return syscall(SYS_process_vm_writev, victim.process, &own, 1, &other, 1, 0); }
static long seize(void) { return syscall(SYS_ptrace, PTRACE_SEIZE, victim.process, 0, 0); }
static long attach(void) { return syscall(SYS_ptrace, PTRACE_ATTACH, victim.process, 0, 0); }
static long send_signal(void) { return syscall(SYS_kill, victim.process, 0); }
static long execute(void) { return syscall(SYS_execve, "/bin/true", NULL, NULL); }
static long execute_at(void) { return syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0); }
static long open_to_read(void) { return syscall(SYS_openat, AT_FDCWD, victim.maps, O_RDONLY | O_CLOEXEC); }
static long open_to_write(void) { return syscall(SYS_openat, AT_FDCWD, victim.memory, O_RDWR | O_CLOEXEC); }
static long open_a_handle(void) { return syscall(SYS_openat, AT_FDCWD, "/proc/1", O_PATH | O_CLOEXEC); }
static long open_by_old_call(void) {
#ifdef SYS_open
  return syscall(SYS_open, victim.maps, O_RDONLY);
#else
  return syscall(SYS_openat2, AT_FDCWD, victim.maps, NULL, 0);
#endif
}
static long clone_process(void) {
  long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return child;
}
static long map_code(void) {
  return syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static long make_executable(void) {
  return syscall(SYS_mprotect, (uintptr_t)bytes & ~(uintptr_t)4095, 4096, PROT_READ | PROT_EXEC);
}
static long make_socket(void) { return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0); }
static long receive_elsewhere(void) { return syscall(SYS_recvmsg, victim.socket, &message, MSG_CMSG_CLOEXEC); }
static long send_elsewhere(void) { return syscall(SYS_sendmsg, victim.socket, &message, MSG_NOSIGNAL); }
static long write_elsewhere(void) { return syscall(SYS_write, victim.socket, bytes, 1); }
static long ask_the_server(void) {
  static struct statx status;
  return syscall(SYS_statx, AT_FDCWD, "/proc/1/exe", AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status);
}
static long read_anything(void) { return syscall(SYS_read, victim.socket, bytes, 1); }
static long move_to_namespace(void) { return syscall(SYS_setns, victim.pidfd, CLONE_NEWNS); }
static long compare_descriptors(void) { return syscall(SYS_kcmp, getpid(), victim.process, 0, 0, 0); }
static long take_limits(void) { return syscall(SYS_prlimit64, victim.process, 0, NULL, bytes); }
static long set_capabilities(void) { return syscall(SYS_capset, bytes, NULL); }

static const struct {
  const char *name;
  long (*make)(void);
} attempts[] = {
    {"pidfd_getfd", get_descriptor},       {"pidfd_open", open_pidfd},
    {"process_vm_readv", read_memory},     {"process_vm_writev", write_memory},
    {"seize", seize},                      {"attach", attach},
    {"kill", send_signal},                 {"execve", execute},
    {"execveat", execute_at},              {"open", open_by_old_call},
    {"openat", open_to_read},              {"openat-write", open_to_write},
    {"openat-handle", open_a_handle},      {"clone", clone_process},
    {"mmap-code", map_code},               {"mprotect-code", make_executable},
    {"socket", make_socket},               {"recvmsg-elsewhere", receive_elsewhere},
    {"sendmsg-elsewhere", send_elsewhere}, {"write-elsewhere", write_elsewhere},
    {"statx-sync", ask_the_server},        {"read", read_anything},
    {"setns", move_to_namespace},          {"kcmp", compare_descriptors},
    {"prlimit64", take_limits},            {"capset", set_capabilities},
};

static void list(void) {
  for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) puts(attempts[i].name);
  fflush(stdout);
  _exit(0);
}

// A page of the process that can be read, and written: its stack's, say.
static void find_memory(void) {
  char line[512];
  unsigned long start;
  FILE *maps = fopen(victim.maps, "re");
  while (maps && fgets(line, sizeof(line), maps)) {
    if (sscanf(line, "%lx", &start) == 1 && strstr(line, " rw-p ")) other.iov_base = (void *)(uintptr_t)start;
  }
  if (maps) fclose(maps);
}

void attack_if_asked(int count, char **arguments, int (*begin_filter)(int is_confined)) {
  int is_filtered = 1, is_confined = 0;
  if (count < 2 || strcmp(arguments[1], "--attack") != 0) return;
  arguments += 2, count -= 2;
  if (count == 0) list();
  if (strcmp(arguments[0], "unfiltered") == 0) is_filtered = 0;
  if (strcmp(arguments[0], "confined") == 0) is_confined = 1;
  if (!is_filtered || is_confined) arguments++, count--;
  if (count != 2) fail("--attack [unfiltered | confined] ATTEMPT PROCESS\n");
  victim.process = atoi(arguments[1]);
  victim.pidfd = (int)syscall(SYS_pidfd_open, victim.process, 0);
  int pair[2] = {-1, -1};
  if (victim.pidfd < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) fail("there is no victim\n");
  victim.socket = fcntl(pair[0], F_DUPFD, 20);
  if (send(pair[1], bytes, 1, 0) != 1) fail("there is no victim\n");
  snprintf(victim.maps, sizeof(victim.maps), "/proc/%d/maps", victim.process);
  snprintf(victim.memory, sizeof(victim.memory), "/proc/%d/mem", victim.process);
  find_memory();
  if (is_filtered && begin_filter(is_confined) != 0) fail("the kernel does not filter system calls\n");
  for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
    if (strcmp(attempts[i].name, arguments[0]) != 0) continue;
    if (attempts[i].make() >= 0) fail("worked\n");
    // The name alone: the rest of libc needs calls that the filter may not allow.
    const char *name = strerrorname_np(errno);
    ssize_t written = write(STDERR_FILENO, name, strlen(name));
    (void)written;
    fail("\n");
  }
  fail("there is no such attempt\n");
}

#endif
