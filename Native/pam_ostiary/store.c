// `session` opens the person's store, `password` tells the daemon of a change. Neither can make a login or a change fail.
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <syslog.h>

#include "connection.h"
#include "module.h"
#include "options.h"
#include "token.h"

enum { OPENING_LIMIT = 10 * 1000, CHANGING_LIMIT = 60 * 1000 };

static void log_result(pam_handle_t *handle, const struct options *options, unsigned char result) {
  if (result == DONE || result == DONE_NOT_BOUND) {
    if (options->is_verbose) pam_syslog(handle, LOG_DEBUG, result == DONE ? "done" : "the password is not bound to the store");
  } else {
    pam_syslog(handle, LOG_NOTICE, result == DONE_WRONG ? "the password does not open the store" : "the store is not available");
  }
}

static void await_result(pam_handle_t *handle, struct connection *connection, const struct options *options, moment deadline) {
  struct incoming message;
  do {
    if (!await_message(handle, connection, &message, deadline)) return;
  } while (message.kind == KIND_WAIT);
  if (message.kind == KIND_DONE) log_result(handle, options, message.value);
  else log_unexpected(handle, &message);
}

static void tell_daemon(pam_handle_t *handle, const struct options *options, const struct outgoing *message, moment limit) {
  struct connection connection;
  moment deadline = now() + limit;
  if (!reach_daemon(handle, &connection, GREETING_LIMIT_OF_STORE)) return;
  if (send_message(handle, &connection, message, -1)) await_result(handle, &connection, options, deadline);
  hang_up(&connection);
}

EXPORTED int pam_sm_open_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  struct options options;
  const char *user = text_item(handle, PAM_USER);
  const char *secret = kept_token(handle, user);
  if (secret && read_options(handle, count, words, &options)) {
    struct outgoing message;
    begin_message(&message, KIND_OPEN);
    add_text(&message, user);
    add_text(&message, text_item(handle, PAM_SERVICE));
    add_text(&message, secret);
    tell_daemon(handle, &options, &message, OPENING_LIMIT);
  }
  drop_token(handle);
  return PAM_IGNORE;
}

EXPORTED int pam_sm_close_session(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_IGNORE;
}

// Root sets a password without the old one. The store cannot follow then, and must not go on to open with the former password.
static void describe_change(struct outgoing *message, const char *user, const char *old, const char *new) {
  begin_message(message, *old ? KIND_CHANGE : KIND_RESET);
  add_text(message, user);
  if (!*old) return;
  add_text(message, old);
  add_text(message, new);
}

EXPORTED int pam_sm_chauthtok(pam_handle_t *handle, int flags, int count, const char **words) {
  struct options options;
  if (!(flags & PAM_UPDATE_AUTHTOK) || !read_options(handle, count, words, &options)) return PAM_IGNORE;
  const char *user = text_item(handle, PAM_USER), *new = text_item(handle, PAM_AUTHTOK);
  if (!*user || !*new) return PAM_IGNORE;
  struct outgoing message;
  describe_change(&message, user, text_item(handle, PAM_OLDAUTHTOK), new);
  tell_daemon(handle, &options, &message, CHANGING_LIMIT);
  return PAM_IGNORE;
}
