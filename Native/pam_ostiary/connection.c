#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_ext.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

// The build for the tests has others. A released module reads neither from the environment, which belongs to the person in a setuid program.
#ifndef OSTIARY_PAM_SOCKET
#define OSTIARY_PAM_SOCKET "/run/ostiary/pam.socket"
#endif
#ifndef OSTIARY_ACCOUNT
#define OSTIARY_ACCOUNT "ostiary"
#endif

moment now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (moment)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Never 0, 1 or 2. If the host has closed one of them, what it prints would go to the daemon.
static int make_socket(void) {
  int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (made < 0 || made > STDERR_FILENO) return made;
  int moved = fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(made);
  return moved;
}

// A queue of the listener that is full would block; a non-blocking call would fail at once, without a way to wait for a place.
static bool connect_until(int descriptor, moment deadline) {
  const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = OSTIARY_PAM_SOCKET};
  for (;;) {
    moment left = deadline - now();
    if (left <= 0) {
      errno = ETIMEDOUT;
      return false;
    }
    const struct timeval limit = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
    if (setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit)) return false;
    if (!connect(descriptor, (const struct sockaddr *)&address, sizeof address)) return true;
    if (errno != EINTR) return false;
  }
}

// systemd listens for the daemon, as root. A daemon that listens again itself has its own account.
static bool is_daemon(pam_handle_t *handle, int descriptor) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return false;
  if (peer.uid == 0) return true;
  struct passwd entry, *found = NULL;
  char buffer[4096];
  if (!getpwnam_r(OSTIARY_ACCOUNT, &entry, buffer, sizeof buffer, &found) && found && found->pw_uid == peer.uid) return true;
  pam_syslog(handle, LOG_ERR, "user %u listens in place of the daemon; nothing was sent", (unsigned)peer.uid);
  return false;
}

static bool await_until(pam_handle_t *handle, struct connection *connection, struct incoming *message, moment deadline) {
  enum reception reception = receive_message(handle, connection, message, deadline);
  if (reception == NOTHING_YET) pam_syslog(handle, LOG_WARNING, "the daemon gives no answer");
  return reception == RECEIVED;
}

static bool await_greeting(pam_handle_t *handle, struct connection *connection, moment deadline) {
  struct incoming message;
  if (!await_until(handle, connection, &message, deadline)) return false;
  if (message.kind == KIND_HELLO) return true;
  log_unexpected(handle, &message);
  return false;
}

bool reach_daemon(pam_handle_t *handle, struct connection *connection, moment greeting_limit) {
  moment beginning = now();
  *connection = (struct connection){.descriptor = make_socket()};
  if (connection->descriptor < 0) {
    pam_syslog(handle, LOG_WARNING, "no socket: %m");
    return false;
  }
  if (!connect_until(connection->descriptor, beginning + CONNECTING_LIMIT)) {
    pam_syslog(handle, LOG_WARNING, "no daemon at %s: %m", OSTIARY_PAM_SOCKET);
  } else if (is_daemon(handle, connection->descriptor) && await_greeting(handle, connection, beginning + greeting_limit)) {
    return true;
  }
  hang_up(connection);
  return false;
}

void hang_up(struct connection *connection) {
  close(connection->descriptor);
  connection->descriptor = -1;
}

static void pass(struct msghdr *header, char *room, size_t size, int descriptor) {
  memset(room, 0, size);
  header->msg_control = room;
  header->msg_controllen = size;
  struct cmsghdr *control = CMSG_FIRSTHDR(header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
}

// The few messages of a connection always have room in an empty socket, so a send that would wait is a failure.
bool send_message(pam_handle_t *handle, struct connection *connection, const struct outgoing *message, int passed) {
  if (!message->fits) {
    pam_syslog(handle, LOG_WARNING, "the names or the secret are too long for a message");
    return false;
  }
  struct msghdr header = {.msg_iov = (struct iovec *)message->parts, .msg_iovlen = message->part_count};
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof passed)];
  if (passed >= 0) pass(&header, room, sizeof room, passed);
  ssize_t sent;
  do sent = sendmsg(connection->descriptor, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent == (ssize_t)message->size) return true;
  pam_syslog(handle, LOG_WARNING, "the daemon takes no message: %m");
  return false;
}

// Looks at least once. Signals of the host make no limit longer.
static bool is_readable(int descriptor, moment deadline) {
  for (;;) {
    moment left = deadline - now();
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    int count = poll(&wait, 1, left > 0 ? (int)left : 0);
    if (count >= 0 || errno != EINTR) return count > 0;
  }
}

enum reception receive_message(pam_handle_t *handle, struct connection *connection, struct incoming *message, moment deadline) {
  if (!is_readable(connection->descriptor, deadline)) return NOTHING_YET;
  if (++connection->incoming_count > INCOMING_MAXIMUM) {
    pam_syslog(handle, LOG_ERR, "the daemon sends too many messages");
    return BROKEN;
  }
  // MSG_TRUNC tells the whole length. Without room for control data the kernel closes descriptors that come along.
  ssize_t size = recv(connection->descriptor, message->bytes, sizeof message->bytes, MSG_DONTWAIT | MSG_TRUNC);
  if (size <= 0) {
    pam_syslog(handle, LOG_WARNING, size ? "the daemon cannot be read: %m" : "the daemon hung up");
    return BROKEN;
  }
  if (read_message(message, (size_t)size)) return RECEIVED;
  pam_syslog(handle, LOG_ERR, "the daemon sent %zd bytes that are no message", size);
  return BROKEN;
}

bool await_message(pam_handle_t *handle, struct connection *connection, struct incoming *message, moment deadline) {
  moment silence = now() + SILENCE_LIMIT;
  return await_until(handle, connection, message, silence < deadline ? silence : deadline);
}

void log_unexpected(pam_handle_t *handle, const struct incoming *message) {
  pam_syslog(handle, LOG_ERR, "the daemon sent a message of kind %02x out of turn", (unsigned)message->kind);
}
