#include "state.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"
#include "objects.h"
#include "sessions.h"

// It notices when its own holder asks for it: a signal handler of the host forks within a call.
static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t news;
struct state state = {.opening = {.number = -1}};

// The process that initialized the module; 0 for none.
static _Atomic pid_t owner;
static bool is_locked_for_fork;

// Longer than a cancelled request takes to return.
enum { PATIENCE_OF_THE_END = 5000 };

static void make_news(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&news, &attributes);
  pthread_condattr_destroy(&attributes);
}

// Frees what is known. The lock is held, and no other thread is within a call.
static void forget_everything(void) {
  forget_sessions();
  forget_objects();
  forget_connection();
  close_ours(&state.opening);
  state = (struct state){.opening = {.number = -1}};
}

// In a process that was made while some thread changed what is known: nothing of it can be followed but the numbers of descriptors.
static void abandon_everything(void) {
  if (state.connection) close_ours(&state.connection->descriptor);
  close_ours(&state.opening);
  state = (struct state){.opening = {.number = -1}};
}

static void before_fork(void) { is_locked_for_fork = pthread_mutex_lock(&lock) == 0; }

static void after_fork_in_parent(void) {
  if (is_locked_for_fork) pthread_mutex_unlock(&lock);
}

// The parent's connection is the parent's alone: it is closed here and never written to. The child initializes the module itself, as
// the standard asks of it.
static void after_fork_in_child(void) {
  make_news();
  atomic_store(&owner, 0);
  if (is_locked_for_fork) {
    forget_everything();
  } else {
    abandon_everything();
  }
  // The holder's number is the parent's thread's, so it cannot be given back.
  lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
}

// The C library forgets the handlers of a library that it unloads.
static void prepare(void) {
  make_news();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

// A process that was made without fork(3), by clone(2) alone, ran no handler.
static void notice_other_process(void) {
  pid_t known = atomic_load(&owner);
  if (!known || known == getpid()) return;
  lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  make_news();
  abandon_everything();
  atomic_store(&owner, 0);
}

CK_RV begin_state(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare);
  notice_other_process();
  if (pthread_mutex_lock(&lock)) return CKR_FUNCTION_FAILED;
  bool is_first = !atomic_load(&owner);
  if (is_first) atomic_store(&owner, getpid());
  pthread_mutex_unlock(&lock);
  return is_first ? CKR_OK : CKR_CRYPTOKI_ALREADY_INITIALIZED;
}

CK_RV enter(struct call *call) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &call->cancelability);
  notice_other_process();
  bool is_locked = pthread_mutex_lock(&lock) == 0;
  if (is_locked && atomic_load(&owner) && !state.is_finalizing) {
    state.calls++;
    return CKR_OK;
  }
  if (is_locked) pthread_mutex_unlock(&lock);
  pthread_setcancelstate(call->cancelability, NULL);
  // Not locked: a signal handler of the host calls within a call.
  return is_locked ? CKR_CRYPTOKI_NOT_INITIALIZED : CKR_FUNCTION_FAILED;
}

CK_RV leave(const struct call *call, CK_RV result) {
  state.calls--;
  if (state.is_finalizing) tell_news();
  pthread_mutex_unlock(&lock);
  pthread_setcancelstate(call->cancelability, NULL);
  return result;
}

CK_RV end_state(void) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  state.is_finalizing = true;
  cancel_all_requests();
  moment deadline = now() + PATIENCE_OF_THE_END;
  while (state.calls > 1 && now() < deadline) wait_for_news(deadline);
  if (state.calls > 1) {
    state.is_finalizing = false;
    return leave(&call, CKR_FUNCTION_FAILED);
  }
  forget_everything();
  state.calls = 1;
  atomic_store(&owner, 0);
  return leave(&call, CKR_OK);
}

void wait_for_news(moment deadline) {
  const struct timespec end = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
  pthread_cond_timedwait(&news, &lock, &end);
}

void tell_news(void) { pthread_cond_broadcast(&news); }
void unlock(void) { pthread_mutex_unlock(&lock); }
void relock(void) { pthread_mutex_lock(&lock); }

moment now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (moment)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

bool is_ours(const struct descriptor *descriptor) {
  struct stat file;
  return descriptor->number >= 0 && !fstat(descriptor->number, &file) && file.st_dev == descriptor->device &&
         file.st_ino == descriptor->inode;
}

void close_ours(struct descriptor *descriptor) {
  int error = errno;
  if (is_ours(descriptor)) close(descriptor->number);
  descriptor->number = -1;
  errno = error;
}

void free_secret(void *bytes, size_t size) {
  if (bytes) explicit_bzero(bytes, size);
  free(bytes);
}
