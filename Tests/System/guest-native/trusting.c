// A library for programs in a user namespace, where root's files and servers seem to be nobody's: the program takes those for root's. Programs of
// Ostiary would refuse, and another one need not look.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Whoever has no number in the namespace (user_namespaces(7)).
enum { NOBODY = 65534 };

int fstat(int file, struct stat *status) {
  int result = fstatat(file, "", status, AT_EMPTY_PATH);
  if (result == 0 && status->st_uid == NOBODY) status->st_uid = 0;
  return result;
}

int getsockopt(int socket, int level, int name, void *value, socklen_t *length) {
  int result = (int)syscall(SYS_getsockopt, socket, level, name, value, length);
  if (result == 0 && level == SOL_SOCKET && name == SO_PEERCRED) {
    struct ucred *peer = value;
    if (peer->uid == NOBODY) peer->uid = 0;
  }
  return result;
}
