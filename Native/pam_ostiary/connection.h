// The way to the daemon. Nothing here waits longer than it was told.
#pragma once

#include <security/pam_modules.h>
#include <stdbool.h>

#include "messages.h"

// Milliseconds of CLOCK_MONOTONIC: a changed clock moves no limit.
typedef long long moment;

enum {
  CONNECTING_LIMIT = 1000,
  GREETING_LIMIT = 2000,  // from the beginning on, with the connection
  SILENCE_LIMIT = 2000,
  INCOMING_MAXIMUM = 512,
};

struct connection {
  int descriptor;
  int incoming_count;
};

moment now(void);

// Connects, looks who listens, and waits for the daemon's greeting. On false there is nothing to close.
bool reach_daemon(pam_handle_t *handle, struct connection *connection);
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
