#define _GNU_SOURCE
#include "linux_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446
#endif
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0x80
#endif

int ostiary_unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

static int fill_address(struct sockaddr_un *address, const char *path) {
  size_t length = strlen(path);
  if (length == 0) {  // Would be an abstract address, which anybody can connect to.
    errno = ENOENT;
    return -1;
  }
  if (length >= sizeof(address->sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memset(address, 0, sizeof(*address));
  address->sun_family = AF_UNIX;
  memcpy(address->sun_path, path, length);
  return 0;
}

int ostiary_bind_private(int socket, const char *path) {
  struct sockaddr_un address;
  if (fill_address(&address, path) != 0) return -1;
  if (fchmod(socket, 0600) != 0) return -1;
  return bind(socket, (struct sockaddr *)&address, sizeof(address));
}

int ostiary_connect(int socket, const char *path) {
  struct sockaddr_un address;
  if (fill_address(&address, path) != 0) return -1;
  return connect(socket, (struct sockaddr *)&address, sizeof(address));
}

int ostiary_accept(int socket) {
  int connection;
  do {
    connection = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
  } while (connection < 0 && errno == EINTR);
  return connection;
}

int ostiary_pass_credentials(int socket) {
  int on = 1;
  return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

int ostiary_peer_credentials(int socket, pid_t *pid, uid_t *uid, gid_t *gid) {
  struct ucred credentials;
  socklen_t length = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
  *pid = credentials.pid;
  *uid = credentials.uid;
  *gid = credentials.gid;
  return 0;
}

int ostiary_peer_pidfd(int socket) {
  int descriptor = -1;
  socklen_t length = sizeof(descriptor);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &descriptor, &length) != 0) return -1;
  return descriptor;
}

static int socket_option(int socket, int option, int *value) {
  socklen_t length = sizeof(*value);
  return getsockopt(socket, SOL_SOCKET, option, value, &length);
}

int ostiary_listener(int descriptor, int *type, char *path, size_t capacity) {
  int family = 0, listens = 0;
  if (socket_option(descriptor, SO_DOMAIN, &family) != 0) return -1;
  if (family != AF_UNIX) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  if (socket_option(descriptor, SO_ACCEPTCONN, &listens) != 0) return -1;
  if (!listens) {
    errno = EINVAL;
    return -1;
  }
  if (socket_option(descriptor, SO_TYPE, type) != 0) return -1;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t length = sizeof(address);
  if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return -1;
  // A path that fills the field has no byte 0 behind it. An abstract address begins with one.
  size_t count = strnlen(address.sun_path, sizeof(address.sun_path));
  if (count >= capacity) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(path, address.sun_path, count);
  path[count] = 0;
  return 0;
}

// A passed descriptor of a guarded file, as the store's database is, stays open. Closing it would end SQLite's locks, and the
// next program that closes the store would remove its journal. So a program that passes such a descriptor takes up a descriptor
// number of this process; `kept` bounds how many.
static atomic_int kept;

static void discard(int descriptor) {
  ostiary_file_identity identity;
  if (ostiary_identify_open(descriptor, &identity) == 0 && ostiary_is_guarded(&identity)) {
    atomic_fetch_add(&kept, 1);
    return;
  }
  close(descriptor);
}

int ostiary_kept_descriptors(void) { return atomic_load(&kept); }

static ostiary_passed_kind kind_of(int descriptor) {
  ostiary_file_identity identity;
  if (ostiary_identify_open(descriptor, &identity) != 0) return OSTIARY_PASSED_OTHER;
  if (S_ISCHR(identity.mode)) return OSTIARY_PASSED_DEVICE;
  if (S_ISREG(identity.mode)) return ostiary_is_guarded(&identity) ? OSTIARY_PASSED_OTHER : OSTIARY_PASSED_FILE;
  if (S_ISSOCK(identity.mode)) return OSTIARY_PASSED_SOCKET;
  // A pidfd has no type of file. No file of a file system is like that, so nobody's server is asked for its description.
  if ((identity.mode & S_IFMT) == 0 && ostiary_process_of(descriptor) != -1) return OSTIARY_PASSED_PROCESS;
  return OSTIARY_PASSED_OTHER;
}

static int takes(ostiary_passed_kind kind, int others) {
  switch (kind) {
    case OSTIARY_PASSED_DEVICE:
      return 1;
    case OSTIARY_PASSED_SOCKET:
    case OSTIARY_PASSED_PROCESS:
      return others & OSTIARY_TAKES_CLIENT;
    case OSTIARY_PASSED_FILE:
      return others & OSTIARY_TAKES_FILE;
    case OSTIARY_PASSED_OTHER:
      break;
  }
  return 0;
}

ostiary_passed_kind ostiary_take_passed(int descriptor, int others) {
  ostiary_passed_kind kind = kind_of(descriptor);
  if (takes(kind, others)) return kind;
  discard(descriptor);
  return OSTIARY_PASSED_OTHER;
}

// PIDFD_GET_INFO (since Linux 6.13), and the part of its answer that every kernel with it gives.
struct process_info {
  uint64_t mask, control_group;
  uint32_t thread, process, parent;
  uint32_t ids[8];
  int32_t exit_code;
};

// The number of a pidfd's process in the caller's namespace; 0 where the kernel does not say it.
static pid_t process_by_call(int descriptor) {
  // Only a pidfd is of this file system. Anything else might take the call for one of its own, and give a number that it chose.
  struct statfs file_system;
  if (fstatfs(descriptor, &file_system) != 0 || file_system.f_type != PID_FS_MAGIC) return 0;
  struct process_info info = {0};
  if (ioctl(descriptor, _IOWR(0xFF, 11, struct process_info), &info) != 0) return 0;
  return info.process <= INT32_MAX ? (pid_t)info.process : 0;
}

pid_t ostiary_process_of(int descriptor) {
  // A pidfd of a thread (PIDFD_THREAD, which is O_EXCL) ends with the thread, and not with the process.
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || flags & O_EXCL) return -1;
  // Reading a file below /proc takes four times as long.
  pid_t process = process_by_call(descriptor);
  if (process > 0) return process;
  char path[48];
  char text[512];
  snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", descriptor);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = read(file, text, sizeof(text) - 1);
  close(file);
  if (count <= 0) return -1;
  text[count] = 0;
  const char *line = strstr(text, "\nPid:\t");
  if (!line) return -1;
  // -1 for a process that was reaped, 0 for one that this process has no number for: neither is a process that can be named.
  long pid = strtol(line + 6, NULL, 10);
  return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

int ostiary_connection_of(int descriptor, uint64_t *cookie) {
  int domain = 0, type = 0, listens = 0;
  socklen_t length = sizeof(int);
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX) return 0;
  length = sizeof(int);
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return 0;
  if (type != SOCK_STREAM && type != SOCK_SEQPACKET) return 0;
  length = sizeof(int);
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens) return 0;
  length = sizeof(*cookie);
  return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, cookie, &length) == 0;
}

static void take_descriptors(struct cmsghdr *header, ostiary_sender *sender, int limit) {
  size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; i++) {
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    if (sender->descriptor_count < limit) {
      sender->descriptors[sender->descriptor_count++] = descriptor;
    } else {
      discard(descriptor);
      sender->refused_descriptors++;
    }
  }
}

// As many as may come with one receive.
static int descriptor_limit(int expected) {
  if (expected & OSTIARY_RECEIVE_DESCRIPTORS) return OSTIARY_PASSED_DESCRIPTORS;
  return expected & OSTIARY_RECEIVE_DESCRIPTOR ? 1 : 0;
}

ssize_t ostiary_receive(int socket, void *buffer, size_t capacity, int expected, ostiary_sender *sender) {
  // The kernel puts the credentials first, and then as many descriptors as there is room for (MSG_CTRUNC). Their length, and
  // not their padded space, which could hold one more.
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_LEN(OSTIARY_PASSED_DESCRIPTORS * sizeof(int))];
  int is_full = atomic_load(&kept) >= OSTIARY_KEPT_DESCRIPTORS;
  int limit = descriptor_limit(expected);
  size_t room = expected & OSTIARY_RECEIVE_SENDER ? CMSG_SPACE(sizeof(struct ucred)) : 0;
  if (limit > 0 && !is_full) room += CMSG_LEN(limit * sizeof(int));
  struct iovec vector = {.iov_base = buffer, .iov_len = capacity};
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = room ? control : NULL, .msg_controllen = room};
  memset(sender, 0, sizeof(*sender));
  ssize_t received;
  do {
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return -1;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_CREDENTIALS) {
      struct ucred credentials;
      memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
      sender->has_credentials = 1;
      sender->pid = credentials.pid;
      sender->uid = credentials.uid;
      sender->gid = credentials.gid;
    } else if (header->cmsg_type == SCM_RIGHTS) {
      take_descriptors(header, sender, limit);
    }
  }
  // The kernel dropped some itself: no room in `control`, or no free descriptor number.
  if (message.msg_flags & MSG_CTRUNC && !(limit > 0 && is_full)) sender->refused_descriptors++;
  return received;
}

static ssize_t send_with_descriptors(int socket, const void *bytes, size_t count, const int *descriptors, int number) {
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(OSTIARY_PASSED_DESCRIPTORS * sizeof(int))];
  struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(number * sizeof(int))};
  memset(control, 0, sizeof(control));
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(number * sizeof(int));
  memcpy(CMSG_DATA(header), descriptors, number * sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t ostiary_send(int socket, const void *bytes, size_t count, const int *descriptors, int number) {
  if (number > OSTIARY_PASSED_DESCRIPTORS) {
    errno = EINVAL;
    return -1;
  }
  ssize_t sent;
  do {
    sent = number <= 0 ? send(socket, bytes, count, MSG_NOSIGNAL)
                       : send_with_descriptors(socket, bytes, count, descriptors, number);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

int ostiary_occupy_standard_descriptors(void) {
  static const int wrong_modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int number = 0; number < 3; number++) {
    if (fcntl(number, F_GETFD) != -1) continue;
    // The lowest free number is taken, and those below are in use.
    if (open("/dev/null", wrong_modes[number]) != number) return -1;
  }
  return 0;
}

void ostiary_silence_crashes(void) {
  static const int fatal[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGQUIT, SIGSYS};
  for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) signal(fatal[i], SIG_DFL);
}

int ostiary_forbid_dumps(void) {
  struct rlimit none = {0, 0};
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return -1;
  if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
  ostiary_silence_crashes();
  return 0;
}

int ostiary_forbid_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

void ostiary_overwrite_freed_memory(void) { mallopt(M_PERTURB, 0x55); }

void ostiary_limit_heaps(int count) { mallopt(M_ARENA_MAX, count); }

void ostiary_trim_heaps(void) { malloc_trim(0); }

static int release_code_of_object(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size, (void)unused;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
    // What is writable can differ from the file, also where relocation has made it read-only since.
    if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
    uintptr_t start = (object->dlpi_addr + segment->p_vaddr + page) & ~page;
    uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_filesz) & ~page;
    if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void ostiary_release_code(void) { dl_iterate_phdr(release_code_of_object, NULL); }

void ostiary_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

int ostiary_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

int ostiary_die_with_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

void *ostiary_map_secret_pages(size_t size, int *locked) {
  void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return NULL;
  *locked = mlock(address, size) == 0;
  madvise(address, size, MADV_DONTDUMP);
  madvise(address, size, MADV_WIPEONFORK);
  return address;
}

void ostiary_unmap_secret_pages(void *address, size_t size) {
  explicit_bzero(address, size);
  munmap(address, size);
}

void ostiary_wipe(void *address, size_t count) { explicit_bzero(address, count); }

int ostiary_random(void *bytes, size_t count) {
  unsigned char *next = bytes;
  while (count > 0) {
    ssize_t got = getrandom(next, count, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    next += got;
    count -= (size_t)got;
  }
  return 0;
}

int ostiary_pipe(int descriptors[2]) { return pipe2(descriptors, O_CLOEXEC); }

int ostiary_end_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGQUIT);
  if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0) return -1;
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

int ostiary_spawn(const char *path, char *const *arguments, char *const *environment, const int *descriptors,
                  int descriptor_count, int new_session, const char *working_directory, pid_t *child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t every, none;
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  int lifted[64];
  if (descriptor_count > 64) return EINVAL;
  if (new_session) flags |= POSIX_SPAWN_SETSID;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  sigfillset(&every);
  sigdelset(&every, SIGKILL);
  sigdelset(&every, SIGSTOP);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &every);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, flags);

  // A source descriptor may lie among the targets; lifted copies above them make the order of the moves irrelevant.
  int result = 0;
  int lifted_count = 0;
  for (; lifted_count < descriptor_count && result == 0; lifted_count++) {
    lifted[lifted_count] = -1;
    if (descriptors[lifted_count] == -1) continue;
    lifted[lifted_count] = fcntl(descriptors[lifted_count], F_DUPFD_CLOEXEC, descriptor_count);
    if (lifted[lifted_count] < 0) result = errno;
  }
  for (int target = 0; target < descriptor_count && result == 0; target++) {
    if (lifted[target] == -1) {
      result = posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0);
    } else {
      result = posix_spawn_file_actions_adddup2(&actions, lifted[target], target);
    }
  }
  if (result == 0) result = posix_spawn_file_actions_addclosefrom_np(&actions, descriptor_count);
  if (result == 0) result = posix_spawn_file_actions_addchdir_np(&actions, working_directory);
  if (result == 0) result = posix_spawn(child, path, &actions, &attributes, arguments, environment);

  for (int i = 0; i < lifted_count; i++) {
    if (lifted[i] >= 0) close(lifted[i]);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

int ostiary_terminal_device(int descriptor, uint32_t *device) {
  return ioctl(descriptor, 0x80045432 /* TIOCGDEV */, device);
}

int ostiary_reserve(int descriptor, int64_t offset, int64_t length) {
  return fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length);
}

int ostiary_rename_exclusive(const char *from, const char *to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

int ostiary_pin_to_processor(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof(set), &set);
}

int ostiary_open_directory_handle(const char *path) { return open(path, O_PATH | O_CLOEXEC | O_DIRECTORY); }

int ostiary_open_handle(int directory, const char *name) { return openat(directory, name, O_PATH | O_CLOEXEC); }

static int lacks_means(void) { return errno == EMFILE || errno == ENFILE || errno == ENOMEM; }

int ostiary_has_known_entry(const char *folder, const char *name) {
  int handle = ostiary_open_directory_handle(folder);
  if (handle < 0) return lacks_means() ? -1 : 0;
  struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_CACHED};
  long found = -1;
  // EAGAIN: the kernel would have to ask, or something was mounted or renamed at this moment.
  for (int tries = 0; tries < 8; tries++) {
    found = syscall(SYS_openat2, handle, name, &how, sizeof(how));
    if (found >= 0 || errno != EAGAIN) break;
  }
  int result = found >= 0 ? 1 : lacks_means() ? -1 : 0;
  // Kernels before 5.12, and filters of system calls that do not know the call.
  if (found < 0 && (errno == EINVAL || errno == ENOSYS)) {
    struct stat status;
    result = fstatat(handle, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  }
  int error = errno;
  if (found >= 0) close((int)found);
  close(handle);
  errno = error;
  return result;
}

int ostiary_take_read_lease(int descriptor) {
  // The default, SIGIO, would end the process.
  if (fcntl(descriptor, F_SETSIG, SIGURG) != 0) return -1;
  return fcntl(descriptor, F_SETLEASE, F_RDLCK);
}

int ostiary_end_read_lease(int descriptor) {
  // A lease that somebody waits for already counts as ended.
  int whole = fcntl(descriptor, F_GETLEASE) == F_RDLCK;
  return fcntl(descriptor, F_SETLEASE, F_UNLCK) == 0 && whole;
}

int ostiary_dates_mapped_stores(int descriptor) {
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return 0;
  switch ((uint32_t)status.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
      return 1;
    default:
      return 0;
  }
}

int ostiary_reads_end(int descriptor) {
  struct statfs status;
  if (ostiary_dates_mapped_stores(descriptor)) return 1;
  if (fstatfs(descriptor, &status) != 0) return 0;
  switch ((uint32_t)status.f_type) {
    case TMPFS_MAGIC:
    case 0xCA451A4E:  // bcachefs
    case 0x2FC12FC1:  // ZFS
      return 1;
    default:
      return 0;
  }
}

static void fill_identity(ostiary_file_identity *identity, const struct statx *status) {
  identity->device = makedev(status->stx_dev_major, status->stx_dev_minor);
  identity->inode = status->stx_ino;
  identity->link_count = status->stx_nlink;
  identity->owner = status->stx_uid;
  identity->mode = status->stx_mode;
  identity->change_seconds = status->stx_ctime.tv_sec;
  identity->change_nanoseconds = status->stx_ctime.tv_nsec;
}

int ostiary_identify(int directory, const char *name, ostiary_file_identity *identity) {
  struct statx status;
  if (statx(directory, name, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status) != 0) return -1;
  fill_identity(identity, &status);
  return 0;
}

int ostiary_identify_open(int descriptor, ostiary_file_identity *identity) {
  struct statx status;
  if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status) != 0) return -1;
  fill_identity(identity, &status);
  return 0;
}

// Few files: a database and its index of the journal for each store that is open. A file that was guarded twice needs two calls
// of ostiary_unguard_file.
static pthread_mutex_t guarding = PTHREAD_MUTEX_INITIALIZER;
static struct {
  uint64_t device, inode;
} *guarded;
static size_t guarded_count, guarded_capacity;

// The place of a guarded file, or guarded_count. The caller holds `guarding`.
static size_t guarded_place(uint64_t device, uint64_t inode) {
  size_t place = 0;
  while (place < guarded_count && (guarded[place].device != device || guarded[place].inode != inode)) place++;
  return place;
}

int ostiary_guard_file(const ostiary_file_identity *identity) {
  int result = 0;
  pthread_mutex_lock(&guarding);
  if (guarded_count == guarded_capacity) {
    void *larger = reallocarray(guarded, guarded_capacity + 16, sizeof(*guarded));
    if (larger) {
      guarded = larger;
      guarded_capacity += 16;
    } else {
      result = -1;
    }
  }
  if (result == 0) {
    guarded[guarded_count].device = identity->device;
    guarded[guarded_count].inode = identity->inode;
    guarded_count++;
  }
  pthread_mutex_unlock(&guarding);
  return result;
}

void ostiary_unguard_file(const ostiary_file_identity *identity) {
  pthread_mutex_lock(&guarding);
  size_t place = guarded_place(identity->device, identity->inode);
  if (place < guarded_count) guarded[place] = guarded[--guarded_count];
  pthread_mutex_unlock(&guarding);
}

int ostiary_is_guarded(const ostiary_file_identity *identity) {
  pthread_mutex_lock(&guarding);
  int found = guarded_place(identity->device, identity->inode) < guarded_count;
  pthread_mutex_unlock(&guarding);
  return found;
}

int ostiary_open_process(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
