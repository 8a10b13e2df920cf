// What the module knows in this process, and the one lock before it.
//
// Nobody waits for a person, a file or another process while they hold the lock.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cryptoki.h"

// Milliseconds of CLOCK_MONOTONIC: a changed clock moves no limit.
typedef long long moment;

// A descriptor of the module's, and the file that it is of. The host can close all descriptors and get the number for a file of its own.
struct descriptor {
  int number;  // -1 for none
  dev_t device;
  ino_t inode;
};

struct state {
  bool is_finalizing;
  unsigned calls;  // that are under way
  bool is_logged_in;
  struct session *sessions;
  CK_ULONG session_count;
  CK_SESSION_HANDLE last_session;
  struct object *objects;
  CK_OBJECT_HANDLE last_object;
  bool is_listing;          // some thread reads a new list of objects
  uint32_t last_operation;  // of several parts
  struct connection *connection;
  unsigned long last_generation;
  bool is_connecting;
  struct descriptor opening;  // of the connection that some thread makes
};

extern struct state state;

// A call of the host. Threads are not cancelled within one.
struct call {
  int cancelability;
};

// Takes the lock. On another result than CKR_OK it is not taken, and the call is over.
CK_RV enter(struct call *call);
// Gives the lock back, and returns `result`.
CK_RV leave(const struct call *call, CK_RV result);

CK_RV begin_state(void);
// Ends what is under way, and forgets everything.
CK_RV end_state(void);

// While the lock is held. `deadline` is when the wait ends at the latest.
void wait_for_news(moment deadline);
void tell_news(void);
void unlock(void);
void relock(void);

moment now(void);
bool is_ours(const struct descriptor *descriptor);
// Nothing is done to a descriptor that has become the host's.
void close_ours(struct descriptor *descriptor);

// Wipes memory before it is given back.
void free_secret(void *bytes, size_t size);
