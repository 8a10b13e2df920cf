#define _GNU_SOURCE
#include "bus_writer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int ostiary_bus_name_writers(int socket, int are_named) {
  int value = are_named ? 1 : 0;
  return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &value, sizeof value) == 0 ? 0 : -errno;
}

int ostiary_bus_next_writer(int socket, pid_t *process) {
  char byte;
  struct iovec bytes = {.iov_base = &byte, .iov_len = 1};
  // No room for descriptors: the kernel gives none then.
  union {
    char room[CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr alignment;
  } control;
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t count;
  do count = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
  struct cmsghdr *header = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) return 0;
  struct ucred writer;
  memcpy(&writer, CMSG_DATA(header), sizeof writer);
  // Of bytes that were written before, and of a process that this one does not see, the kernel says 0.
  if (writer.pid <= 0) return 0;
  *process = writer.pid;
  return 1;
}
