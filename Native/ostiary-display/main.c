// ostiary-display: connects to the display of a user's session. Documentation/formats/display.md has its messages.
//
// CAP_DAC_OVERRIDE lets it reach a socket in the user's own folder. It serves one question, looks in two places alone, follows no link,
// and hands out nothing but connections and X11 cookies that belong to the user whom the request names.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/attack.h"
#include "../shared/filter.h"
#include "../shared/messages.h"
#include "../shared/start.h"
#include "places.h"

enum {
  REQUEST_HEAD = 10,  // bytes without the name
  ANSWER_HEAD = 8,
  MAXIMUM_DISPLAY = 9 + MAXIMUM_NAME,  // of one display in an answer
  MAXIMUM_REQUESTS = 16,
  LIFE_MILLISECONDS = 20000,  // the service manager allows 30 seconds
};

static const struct allowed_call calls[] = {
    {SYS_recvmsg, 2, {{0, CONNECTION}, {2, MSG_CMSG_CLOEXEC}}},
    {SYS_sendmsg, 2, {{0, CONNECTION}, {2, MSG_NOSIGNAL}}},
    {SYS_openat, 1, {{2, O_PATH | O_NOFOLLOW | O_CLOEXEC}}},
    {SYS_openat, 1, {{2, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC}}},
    {SYS_openat, 1, {{2, O_RDONLY | O_DIRECTORY | O_CLOEXEC}}},
    {SYS_openat, 1, {{2, O_RDONLY | O_CLOEXEC}}},
    {SYS_statx, 1, {{2, AT_STATX_DONT_SYNC | AT_EMPTY_PATH}}},
    {SYS_getdents64, 0, {{0}}},
    {SYS_read, 0, {{0}}},
    {SYS_socket, 2, {{0, AF_UNIX}, {1, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK}}},
    {SYS_connect, 0, {{0}}},
    {SYS_getsockopt, 2, {{1, SOL_SOCKET}, {2, SO_PEERCRED}}},
    {SYS_fcntl, 2, {{1, F_SETFL}, {2, 0}}},
    {SYS_fcntl, 1, {{1, F_ADD_SEALS}}},
    {SYS_memfd_create, 0, {{0}}},
    {SYS_write, 0, {{0}}},
    {SYS_close, 0, {{0}}},
    {SYS_exit_group, 0, {{0}}},
};

static int begin_filter(int is_confined) {
  (void)is_confined;  // its AppArmor profile changes nothing
  const struct call_list list = {calls, sizeof(calls) / sizeof(calls[0])};
  return allow_only(&list, 1);
}

struct wish {
  uint8_t kind;
  uid_t user;
  char name[MAXIMUM_NAME + 1];
};

// -1 for another form than that of a request.
static int read_wish(const struct request *request, struct wish *wish) {
  const unsigned char *bytes = request->bytes;
  if (request->descriptor >= 0 || request->count < REQUEST_HEAD || bytes[0] != 'D' || bytes[2] || bytes[3]) return -1;
  size_t length = get_number(bytes + 8, 2);
  if (request->count != REQUEST_HEAD + length) return -1;
  memset(wish, 0, sizeof(*wish));
  wish->kind = bytes[1];
  wish->user = get_word(bytes + 4);
  // A longer name is none of a display, and so is this one.
  memcpy(wish->name, length <= MAXIMUM_NAME ? (const char *)bytes + REQUEST_HEAD : "?", length <= MAXIMUM_NAME ? length : 1);
  // Nor is one that holds the end of a text.
  if (length <= MAXIMUM_NAME && strlen(wish->name) != length) wish->name[0] = '?';
  return 0;
}

static enum outcome fulfil(const struct wish *wish, struct found *found) {
  memset(found, 0, sizeof(*found));
  found->descriptor = -1;
  if (wish->user == (uid_t)-1) return BAD_REQUEST;
  switch (wish->kind) {
    case WAYLAND:
    case X11: {
      enum kind kind = wish->kind == X11 ? X11 : WAYLAND;
      if (*wish->name && !is_name(kind, wish->name)) return BAD_REQUEST;
      return connect_to_display(kind, wish->user, wish->name, found);
    }
    case COOKIE:
      return *wish->name ? BAD_REQUEST : copy_cookies(wish->user, found);
    default:
      return BAD_REQUEST;
  }
}

static int send_answer(enum outcome outcome, const struct found *found) {
  unsigned char answer[ANSWER_HEAD + MAXIMUM_FOUND * MAXIMUM_DISPLAY] = {'d'};
  unsigned char *next = answer + ANSWER_HEAD;
  answer[1] = (unsigned char)outcome;
  put_number(answer + 2, 2, outcome == REFUSED ? (uint64_t)found->code : 0);
  answer[4] = (unsigned char)found->count;
  for (unsigned i = 0; i < found->count; i++) {
    const struct display *display = &found->displays[i];
    size_t length = strlen(display->name);
    put_number(next, 4, (uint32_t)display->process);
    put_number(next + 4, 4, display->user);
    next[8] = (unsigned char)length;
    memcpy(next + 9, display->name, length);
    next += 9 + length;
  }
  return send_message(answer, (size_t)(next - answer), &found->descriptor, outcome == CONNECTED ? 1 : 0);
}

static void serve(void) {
  static struct found found;
  struct request request;
  struct wish wish;
  for (int count = 0; count < MAXIMUM_REQUESTS; count++) {
    if (receive_message(&request) != 0 || read_wish(&request, &wish) != 0) return;
    enum outcome outcome = fulfil(&wish, &found);
    int sent = send_answer(outcome, &found);
    if (found.descriptor >= 0) close(found.descriptor);
    if (sent != 0) return;
  }
}

int main(int count, char **arguments) {
  give_up_rights(CAP_DAC_OVERRIDE);
#ifdef OSTIARY_TEST_OPTIONS
  attack_if_asked(count, arguments, begin_filter);
  if (count == 4 && strcmp(arguments[1], "--folders") == 0) {
    use_folders(arguments[2], arguments[3]);
    count = 1;
  }
#endif
  (void)arguments;
  if (count != 1) fail("this helper takes no arguments\n");
  uid_t daemon = take_socket(GIVEN_CONNECTION);
  if (!is_served(daemon)) fail("another account than the socket's owner has connected\n");
  // A user's folder may be a file system of the user's own, whose server never answers.
  limit_time(LIFE_MILLISECONDS);
  if (begin_filter(0) != 0) fail("the kernel does not filter system calls\n");
  if (begin_conversation() == 0) serve();
  _exit(0);
}
