#include "sessions.h"

#include <stdlib.h>
#include <string.h>

#include "token.h"

// NSS and programs with a thread for each client hold hundreds.
enum { SESSIONS_MAXIMUM = 4096 };

static struct session *find_session(CK_SESSION_HANDLE handle) {
  struct session *session = state.sessions;
  while (session && session->handle != handle) session = session->next;
  return session;
}

bool has_session(CK_SESSION_HANDLE handle) { return find_session(handle); }

CK_RV enter_session(struct call *call, CK_SESSION_HANDLE handle, struct session **session) {
  CK_RV result = enter(call);
  if (result) return result;
  *session = find_session(handle);
  if (!*session) return leave(call, CKR_SESSION_HANDLE_INVALID);
  if ((*session)->is_busy) return leave(call, CKR_OPERATION_ACTIVE);
  (*session)->is_busy = true;
  return CKR_OK;
}

static void destroy(struct session *session) {
  end_operation(&session->sign);
  end_operation(&session->decrypt);
  free(session->found);
  free(session);
}

static void give_back(struct session *session) {
  session->is_busy = false;
  if (session->is_closed) destroy(session);
}

CK_RV leave_session(const struct call *call, struct session *session, CK_RV result) {
  give_back(session);
  return leave(call, result);
}

void end_operation(struct operation *operation) {
  uint32_t number = operation->number;
  unsigned long generation = operation->generation;
  *operation = (struct operation){0};
  if (number) forget_operation(number, generation);
}

static void close_session(struct session *session) {
  struct session **place = &state.sessions;
  while (*place != session) place = &(*place)->next;
  *place = session->next;
  state.session_count--;
  if (!state.session_count) state.is_logged_in = false;
  session->is_closed = true;
  remove_objects_of(session->handle);
  if (session->request) cancel_request(session->request);
  // Telling the door gives the lock back for a moment, so nobody else may find the session then.
  if (!session->is_busy) destroy(session);
}

void forget_sessions(void) {
  while (state.sessions) {
    struct session *session = state.sessions;
    state.sessions = session->next;
    // The connection ends as well, and the door's data with it.
    free(session->found);
    free(session);
  }
}

static CK_RV open_session(CK_SLOT_ID slot, CK_FLAGS flags, CK_SESSION_HANDLE *handle) {
  if (slot != SLOT) return CKR_SLOT_ID_INVALID;
  if (!handle) return CKR_ARGUMENTS_BAD;
  if (!(flags & CKF_SERIAL_SESSION)) return CKR_SESSION_PARALLEL_NOT_SUPPORTED;
  if (state.session_count >= SESSIONS_MAXIMUM) return CKR_SESSION_COUNT;
  struct session *session = calloc(1, sizeof *session);
  if (!session) return CKR_HOST_MEMORY;
  // OpenSSH asks for sessions that may write, and writes nothing. So they are given, and writing is refused.
  session->flags = flags & (CKF_SERIAL_SESSION | CKF_RW_SESSION);
  session->handle = ++state.last_session;
  session->next = state.sessions;
  state.sessions = session;
  state.session_count++;
  *handle = session->handle;
  return CKR_OK;
}

CK_RV C_OpenSession(CK_SLOT_ID slot, CK_FLAGS flags, void *application, CK_NOTIFY notify, CK_SESSION_HANDLE *handle) {
  (void)application, (void)notify;
  struct call call;
  CK_RV result = enter(&call);
  return result ? result : leave(&call, open_session(slot, flags, handle));
}

CK_RV C_CloseSession(CK_SESSION_HANDLE handle) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  struct session *session = find_session(handle);
  if (session) close_session(session);
  return leave(&call, session ? CKR_OK : CKR_SESSION_HANDLE_INVALID);
}

CK_RV C_CloseAllSessions(CK_SLOT_ID slot) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (slot != SLOT) return leave(&call, CKR_SLOT_ID_INVALID);
  while (state.sessions) close_session(state.sessions);
  return leave(&call, CKR_OK);
}

static CK_STATE state_of(const struct session *session) {
  bool may_write = session->flags & CKF_RW_SESSION;
  if (state.is_logged_in) return may_write ? CKS_RW_USER_FUNCTIONS : CKS_RO_USER_FUNCTIONS;
  return may_write ? CKS_RW_PUBLIC_SESSION : CKS_RO_PUBLIC_SESSION;
}

CK_RV C_GetSessionInfo(CK_SESSION_HANDLE handle, CK_SESSION_INFO *info) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  const struct session *session = find_session(handle);
  if (!session) return leave(&call, CKR_SESSION_HANDLE_INVALID);
  if (!info) return leave(&call, CKR_ARGUMENTS_BAD);
  *info = (CK_SESSION_INFO){.slotID = SLOT, .state = state_of(session), .flags = session->flags};
  return leave(&call, CKR_OK);
}

// Nobody has to log in: the person is asked at each use. Programs that insist on it are let in with any PIN, which is not looked at.
static CK_RV log_in(CK_SESSION_HANDLE handle, CK_USER_TYPE user) {
  if (!find_session(handle)) return CKR_SESSION_HANDLE_INVALID;
  if (user == CKU_CONTEXT_SPECIFIC) return CKR_OPERATION_NOT_INITIALIZED;
  if (user != CKU_USER) return CKR_USER_TYPE_INVALID;
  if (state.is_logged_in) return CKR_USER_ALREADY_LOGGED_IN;
  state.is_logged_in = true;
  return CKR_OK;
}

CK_RV C_Login(CK_SESSION_HANDLE handle, CK_USER_TYPE user, CK_UTF8CHAR *pin, CK_ULONG pin_size) {
  (void)pin, (void)pin_size;
  struct call call;
  CK_RV result = enter(&call);
  return result ? result : leave(&call, log_in(handle, user));
}

CK_RV C_LoginUser(CK_SESSION_HANDLE handle, CK_USER_TYPE user, CK_UTF8CHAR *pin, CK_ULONG pin_size, CK_UTF8CHAR *name,
                  CK_ULONG name_size) {
  (void)name, (void)name_size;
  return C_Login(handle, user, pin, pin_size);
}

CK_RV C_Logout(CK_SESSION_HANDLE handle) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (!find_session(handle)) return leave(&call, CKR_SESSION_HANDLE_INVALID);
  if (!state.is_logged_in) return leave(&call, CKR_USER_NOT_LOGGED_IN);
  state.is_logged_in = false;
  return leave(&call, CKR_OK);
}

// What another thread waits for in the session ends, too.
CK_RV C_SessionCancel(CK_SESSION_HANDLE handle, CK_FLAGS flags) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  struct session *session = find_session(handle);
  if (!session) return leave(&call, CKR_SESSION_HANDLE_INVALID);
  if (session->is_busy) {
    if (session->request && flags & (CKF_SIGN | CKF_DECRYPT | CKF_DERIVE)) cancel_request(session->request);
    return leave(&call, CKR_OK);
  }
  session->is_busy = true;
  if (flags & CKF_SIGN) end_operation(&session->sign);
  if (flags & CKF_DECRYPT) end_operation(&session->decrypt);
  if (flags & CKF_FIND_OBJECTS) {
    free(session->found);
    session->found = NULL;
  }
  return leave_session(&call, session, CKR_OK);
}

CK_RV C_GetFunctionStatus(CK_SESSION_HANDLE handle) {
  (void)handle;
  return CKR_FUNCTION_NOT_PARALLEL;
}

CK_RV C_CancelFunction(CK_SESSION_HANDLE handle) {
  (void)handle;
  return CKR_FUNCTION_NOT_PARALLEL;
}
