// The way to the daemon. Nothing here waits longer than it was told.
#pragma once

#include <security/pam_modules.h>
#include <stdbool.h>

#include "messages.h"

// Milliseconds of CLOCK_MONOTONIC: a changed clock moves no limit.
typedef long long moment;

enum {
  CONNECTING_LIMIT = 1000,
  // From the beginning on, with the connection. A person waits for the question, and the password serves without the daemon.
  GREETING_LIMIT = 2000,
  // The same where a secret would be lost: the first login of a machine starts the daemon.
  GREETING_LIMIT_OF_STORE = 7000,
  SILENCE_LIMIT = 2000,
  INCOMING_MAXIMUM = 512,
};

struct connection {
  int descriptor;
  int incoming_count;
};

moment now(void);

// Connects, looks who listens, and waits for the daemon's greeting. On false there is nothing to close.
bool reach_daemon(pam_handle_t *handle, struct connection *connection, moment greeting_limit);
void hang_up(struct connection *connection);

// `passed` is a descriptor that goes along, or -1.
bool send_message(pam_handle_t *handle, struct connection *connection, const struct outgoing *message, int passed);

enum reception { RECEIVED, NOTHING_YET, BROKEN };

// The next message. A message that is there is read even if the time is over: the host may have been stopped meanwhile.
enum reception receive_message(pam_handle_t *handle, struct connection *connection, struct incoming *message, moment deadline);

// The same where silence is a failure: until `deadline`, and no longer than SILENCE_LIMIT. Says in the log what is wrong.
bool await_message(pam_handle_t *handle, struct connection *connection, struct incoming *message, moment deadline);

// For a message that fits, but not here.
void log_unexpected(pam_handle_t *handle, const struct incoming *message);
