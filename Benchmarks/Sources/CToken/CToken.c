#include "CToken.h"

#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct benchmark_token {
  void *library;
  CK_FUNCTION_LIST *functions;
  CK_SESSION_HANDLE session;
  CK_OBJECT_HANDLE key;
};

static int failed(const char *call, CK_RV result) {
  if (result == CKR_OK) return 0;
  fprintf(stderr, "%s: %#lx\n", call, result);
  return 1;
}

static int load(benchmark_token *token, const char *module) {
  token->library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
  if (!token->library) return fprintf(stderr, "%s\n", dlerror());
  CK_C_GetFunctionList get_functions = NULL;
  *(void **)&get_functions = dlsym(token->library, "C_GetFunctionList");
  if (!get_functions) return fprintf(stderr, "%s: no module of PKCS #11\n", module);
  CK_C_INITIALIZE_ARGS arguments = {.flags = CKF_OS_LOCKING_OK};
  CK_FUNCTION_LIST *functions = NULL;
  if (failed("C_GetFunctionList", get_functions(&functions)) || failed("C_Initialize", functions->C_Initialize(&arguments))) return 1;
  token->functions = functions;
  return 0;
}

// Labels of tokens are filled up with blanks.
static int has_label(const CK_TOKEN_INFO *info, const char *label) {
  char text[sizeof info->label + 1];
  snprintf(text, sizeof text, "%-*s", (int)sizeof info->label, label);
  return !memcmp(text, info->label, sizeof info->label);
}

static int open_session(benchmark_token *token, const char *label) {
  CK_SLOT_ID slots[32];
  CK_ULONG count = sizeof slots / sizeof *slots;
  if (failed("C_GetSlotList", token->functions->C_GetSlotList(CK_TRUE, slots, &count))) return 1;
  for (CK_ULONG index = 0; index < count; index++) {
    CK_TOKEN_INFO info;
    if (failed("C_GetTokenInfo", token->functions->C_GetTokenInfo(slots[index], &info))) return 1;
    if (!has_label(&info, label)) continue;
    return failed("C_OpenSession", token->functions->C_OpenSession(slots[index], CKF_SERIAL_SESSION, NULL, NULL, &token->session));
  }
  return fprintf(stderr, "There is no token %s.\n", label);
}

static int log_in(benchmark_token *token, const char *pin) {
  if (!pin) return 0;
  return failed("C_Login", token->functions->C_Login(token->session, CKU_USER, (CK_UTF8CHAR *)(uintptr_t)pin, strlen(pin)));
}

static int find_key(benchmark_token *token, const char *label) {
  CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
  CK_ATTRIBUTE wanted[] = {{CKA_CLASS, &class, sizeof class}, {CKA_LABEL, (void *)(uintptr_t)label, strlen(label)}};
  CK_ULONG count = 0;
  CK_FUNCTION_LIST *functions = token->functions;
  if (failed("C_FindObjectsInit", functions->C_FindObjectsInit(token->session, wanted, 2))) return 1;
  int has_failed = failed("C_FindObjects", functions->C_FindObjects(token->session, &token->key, 1, &count));
  if (failed("C_FindObjectsFinal", functions->C_FindObjectsFinal(token->session)) || has_failed) return 1;
  return count == 1 ? 0 : fprintf(stderr, "The token has no key %s.\n", label);
}

benchmark_token *benchmark_token_open(const char *module, const char *label, const char *pin, const char *key) {
  benchmark_token *token = calloc(1, sizeof *token);
  if (!token) return NULL;
  if (!load(token, module) && !open_session(token, label) && !log_in(token, pin) && !find_key(token, key)) return token;
  benchmark_token_close(token);
  return NULL;
}

// The library stays loaded: it may have threads.
void benchmark_token_close(benchmark_token *token) {
  if (token->functions) token->functions->C_Finalize(NULL);
  free(token);
}

int benchmark_token_sign(benchmark_token *token, const uint8_t digest[32], uint8_t signature[64]) {
  CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
  CK_ULONG size = 64;
  if (failed("C_SignInit", token->functions->C_SignInit(token->session, &mechanism, token->key))) return 1;
  if (failed("C_Sign", token->functions->C_Sign(token->session, (CK_BYTE *)(uintptr_t)digest, 32, signature, &size))) return 1;
  return size == 64 ? 0 : 1;
}
