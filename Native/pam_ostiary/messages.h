// The messages of Documentation/formats/sign-in.md: fields to bytes, and bytes to fields.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

enum { MESSAGE_MAXIMUM = 2048, TEXTS_MAXIMUM = 4 };

enum kind {
  KIND_HELLO = 0x01,
  KIND_WAIT = 0x02,
  KIND_INFO = 0x03,
  KIND_ASK = 0x04,
  KIND_ERROR = 0x05,
  KIND_OK = 0x06,
  KIND_NO = 0x07,
  KIND_UNAVAILABLE = 0x08,
  KIND_DONE = 0x09,

  KIND_AUTHENTICATE = 0x10,
  KIND_TYPED = 0x11,
  KIND_CANCELLED = 0x12,
  KIND_OPEN = 0x20,
  KIND_CHANGE = 0x30,
  KIND_RESET = 0x31,
};

enum { FLAG_SILENT = 1, FLAG_TERMINAL = 2, FLAG_MAY_ASK = 4 };

enum { DONE = 0, DONE_NOT_BOUND = 1, DONE_WRONG = 2, DONE_UNAVAILABLE = 3 };

// A message to the daemon. Texts are lent and not copied, so a secret has no second place. It points into itself: it must not be
// copied either.
struct outgoing {
  unsigned char header[4];
  unsigned char lengths[TEXTS_MAXIMUM][2];
  unsigned char flags;
  struct iovec parts[1 + 2 * TEXTS_MAXIMUM + 1];
  size_t part_count;
  size_t text_count;
  size_t size;
  bool fits;
};

void begin_message(struct outgoing *message, enum kind kind);
void add_text(struct outgoing *message, const char *text);
void add_flags(struct outgoing *message, unsigned char flags);

// A message of the daemon.
struct incoming {
  enum kind kind;
  unsigned char value;  // of KIND_UNAVAILABLE and KIND_DONE
  const char *text;     // of KIND_INFO, KIND_ASK and KIND_ERROR
  unsigned char bytes[MESSAGE_MAXIMUM + 1];
};

// Reads the first `size` bytes of `message->bytes`. False: they are no message of the daemon.
bool read_message(struct incoming *message, size_t size);
