#define _GNU_SOURCE
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "messages.h"

void fail(const char *words) {
  // Nobody may read it, and then there is nobody to tell.
  ssize_t written = write(STDERR_FILENO, words, strlen(words));
  (void)written;
  _exit(1);
}

// What is not permitted cannot come back by executing something: the inheritable set is empty, and so the ambient one.
static int keep_capability(unsigned capability) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) != 0) return -1;
  for (unsigned word = 0; word < _LINUX_CAPABILITY_U32S_3; word++) {
    uint32_t kept = word == CAP_TO_INDEX(capability) ? CAP_TO_MASK(capability) : 0;
    sets[word].permitted &= kept;
    sets[word].effective = sets[word].permitted;
    sets[word].inheritable = 0;
  }
  return (int)syscall(SYS_capset, &header, sets);
}

// The signal of the timer that bounds a helper's time ends the process, whatever was set before.
static int admit_timer(void) {
  sigset_t none;
  sigemptyset(&none);
  return signal(SIGALRM, SIG_DFL) == SIG_ERR ? -1 : sigprocmask(SIG_SETMASK, &none, NULL);
}

void give_up_rights(unsigned capability) {
  struct rlimit none = {0, 0};
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || setrlimit(RLIMIT_CORE, &none) != 0 ||
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || keep_capability(capability) != 0 || admit_timer() != 0) {
    fail("the kernel does not let this helper give up its rights\n");
  }
}

void limit_time(int milliseconds) {
  struct itimerval timer = {.it_value = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000}};
  if (setitimer(ITIMER_REAL, &timer, NULL) != 0) fail("there is no timer\n");
}

// A descriptor that is opened later must not get the number of a standard stream.
static int occupy_standard_descriptors(void) {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDWR) != number) return -1;
  }
  return 0;
}

static int has_option(int option, int wanted) {
  int value = -1;
  socklen_t length = sizeof(value);
  return getsockopt(CONNECTION, SOL_SOCKET, option, &value, &length) == 0 && value == wanted;
}

static int was_given(void) {
  char own[24];
  const char *process = getenv("LISTEN_PID");
  const char *count = getenv("LISTEN_FDS");
  snprintf(own, sizeof(own), "%ld", (long)getpid());
  return process && count && strcmp(process, own) == 0 && strcmp(count, "1") == 0;
}

// The owner of the file at which the socket of the service manager is bound; an accepted connection has that address too.
static int socket_owner(uid_t *owner) {
  struct sockaddr_un address;
  socklen_t length = sizeof(address);
  struct stat file;
  memset(&address, 0, sizeof(address));
  if (getsockname(CONNECTION, (struct sockaddr *)&address, &length) != 0) return -1;
  // No file, or an abstract address, has no owner. A longest path has no byte for the end of the text.
  if (length <= offsetof(struct sockaddr_un, sun_path) || length >= sizeof(address)) return -1;
  if (address.sun_path[0] != '/') return -1;
  if (lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return -1;
  *owner = file.st_uid;
  return 0;
}

uid_t take_socket(enum given_socket kind) {
  int listens = kind == GIVEN_LISTENER;
  uid_t owner;
  if (!was_given()) fail("the service manager starts this helper, and gave it no socket\n");
  clearenv();
  if (!has_option(SO_DOMAIN, AF_UNIX) || !has_option(SO_TYPE, SOCK_SEQPACKET) || !has_option(SO_ACCEPTCONN, listens)) {
    fail("the service manager gave another kind of socket\n");
  }
  if (socket_owner(&owner) != 0) fail("the socket has no file whose owner can be seen\n");
  if (occupy_standard_descriptors() != 0 || close_range(CONNECTION + 1, ~0U, 0) != 0) {
    fail("the descriptors cannot be put in order\n");
  }
  if (listens) {
    // The next descriptor to be made is then CONNECTION.
    if (dup3(CONNECTION, LISTENER, O_CLOEXEC) != LISTENER || close(CONNECTION) != 0) fail("the listener cannot be moved\n");
  } else if (fcntl(CONNECTION, F_SETFD, FD_CLOEXEC) != 0) {
    fail("the connection cannot be kept\n");
  }
  return owner;
}

int is_served(uid_t account) {
  struct ucred peer;
  socklen_t length = sizeof(peer);
  if (getsockopt(CONNECTION, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return 0;
  return peer.uid == account || peer.uid == 0;
}

int begin_conversation(void) {
  static const unsigned char greeting[] = {1};
  static const unsigned char hand_over[] = {3, CONNECTION};
  struct request request;
  if (send_message(greeting, sizeof(greeting), NULL, 0) != 0 || receive_message(&request) != 0) return -1;
  if (request.descriptor >= 0) {
    close(request.descriptor);
    return -1;
  }
  return request.count == sizeof(hand_over) && memcmp(request.bytes, hand_over, sizeof(hand_over)) == 0 ? 0 : -1;
}
