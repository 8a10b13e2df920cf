#define _GNU_SOURCE
#include "messages.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "start.h"

static int passed_descriptor(struct msghdr *message) {
  int descriptor = -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
  }
  return descriptor;
}

int receive_message(struct request *request) {
  // Its length, and not its padded space, which could hold one more: the kernel drops all others (MSG_CTRUNC).
  _Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))];
  struct iovec vector = {.iov_base = request->bytes, .iov_len = sizeof(request->bytes)};
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_LEN(sizeof(int))};
  ssize_t count;
  do {
    count = recvmsg(CONNECTION, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  request->descriptor = count < 0 ? -1 : passed_descriptor(&message);
  if (count > 0 && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
    request->count = (size_t)count;
    return 0;
  }
  if (request->descriptor >= 0) close(request->descriptor);
  request->descriptor = -1;
  return -1;
}

int send_message(const void *bytes, size_t count, const int *descriptors, unsigned number) {
  _Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(MAXIMUM_SENT_DESCRIPTORS * sizeof(int))];
  struct iovec vector = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  if (number > 0) {
    memset(control, 0, sizeof(control));
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(number * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(number * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, number * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(CONNECTION, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 && (size_t)sent == count ? 0 : -1;
}

void put_number(unsigned char *place, size_t count, uint64_t value) {
  for (size_t i = count; i > 0; i--, value >>= 8) place[i - 1] = (unsigned char)value;
}

uint64_t get_number(const unsigned char *place, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; i++) value = value << 8 | place[i];
  return value;
}
