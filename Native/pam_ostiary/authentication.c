// `auth`: asks the daemon who is there.
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "account.h"
#include "connection.h"
#include "module.h"
#include "options.h"
#include "terminal.h"
#include "token.h"

enum { ATTEMPT_LIMIT = 5 * 60 * 1000 };

// One attempt to authenticate.
struct attempt {
  pam_handle_t *handle;
  struct connection connection;
  unsigned char flags;
  char *former;  // what was typed at the question before, or NULL
};

// No word of the daemon yet that ends the attempt. None of PAM's results.
enum { UNDECIDED = -1 };

static void show(const struct attempt *attempt, int style, const char *text) {
  if (!(attempt->flags & FLAG_SILENT)) pam_prompt(attempt->handle, style, NULL, "%s", text);
}

// What every message but a question means.
static int verdict(const struct attempt *attempt, const struct incoming *message) {
  switch (message->kind) {
  case KIND_OK:
    return PAM_SUCCESS;
  case KIND_NO:
    return PAM_AUTH_ERR;
  case KIND_UNAVAILABLE:
    pam_syslog(attempt->handle, LOG_NOTICE, "not available, reason %u", (unsigned)message->value);
    return PAM_AUTHINFO_UNAVAIL;
  case KIND_INFO:
    show(attempt, PAM_TEXT_INFO, message->text);
    return UNDECIDED;
  case KIND_ERROR:
    show(attempt, PAM_ERROR_MSG, message->text);
    return UNDECIDED;
  case KIND_WAIT:
    return UNDECIDED;
  default:
    log_unexpected(attempt->handle, message);
    return PAM_AUTHINFO_UNAVAIL;
  }
}

// What the daemon said while the person typed.
static int decided_meanwhile(struct attempt *attempt) {
  struct incoming message;
  for (;;) {
    switch (receive_message(attempt->handle, &attempt->connection, &message, 0)) {
    case NOTHING_YET:
      return UNDECIDED;
    case BROKEN:
      return PAM_AUTHINFO_UNAVAIL;
    case RECEIVED:
      break;
    }
    int result = verdict(attempt, &message);
    if (result != UNDECIDED) return result;
  }
}

static int cancel(struct attempt *attempt) {
  struct outgoing message;
  begin_message(&message, KIND_CANCELLED);
  send_message(attempt->handle, &attempt->connection, &message, -1);
  return PAM_AUTHINFO_UNAVAIL;
}

// Byte by byte: strcmp leaves parts of both in wide registers, and from there they reach the stack.
static bool are_same(const char *one, const char *other) {
  while (*one && *one == *other) one++, other++;
  return *one == *other;
}

// A program that has one word of the person, as sshd has for a password, answers each question with it. It is checked once: a second time it
// would count as another wrong passcode.
static int refuse_repetition(struct attempt *attempt) {
  cancel(attempt);
  return PAM_AUTH_ERR;
}

static int answer(struct attempt *attempt, const char *typed) {
  int result = decided_meanwhile(attempt);
  if (result != UNDECIDED) return result;
  // Enter alone goes on to the next line of the stack, the password.
  if (!*typed) return cancel(attempt);
  if (attempt->former && are_same(attempt->former, typed)) return refuse_repetition(attempt);
  struct outgoing message;
  begin_message(&message, KIND_TYPED);
  add_text(&message, typed);
  return send_message(attempt->handle, &attempt->connection, &message, -1) ? UNDECIDED : PAM_AUTHINFO_UNAVAIL;
}

static void forget_former(struct attempt *attempt) {
  if (attempt->former) explicit_bzero(attempt->former, strlen(attempt->former));
  free(attempt->former);
  attempt->former = NULL;
}

static int ask(struct attempt *attempt, const char *text) {
  char *typed = NULL;
  int result = pam_prompt(attempt->handle, PAM_PROMPT_ECHO_OFF, &typed, "%s", text);
  // A person who gave up is not signed in by a finger that came before.
  result = result == PAM_SUCCESS && typed ? answer(attempt, typed) : cancel(attempt);
  forget_former(attempt);
  attempt->former = typed;
  return result;
}

static int converse(struct attempt *attempt) {
  struct incoming message;
  moment deadline = now() + ATTEMPT_LIMIT;
  for (;;) {
    if (!await_message(attempt->handle, &attempt->connection, &message, deadline)) return PAM_AUTHINFO_UNAVAIL;
    int result;
    if (message.kind == KIND_ASK && attempt->flags & FLAG_MAY_ASK) {
      result = ask(attempt, message.text);
      // The time in which the person typed does not count.
      deadline = now() + ATTEMPT_LIMIT;
    } else {
      result = verdict(attempt, &message);
    }
    if (result != UNDECIDED) return result;
  }
}

static bool send_request(struct attempt *attempt, const char *user, const struct options *options) {
  const char *terminal_name = text_item(attempt->handle, PAM_TTY);
  int terminal = options->keeps_terminal ? -1 : open_terminal(terminal_name);
  if (terminal >= 0) attempt->flags |= FLAG_TERMINAL;
  struct outgoing message;
  begin_message(&message, KIND_AUTHENTICATE);
  add_text(&message, user);
  add_text(&message, text_item(attempt->handle, PAM_SERVICE));
  add_text(&message, text_item(attempt->handle, PAM_RHOST));
  add_text(&message, terminal_name);
  add_flags(&message, attempt->flags);
  bool is_sent = send_message(attempt->handle, &attempt->connection, &message, terminal);
  if (terminal >= 0) close(terminal);
  return is_sent;
}

EXPORTED int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **words) {
  struct options options;
  const char *user = NULL;
  if (!read_options(handle, count, words, &options)) return PAM_AUTHINFO_UNAVAIL;
  if (options.keeps_token) {
    keep_token(handle);
    return PAM_IGNORE;
  }
  // sshd answers with the password of a login, so each would cost a try. PAM_IGNORE would leave out a line that is `required`.
  if (!options.asks_remotely && *text_item(handle, PAM_RHOST)) return PAM_AUTHINFO_UNAVAIL;
  // Whether there is such a user is no matter of the module: an unknown one gets the same answer after the same time.
  if (pam_get_user(handle, &user, NULL) != PAM_SUCCESS || !user || !*user) return PAM_AUTHINFO_UNAVAIL;
  // A yes passes over the line that would refuse the account.
  if (is_locked(handle, user)) return PAM_AUTHINFO_UNAVAIL;
  struct attempt attempt = {.handle = handle, .flags = options.never_asks ? 0 : FLAG_MAY_ASK};
  if ((unsigned)flags & PAM_SILENT) attempt.flags |= FLAG_SILENT;
  if (!reach_daemon(handle, &attempt.connection, GREETING_LIMIT)) return PAM_AUTHINFO_UNAVAIL;
  int result = send_request(&attempt, user, &options) ? converse(&attempt) : PAM_AUTHINFO_UNAVAIL;
  hang_up(&attempt.connection);
  forget_former(&attempt);
  if (options.is_verbose) pam_syslog(handle, LOG_DEBUG, "authentication ended with %d", result);
  return result;
}

// `auth sufficient pam_ostiary.so` runs this alone after a success, and PAM counts PAM_IGNORE as a failure there.
EXPORTED int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_SUCCESS;
}
