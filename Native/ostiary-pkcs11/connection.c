#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "place.h"
#include "sessions.h"

// The build for the tests waits shorter.
#ifndef OSTIARY_ANSWER_LIMIT
#define OSTIARY_ANSWER_LIMIT 30000
#endif

enum {
  VERSION = 1,
  HEAD_SIZE = 9,  // length, kind and number
  CONNECTING_LIMIT = 5000,
  STARTED_LIMIT = 1000,
  // With the start of the daemon behind the door.
  ANSWER_LIMIT = OSTIARY_ANSWER_LIMIT,
  // Longer than any question stands.
  QUESTION_LIMIT = 15 * 60 * 1000,
  // Until a reader looks whether the descriptor is still its own, and whether its request was cancelled. Only while a request is under way.
  LOOK_INTERVAL = 250,
};

static const unsigned char greeting[5] = {'O', 'P', '1', '1', VERSION};

static moment earlier(moment one, moment other) { return one < other ? one : other; }

// MARK: bytes

// False when the time is over, and when the descriptor has become the host's.
static bool wait_until(const struct descriptor *descriptor, short event, moment deadline) {
  while (is_ours(descriptor)) {
    moment left = deadline - now();
    struct pollfd wait = {.fd = descriptor->number, .events = event};
    int count = left > 0 ? poll(&wait, 1, (int)earlier(left, LOOK_INTERVAL)) : 0;
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
    if (left <= LOOK_INTERVAL && now() >= deadline) return false;
  }
  return false;
}

// Bytes go to a socket alone, whatever the host made of the number meanwhile (ENOTSOCK), and bring no signal.
static bool send_all(const struct descriptor *descriptor, struct iovec *parts, size_t count, moment deadline) {
  while (count) {
    if (!parts->iov_len) {
      parts++, count--;
      continue;
    }
    if (!is_ours(descriptor)) return false;
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    ssize_t sent = sendmsg(descriptor->number, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN || !wait_until(descriptor, POLLOUT, deadline)) return false;
      continue;
    }
    for (size_t rest = (size_t)sent; rest;) {
      size_t taken = rest < parts->iov_len ? rest : parts->iov_len;
      parts->iov_base = (char *)parts->iov_base + taken;
      parts->iov_len -= taken;
      rest -= taken;
      if (rest) parts++, count--;
    }
  }
  return true;
}

static bool send_message(const struct descriptor *descriptor, enum kind kind, uint32_t number, const struct iovec *parts,
                         size_t part_count) {
  unsigned char head[HEAD_SIZE];
  struct iovec all[1 + PARTS_MAXIMUM] = {{.iov_base = head, .iov_len = sizeof head}};
  size_t size = FRAME_MINIMUM;
  for (size_t index = 0; index < part_count; index++) {
    all[1 + index] = parts[index];
    size += parts[index].iov_len;
  }
  put_number(head, (uint32_t)size);
  head[4] = (unsigned char)kind;
  put_number(head + 5, number);
  return send_all(descriptor, all, 1 + part_count, now() + ANSWER_LIMIT);
}

enum progress { NOTHING, WHOLE, BROKEN };

// Reads on in the message that has begun. By one thread at a time.
//
// There is no room for control data, so the kernel closes descriptors that come along.
static enum progress read_on(struct connection *connection, moment deadline) {
  for (;;) {
    bool knows_size = connection->filled >= sizeof connection->length;
    unsigned char *place = knows_size ? connection->content + connection->filled - sizeof connection->length
                                      : connection->length + connection->filled;
    size_t wanted = sizeof connection->length + (knows_size ? connection->size : 0) - connection->filled;
    if (!is_ours(&connection->descriptor)) return BROKEN;
    ssize_t got = recv(connection->descriptor.number, place, wanted, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return BROKEN;
    if (got < 0) {
      if (errno == EINTR || wait_until(&connection->descriptor, POLLIN, deadline)) continue;
      return is_ours(&connection->descriptor) ? NOTHING : BROKEN;
    }
    connection->filled += (size_t)got;
    if ((size_t)got < wanted) continue;
    if (knows_size) return WHOLE;
    connection->size = get_number(connection->length);
    if (connection->size < FRAME_MINIMUM || connection->size > FRAME_MAXIMUM) return BROKEN;
    connection->content = malloc(connection->size);
    if (!connection->content) return BROKEN;
  }
}

// The message belongs to the caller then.
static unsigned char *take_message(struct connection *connection, size_t *size) {
  unsigned char *content = connection->content;
  *size = connection->size;
  connection->content = NULL;
  connection->filled = connection->size = 0;
  return content;
}

// MARK: making a connection

// Never 0, 1 or 2. If the host has closed one of them, what it prints would go to the door.
static int make_socket(void) {
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0 || made > STDERR_FILENO) return made;
  int moved = fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(made);
  return moved;
}

// The number is known before the lock is given back: a fork in between would leave the child a descriptor that nobody closes.
static bool open_socket(struct descriptor *descriptor) {
  relock();
  struct stat file;
  int number = make_socket();
  bool is_open = number >= 0 && !fstat(number, &file);
  if (is_open) *descriptor = state.opening = (struct descriptor){.number = number, .device = file.st_dev, .inode = file.st_ino};
  unlock();
  if (number >= 0 && !is_open) close(number);
  return is_open;
}

static void close_socket(struct descriptor *descriptor) {
  relock();
  close_ours(descriptor);
  state.opening.number = -1;
  unlock();
}

// A queue of the listener that is full would block; a non-blocking call would fail at once, without a way to wait for a place.
static bool connect_until(int number, const struct sockaddr_un *address, moment deadline) {
  for (;;) {
    moment left = deadline - now();
    if (left <= 0) {
      errno = ETIMEDOUT;
      return false;
    }
    const struct timeval limit = {.tv_sec = left / 1000, .tv_usec = left % 1000 * 1000};
    if (setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit)) return false;
    if (!connect(number, (const struct sockaddr *)address, sizeof *address)) return true;
    if (errno != EINTR) return false;
  }
}

// Who listens: the door, or the user's service manager for it.
static bool is_of_this_user(int number) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  return !getsockopt(number, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == geteuid();
}

enum reach { REACHED, UNREACHABLE, NOBODY_LISTENS };

static enum reach reach_door(const struct place *place, struct descriptor *descriptor) {
  enum place_state found = look_at_socket(place);
  if (found != PLACE_USABLE) return found == PLACE_ABSENT ? NOBODY_LISTENS : UNREACHABLE;
  if (!open_socket(descriptor)) return UNREACHABLE;
  bool is_connected = connect_until(descriptor->number, &place->address, now() + CONNECTING_LIMIT);
  int error = errno;
  if (is_connected && is_ours(descriptor) && is_of_this_user(descriptor->number)) return REACHED;
  close_socket(descriptor);
  return !is_connected && (error == ECONNREFUSED || error == ENOENT) ? NOBODY_LISTENS : UNREACHABLE;
}

// The door that was started may have found another one about to serve, and left.
static enum reach reach_started_door(const struct place *place, struct descriptor *descriptor) {
  const struct timespec pause = {.tv_nsec = 10000000};
  for (moment deadline = now() + STARTED_LIMIT;;) {
    enum reach reach = reach_door(place, descriptor);
    if (reach != NOBODY_LISTENS || now() >= deadline) return reach;
    nanosleep(&pause, NULL);
  }
}

static bool exchange_greetings(struct connection *connection) {
  const struct iovec body = {.iov_base = (void *)(uintptr_t)greeting, .iov_len = sizeof greeting};
  if (!send_message(&connection->descriptor, KIND_HELLO, 0, &body, 1)) return false;
  if (read_on(connection, now() + ANSWER_LIMIT) != WHOLE) return false;
  size_t size;
  unsigned char *content = take_message(connection, &size);
  bool is_right = size == FRAME_MINIMUM + 1 && content[0] == KIND_GREETING && !get_number(content + 1) && content[5] == VERSION;
  free(content);
  return is_right;
}

static void destroy(struct connection *connection) {
  close_ours(&connection->descriptor);
  free_secret(connection->content, connection->size);
  free(connection);
}

// Without the lock. NULL for a door that cannot be reached.
static struct connection *make_connection(void) {
  struct place place;
  if (!find_place(&place)) return NULL;
  struct connection *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->descriptor.number = -1;
  enum reach reach = reach_door(&place, &made->descriptor);
  if (reach == NOBODY_LISTENS && start_door(&place)) reach = reach_started_door(&place, &made->descriptor);
  if (reach == REACHED && exchange_greetings(made)) return made;
  close_socket(&made->descriptor);
  destroy(made);
  return NULL;
}

// MARK: using it

static void release(struct connection *connection) {
  connection->users--;
  if (connection->is_broken && state.connection == connection) state.connection = NULL;
  if (!connection->users && state.connection != connection) destroy(connection);
}

// From now on all that waits for an answer returns. The next call makes a new connection.
static void break_connection(struct connection *connection) {
  connection->is_broken = true;
  if (state.connection == connection) state.connection = NULL;
  if (is_ours(&connection->descriptor)) shutdown(connection->descriptor.number, SHUT_RDWR);
  tell_news();
}

// Whether the door is there, as far as the kernel says so now.
static bool is_alive(const struct connection *connection) {
  if (!is_ours(&connection->descriptor)) return false;
  struct pollfd look = {.fd = connection->descriptor.number, .events = POLLRDHUP};
  return poll(&look, 1, 0) <= 0;
}

// The connection, which is made if there is none, and again if the door has gone. To be released.
static struct connection *use_connection(void) {
  while (!state.is_finalizing) {
    struct connection *current = state.connection;
    if (current && !is_alive(current)) {
      current->users++;
      break_connection(current);
      release(current);
      continue;
    }
    if (current) {
      current->users++;
      return current;
    }
    if (state.is_connecting) {
      wait_for_news(now() + LOOK_INTERVAL);
      continue;
    }
    state.is_connecting = true;
    unlock();
    struct connection *made = make_connection();
    relock();
    state.is_connecting = false;
    state.opening.number = -1;
    tell_news();
    if (!made) return NULL;
    made->generation = ++state.last_generation;
    made->users = 1;
    state.connection = made;
    return made;
  }
  return NULL;
}

// With the lock, which is given back meanwhile. A message that was sent in part breaks the connection.
static bool send_in_turn(struct connection *connection, enum kind kind, uint32_t number, const struct iovec *parts, size_t part_count) {
  while (connection->is_sending && !connection->is_broken) wait_for_news(now() + ANSWER_LIMIT);
  if (connection->is_broken) return false;
  connection->is_sending = true;
  unlock();
  bool is_sent = send_message(&connection->descriptor, kind, number, parts, part_count);
  relock();
  connection->is_sending = false;
  tell_news();
  if (!is_sent) break_connection(connection);
  return is_sent;
}

static void send_numbered(struct connection *connection, enum kind kind, uint32_t number) {
  unsigned char body[4];
  put_number(body, number);
  const struct iovec part = {.iov_base = body, .iov_len = sizeof body};
  send_in_turn(connection, kind, 0, &part, 1);
}

static bool is_refusal(const unsigned char *content, size_t size) {
  return content[0] == KIND_REFUSED && size == FRAME_MINIMUM + 4 && get_number(content + FRAME_MINIMUM);
}

// Hands a message to the request that it answers. False: it is no answer.
static bool dispatch(struct connection *connection) {
  size_t size;
  unsigned char *content = take_message(connection, &size);
  uint32_t number = get_number(content + 1);
  struct request *request = connection->requests;
  while (request && request->number != number) request = request->next;
  bool is_answer = number && number <= connection->last_number;
  if (request && is_answer) {
    is_answer = !request->is_done && (content[0] == request->awaited || is_refusal(content, size));
    if (is_answer) {
      request->is_done = true;
      request->refusal = content[0] == KIND_REFUSED ? get_number(content + FRAME_MINIMUM) : CKR_OK;
      request->frame = content;
      request->size = size;
      return true;
    }
  }
  // Also what comes for a request that was given up.
  free_secret(content, size);
  return is_answer;
}

static void read_for_all(struct connection *connection, moment deadline) {
  connection->has_reader = true;
  unlock();
  enum progress progress = read_on(connection, deadline);
  relock();
  connection->has_reader = false;
  if (progress == BROKEN || (progress == WHOLE && !dispatch(connection))) break_connection(connection);
  // Somebody else reads on, if this thread has what it waits for.
  tell_news();
}

static void wait_for_answer(struct connection *connection, struct request *request, moment deadline) {
  while (!request->is_done && !request->is_cancelled && !connection->is_broken && now() < deadline) {
    if (connection->has_reader) {
      wait_for_news(deadline);
    } else {
      read_for_all(connection, earlier(deadline, now() + LOOK_INTERVAL));
    }
  }
}

static void remove_request(struct connection *connection, struct request *request) {
  struct request **place = &connection->requests;
  while (*place != request) place = &(*place)->next;
  *place = request->next;
  connection->request_count--;
  tell_news();
}

static CK_RV known_refusal(CK_RV code) {
  switch (code) {
  case CKR_FUNCTION_REJECTED:
  case CKR_FUNCTION_CANCELED:
  case CKR_PIN_LOCKED:
  case CKR_KEY_HANDLE_INVALID:
  case CKR_KEY_FUNCTION_NOT_PERMITTED:
  case CKR_MECHANISM_INVALID:
  case CKR_MECHANISM_PARAM_INVALID:
  case CKR_DATA_INVALID:
  case CKR_DATA_LEN_RANGE:
  case CKR_ENCRYPTED_DATA_INVALID:
  case CKR_ENCRYPTED_DATA_LEN_RANGE:
  case CKR_DEVICE_MEMORY:
  case CKR_DEVICE_ERROR:
    return code;
  default:
    return CKR_FUNCTION_FAILED;
  }
}

static CK_RV result_of(const struct request *request, struct answer *answer) {
  if (!request->is_done) return request->is_cancelled ? CKR_FUNCTION_CANCELED : CKR_DEVICE_ERROR;
  *answer = (struct answer){
      .bytes = request->frame + FRAME_MINIMUM,
      .size = request->size - FRAME_MINIMUM,
      .frame = request->frame,
      .frame_size = request->size,
  };
  if (!request->refusal) return CKR_OK;
  forget_answer(answer);
  return known_refusal(request->refusal);
}

static bool asks(enum kind kind) { return kind == KIND_SIGN || kind == KIND_DECRYPT || kind == KIND_DERIVE; }

// A question that nobody waits for goes away. A door that does not even answer without a question does not work.
static void give_up(struct connection *connection, const struct request *request, enum kind kind) {
  if (asks(kind) || request->is_cancelled) {
    send_numbered(connection, KIND_CANCEL, request->number);
  } else {
    break_connection(connection);
  }
}

CK_RV transact(struct session *session, enum kind kind, const struct iovec *parts, size_t part_count, unsigned long *generation,
               struct answer *answer) {
  struct connection *connection = use_connection();
  if (!connection) return CKR_DEVICE_ERROR;
  bool is_right = !generation || !*generation || *generation == connection->generation;
  moment deadline = now() + (asks(kind) ? QUESTION_LIMIT : ANSWER_LIMIT);
  while (is_right && connection->request_count >= REQUESTS_MAXIMUM && !connection->is_broken && now() < deadline) {
    wait_for_news(deadline);
  }
  if (!is_right || connection->is_broken || connection->request_count >= REQUESTS_MAXIMUM || connection->last_number == UINT32_MAX) {
    if (connection->last_number == UINT32_MAX) break_connection(connection);
    release(connection);
    return CKR_DEVICE_ERROR;
  }
  if (generation) *generation = connection->generation;
  struct request request = {
      .next = connection->requests, .number = ++connection->last_number, .awaited = kind == KIND_OBJECTS ? KIND_LIST : KIND_RESULT};
  connection->requests = &request;
  connection->request_count++;
  if (session) session->request = &request;
  if (state.is_finalizing || (session && session->is_closed)) request.is_cancelled = true;
  if (!request.is_cancelled && send_in_turn(connection, kind, request.number, parts, part_count)) {
    wait_for_answer(connection, &request, deadline);
    if (!request.is_done && !connection->is_broken) give_up(connection, &request, kind);
  }
  if (session) session->request = NULL;
  remove_request(connection, &request);
  CK_RV result = result_of(&request, answer);
  release(connection);
  return result;
}

void forget_answer(struct answer *answer) {
  free_secret(answer->frame, answer->frame_size);
  *answer = (struct answer){0};
}

CK_RV hang_up(unsigned long generation) {
  struct connection *connection = state.connection;
  if (connection && connection->generation == generation) {
    connection->users++;
    break_connection(connection);
    release(connection);
  }
  return CKR_DEVICE_ERROR;
}

void forget_operation(uint32_t operation, unsigned long generation) {
  struct connection *connection = state.connection;
  if (!connection || connection->generation != generation || !is_alive(connection)) return;
  connection->users++;
  send_numbered(connection, KIND_FORGET, operation);
  release(connection);
}

void cancel_request(struct request *request) {
  request->is_cancelled = true;
  tell_news();
}

void cancel_all_requests(void) {
  for (struct request *each = state.connection ? state.connection->requests : NULL; each; each = each->next) each->is_cancelled = true;
  tell_news();
}

void forget_connection(void) {
  if (state.connection) destroy(state.connection);
  state.connection = NULL;
}
