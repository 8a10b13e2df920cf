// sandbox-probe: tells what the sandbox of a service lets its program do.
//
// The test mounts it over a program of the package, so that it gets the unit's sandbox, the account and the AppArmor profile of that program.
// Its connection is the service's. Each message that it receives is an attempt, and gets a line: `worked` or the name of an error. A
// descriptor may come along. As the daemon it says that it is ready. A listener is accepted from.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 3 };

static char byte;
// The descriptor that came with the message, or -1.
static int passed;

// The number of the daemon's socket for programs; that of another service's only socket.
static int given_socket(void) {
  int number = FIRST;
  char *names = strdup(getenv("LISTEN_FDNAMES"));
  for (char *name; (name = strsep(&names, ":")); number++) {
    if (strcmp(name, "requests") == 0) return number;
  }
  return FIRST;
}

// The number of the connection: of the service manager's list, or standard input.
static int take_connection(void) {
  int accepts = 0;
  socklen_t length = sizeof(accepts);
  if (!getenv("LISTEN_FDNAMES")) return STDIN_FILENO;
  int given = given_socket();
  if (getsockopt(given, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) != 0) return -1;
  // What an attempt executes must not take messages from it.
  if (!accepts) return fcntl(given, F_SETFD, FD_CLOEXEC) == 0 ? given : -1;
  return accept4(given, NULL, NULL, SOCK_CLOEXEC);
}

static void say_ready(void) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!path || strlen(path) >= sizeof(address.sun_path)) return;
  strcpy(address.sun_path, path);
  int notifier = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  (void)!sendto(notifier, "READY=1", 7, 0, (struct sockaddr *)&address, sizeof(address));
  close(notifier);
}

static int open_socket(const char *family) {
  if (strcmp(family, "AF_INET") == 0) return socket(AF_INET, SOCK_STREAM, 0);
  if (strcmp(family, "AF_INET6") == 0) return socket(AF_INET6, SOCK_STREAM, 0);
  if (strcmp(family, "AF_NETLINK") == 0) return socket(AF_NETLINK, SOCK_RAW, 0);
  if (strcmp(family, "AF_PACKET") == 0) return socket(AF_PACKET, SOCK_RAW, 0);
  if (strcmp(family, "AF_VSOCK") == 0) return socket(AF_VSOCK, SOCK_STREAM, 0);
  return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int connect_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int kinds[] = {SOCK_STREAM, SOCK_SEQPACKET};
  int result = -1;
  strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  for (int i = 0; i < 2 && result != 0; i++) {
    int connection = socket(AF_UNIX, kinds[i] | SOCK_CLOEXEC, 0);
    result = connect(connection, (struct sockaddr *)&address, sizeof(address));
    if (result != 0 && errno != EPROTOTYPE) i = 2;
    int error = errno;
    close(connection);
    errno = error;
  }
  return result;
}

// The child has this process's memory until it executes something, which then ends at once.
static int execute(const char *path) {
  static volatile int error;
  error = 0;
  pid_t child = vfork();
  if (child == 0) {
    execl(path, path, (char *)NULL);
    error = errno;
    _exit(1);
  }
  if (child < 0) return -1;
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  errno = error;
  return error == 0 ? 0 : -1;
}

static int read_memory(pid_t process, void *address) {
  struct iovec own = {&byte, 1}, other = {address, 1};
  return (int)process_vm_readv(process, &own, 1, &other, 1, 0);
}

static int take_descriptor(pid_t process) {
  int handle = (int)syscall(SYS_pidfd_open, process, 0);
  return handle < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, handle, 0, 0);
}

static int map_code(void) {
  return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static int open_file(const char *path, int flags) {
  struct stat status;
  int file = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return -1;
  // The text of a file in /proc is made, and its right is looked at, when it is read.
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && flags == O_RDONLY && read(file, &byte, 1) < 0) {
    int error = errno;
    close(file);
    errno = error;
    return -1;
  }
  close(file);
  return 0;
}

// AppArmor may drop a descriptor on its way, or refuse its use.
static int use_passed(int writes) {
  if (passed < 0) {
    errno = ENOMSG;
    return -1;
  }
  return (int)(writes ? write(passed, "", 0) : read(passed, &byte, 1));
}

// 0 or more: it worked; -1 with errno.
static int attempt(const char *name, char *argument) {
  pid_t process = atoi(argument);
  if (strcmp(name, "socket") == 0) return open_socket(argument);
  if (strcmp(name, "connect") == 0) return connect_to(argument);
  if (strcmp(name, "read") == 0) return open_file(argument, O_RDONLY);
  if (strcmp(name, "change") == 0) return open_file(argument, O_RDWR);
  if (strcmp(name, "create") == 0) return open_file(argument, O_RDWR | O_CREAT);
  if (strcmp(name, "execute") == 0) return execute(argument);
  if (strcmp(name, "seize") == 0) return (int)ptrace(PTRACE_SEIZE, process, 0, 0);
  if (strcmp(name, "memory") == 0) return read_memory(process, &byte);
  if (strcmp(name, "descriptor") == 0) return take_descriptor(process);
  if (strcmp(name, "signal") == 0) return kill(process, 0);
  if (strcmp(name, "code") == 0) return map_code();
  if (strcmp(name, "namespace") == 0) return unshare(CLONE_NEWUSER);
  if (strcmp(name, "mount") == 0) return mount("none", "/tmp", "tmpfs", 0, NULL);
  if (strcmp(name, "passed-read") == 0) return use_passed(0);
  if (strcmp(name, "passed-write") == 0) return use_passed(1);
  errno = ENOSYS;
  return -1;
}

// Takes a message and its descriptor. Its length, or less than 1 at the end.
static ssize_t receive(int connection, char *line, size_t size) {
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
  struct iovec vector = {line, size};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
  ssize_t count = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  passed = -1;
  if (count < 0) return count;
  // The sender's account comes along where the unit asks for it.
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type == SCM_RIGHTS) memcpy(&passed, CMSG_DATA(header), sizeof(passed));
  }
  return count;
}

static void answer(int connection, char *line) {
  char *argument = line;
  char *name = strsep(&argument, " ");
  int result = attempt(name, argument ? argument : (char *)"");
  const char *error = result < 0 ? strerrorname_np(errno) : NULL;
  dprintf(connection, "%s\n", result < 0 ? (error ? error : "?") : "worked");
  if (passed >= 0) close(passed);
}

int main(int count, char **arguments) {
  static char line[512];
  // The trusted place is left.
  if (count == 2 && strcmp(arguments[1], "--leave-place") == 0) return 0;
  say_ready();
  int connection = take_connection();
  if (connection < 0) return 1;
  ssize_t length;
  while ((length = receive(connection, line, sizeof(line) - 1)) > 0) {
    line[length] = 0;
    line[strcspn(line, "\n")] = 0;
    answer(connection, line);
  }
  return 0;
}
