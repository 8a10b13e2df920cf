// Messages on CONNECTION, and their numbers, which are big-endian.
#ifndef OSTIARY_MESSAGES_H
#define OSTIARY_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

enum {
  MAXIMUM_REQUEST = 64,           // bytes
  MAXIMUM_SENT_DESCRIPTORS = 3,
};

struct request {
  unsigned char bytes[MAXIMUM_REQUEST];
  size_t count;
  int descriptor;  // that came along, close-on-exec; -1 for none. The receiver closes it
};

// Waits for a request. 0; -1 when the daemon has hung up, and when a message is longer than a request or brings more than one
// descriptor. Then nothing is left to close.
int receive_message(struct request *request);

// Sends a message. -1 when the daemon has hung up or takes no more descriptors.
int send_message(const void *bytes, size_t count, const int *descriptors, unsigned number);

void put_number(unsigned char *place, size_t count, uint64_t value);
uint64_t get_number(const unsigned char *place, size_t count);
static inline uint32_t get_word(const unsigned char *place) { return (uint32_t)get_number(place, 4); }

#endif
