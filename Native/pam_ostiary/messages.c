#include "messages.h"

#include <string.h>

enum { HEADER_SIZE = 4, LENGTH_SIZE = 2 };

static const unsigned char first_bytes[3] = {0x4F, 0x50, 0x01};

static void add_part(struct outgoing *message, const void *bytes, size_t size) {
  message->parts[message->part_count++] = (struct iovec){.iov_base = (void *)bytes, .iov_len = size};
  message->size += size;
}

void begin_message(struct outgoing *message, enum kind kind) {
  memset(message, 0, sizeof *message);
  message->fits = true;
  memcpy(message->header, first_bytes, sizeof first_bytes);
  message->header[3] = (unsigned char)kind;
  add_part(message, message->header, HEADER_SIZE);
}

// A text that is too long is never cut: half a host would be another host.
void add_text(struct outgoing *message, const char *text) {
  size_t size = strlen(text);
  // One byte stays for the flags.
  if (message->text_count == TEXTS_MAXIMUM || message->size + LENGTH_SIZE + size + 1 > MESSAGE_MAXIMUM) message->fits = false;
  if (!message->fits) return;
  unsigned char *length = message->lengths[message->text_count++];
  length[0] = (unsigned char)(size >> 8);
  length[1] = (unsigned char)size;
  add_part(message, length, LENGTH_SIZE);
  add_part(message, text, size);
}

void add_flags(struct outgoing *message, unsigned char flags) {
  message->flags = flags;
  add_part(message, &message->flags, 1);
}

// Nothing that a terminal would obey instead of showing it.
static bool is_showable(const unsigned char *text, size_t size) {
  for (size_t place = 0; place < size; place++) {
    if (text[place] < 0x20 || text[place] == 0x7F) return false;
  }
  return true;
}

static bool read_text(struct incoming *message, size_t size) {
  if (size < HEADER_SIZE + LENGTH_SIZE) return false;
  const unsigned char *length = message->bytes + HEADER_SIZE;
  unsigned char *text = message->bytes + HEADER_SIZE + LENGTH_SIZE;
  size_t count = size - HEADER_SIZE - LENGTH_SIZE;
  if (((size_t)length[0] << 8 | length[1]) != count || !is_showable(text, count)) return false;
  text[count] = 0;
  message->text = (const char *)text;
  return true;
}

bool read_message(struct incoming *message, size_t size) {
  if (size < HEADER_SIZE || size > MESSAGE_MAXIMUM || memcmp(message->bytes, first_bytes, sizeof first_bytes)) return false;
  message->kind = (enum kind)message->bytes[3];
  switch (message->kind) {
  case KIND_HELLO:
  case KIND_WAIT:
  case KIND_OK:
  case KIND_NO:
    return size == HEADER_SIZE;
  case KIND_INFO:
  case KIND_ASK:
  case KIND_ERROR:
    return read_text(message, size);
  case KIND_UNAVAILABLE:
  case KIND_DONE:
    message->value = message->bytes[HEADER_SIZE];
    return size == HEADER_SIZE + 1;
  default:
    return false;
  }
}
