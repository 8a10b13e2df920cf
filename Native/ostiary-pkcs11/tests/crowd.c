// A host with many threads, for the sanitizers: each has sessions of its own, and some end what others wait for.
//
// crowd SECONDS: 0 when each call had one of the results that it may have.
#include <p11-kit/pkcs11.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 12 };

static atomic_bool is_over;
static atomic_long calls, wrong;
static CK_OBJECT_HANDLE curve, edwards;

static void expect(const char *name, CK_RV result, CK_RV one, CK_RV other) {
  calls++;
  if (result == one || result == other) return;
  wrong++;
  fprintf(stderr, "%s: %#lx\n", name, result);
}

static CK_SESSION_HANDLE open_session(void) {
  CK_SESSION_HANDLE session = 0;
  expect("open", C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session), CKR_OK, CKR_OK);
  return session;
}

static CK_OBJECT_HANDLE find(CK_SESSION_HANDLE session, CK_KEY_TYPE type) {
  CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
  CK_ATTRIBUTE wanted[] = {{CKA_CLASS, &class, sizeof class}, {CKA_KEY_TYPE, &type, sizeof type}};
  CK_OBJECT_HANDLE found = 0;
  CK_ULONG count = 0;
  expect("find", C_FindObjectsInit(session, wanted, 2), CKR_OK, CKR_OK);
  expect("found", C_FindObjects(session, &found, 1, &count), CKR_OK, CKR_OK);
  expect("found", C_FindObjectsFinal(session), CKR_OK, CKR_OK);
  return found;
}

static CK_RV sign(CK_SESSION_HANDLE session, CK_MECHANISM_TYPE type, CK_OBJECT_HANDLE key) {
  CK_MECHANISM mechanism = {type, NULL, 0};
  CK_BYTE digest[32] = {1}, signature[64];
  CK_ULONG size = sizeof signature;
  CK_RV result = C_SignInit(session, &mechanism, key);
  return result ? result : C_Sign(session, digest, sizeof digest, signature, &size);
}

static void *work(void *unused) {
  (void)unused;
  while (!is_over) {
    CK_SESSION_HANDLE session = open_session();
    expect("found key", find(session, CKK_EC) == curve, 1, 1);
    expect("sign", sign(session, CKM_ECDSA, curve), CKR_OK, CKR_OK);
    CK_BYTE label[16];
    CK_ATTRIBUTE attribute = {CKA_LABEL, label, sizeof label};
    expect("label", C_GetAttributeValue(session, curve, &attribute, 1), CKR_OK, CKR_OK);
    CK_MECHANISM mechanism = {CKM_ECDSA_SHA256, NULL, 0};
    expect("begin", C_SignInit(session, &mechanism, curve), CKR_OK, CKR_OK);
    expect("update", C_SignUpdate(session, label, 4), CKR_OK, CKR_OK);
    expect("close", C_CloseSession(session), CKR_OK, CKR_OK);
  }
  return NULL;
}

struct question {
  pthread_t thread;
  CK_SESSION_HANDLE session;
};

static void *ask(void *argument) {
  struct question *question = argument;
  expect("question", sign(question->session, CKM_EDDSA, edwards), CKR_FUNCTION_CANCELED, CKR_SESSION_HANDLE_INVALID);
  return NULL;
}

// Questions that stand until somebody else ends them.
static void *cancel(void *unused) {
  (void)unused;
  while (!is_over) {
    struct question question = {.session = open_session()};
    pthread_create(&question.thread, NULL, ask, &question);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    expect("close", C_CloseSession(question.session), CKR_OK, CKR_OK);
    pthread_join(question.thread, NULL);
  }
  return NULL;
}

static void *make_children(void *unused) {
  (void)unused;
  while (!is_over) {
    pid_t child = fork();
    if (child == 0) {
      CK_INFO info;
      _exit(C_GetInfo(&info) == CKR_CRYPTOKI_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    expect("child", (CK_RV)status, 0, 0);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  return NULL;
}

int main(int count, char **arguments) {
  for (int round = 0; round < 3; round++) {
    is_over = 0;
    expect("initialize", C_Initialize(NULL), CKR_OK, CKR_OK);
    CK_SESSION_HANDLE session = open_session();
    curve = find(session, CKK_EC);
    edwards = find(session, 0x40);
    pthread_t threads[THREADS + 2];
    for (int index = 0; index < THREADS; index++) pthread_create(&threads[index], NULL, work, NULL);
    pthread_create(&threads[THREADS], NULL, cancel, NULL);
    pthread_create(&threads[THREADS + 1], NULL, make_children, NULL);
    sleep(count > 1 ? (unsigned)atoi(arguments[1]) : 2);
    is_over = 1;
    for (int index = 0; index < THREADS + 2; index++) pthread_join(threads[index], NULL);
    expect("finalize", C_Finalize(NULL), CKR_OK, CKR_OK);
  }
  printf("%ld calls, %ld wrong\n", (long)calls, (long)wrong);
  return wrong || !calls;
}
