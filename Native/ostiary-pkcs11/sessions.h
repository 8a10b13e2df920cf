// Sessions, and what is under way in each.
#pragma once

#include "connection.h"
#include "objects.h"
#include "state.h"

enum { MECHANISM_SIZE = 16 };

enum operation_kind { OPERATION_NONE, OPERATION_SIGN, OPERATION_DECRYPT };

// A signature or decryption that began with C_…Init.
struct operation {
  enum operation_kind kind;
  unsigned char reference[REFERENCE_SIZE];
  unsigned char mechanism[MECHANISM_SIZE];
  CK_ULONG longest_result;
  bool has_parts;
  uint32_t number;           // at the door; 0 as long as it has no data there
  unsigned long generation;  // of the connection that the door got the data on
};

struct session {
  struct session *next;
  CK_SESSION_HANDLE handle;
  CK_FLAGS flags;
  bool is_closed;           // whoever uses it last frees it
  bool is_busy;             // some thread uses it
  struct request *request;  // that its thread waits for
  struct operation sign, decrypt;
  CK_OBJECT_HANDLE *found;  // by a search; NULL for none
  CK_ULONG found_count, found_place;
};

// As enter() and leave(), for a call with a session, which no other thread has meanwhile: CKR_SESSION_HANDLE_INVALID, CKR_OPERATION_ACTIVE.
CK_RV enter_session(struct call *call, CK_SESSION_HANDLE handle, struct session **session);
CK_RV leave_session(const struct call *call, struct session *session, CK_RV result);

bool has_session(CK_SESSION_HANDLE handle);

// Ends an operation with its data at the door.
void end_operation(struct operation *operation);

void forget_sessions(void);
