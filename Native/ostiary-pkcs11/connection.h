// The way to the door: one connection for all threads of a process, with several requests under way.
#pragma once

#include <sys/uio.h>

#include "state.h"

enum {
  FRAME_MAXIMUM = 65536,
  FRAME_MINIMUM = 5,
  DATA_MAXIMUM = 32768,
  REQUESTS_MAXIMUM = 16,
  PARTS_MAXIMUM = 4,
};

// The numbers of Documentation/formats/pkcs11.md.
enum kind {
  KIND_HELLO = 0x01,
  KIND_OBJECTS = 0x02,
  KIND_UPDATE = 0x03,
  KIND_SIGN = 0x04,
  KIND_DECRYPT = 0x05,
  KIND_DERIVE = 0x06,
  KIND_FORGET = 0x07,
  KIND_CANCEL = 0x08,
  KIND_GREETING = 0x81,
  KIND_LIST = 0x82,
  KIND_RESULT = 0x83,
  KIND_REFUSED = 0x84,
};

struct connection {
  struct descriptor descriptor;
  unsigned long generation;  // tells it from former ones
  unsigned users;            // threads that are about to use it
  bool is_broken;
  bool is_sending;  // some thread sends a message
  bool has_reader;  // some thread reads, for all
  struct request *requests;
  unsigned request_count;
  uint32_t last_number;

  // The message that the reader has begun.
  unsigned char length[4];
  size_t filled;  // of length and content
  unsigned char *content;
  size_t size;
};

// A request that is under way. It lies on the stack of its thread.
struct request {
  struct request *next;
  uint32_t number;
  enum kind awaited;
  bool is_cancelled;
  bool is_done;
  CK_RV refusal;
  unsigned char *frame;  // kind and number first
  size_t size;
};

struct answer {
  const unsigned char *bytes;
  size_t size;
  unsigned char *frame;
  size_t frame_size;
};

struct session;

// Sends a request and waits for its answer, without the lock. `session` is the one that it is for, so that it can be cancelled; it may be
// NULL. `generation` says which connection it must be; 0 for any, and then it is told which one it was; it may be NULL.
//
// On CKR_OK the answer is to be forgotten.
CK_RV transact(struct session *session, enum kind kind, const struct iovec *parts, size_t part_count, unsigned long *generation,
               struct answer *answer);
void forget_answer(struct answer *answer);

// For an answer that has the form of one and says what cannot be. Returns CKR_DEVICE_ERROR.
CK_RV hang_up(unsigned long generation);

// Tells the door that an operation with parts is over. Nothing is done if the connection is another one now.
void forget_operation(uint32_t operation, unsigned long generation);

// Their threads return soon with CKR_FUNCTION_CANCELED.
void cancel_request(struct request *request);
void cancel_all_requests(void);

// For the end, and for a child.
void forget_connection(void);

static inline void put_number(unsigned char *place, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) *place++ = (unsigned char)(number >> shift);
}

static inline uint32_t get_number(const unsigned char *place) {
  return (uint32_t)place[0] << 24 | (uint32_t)place[1] << 16 | (uint32_t)place[2] << 8 | place[3];
}
