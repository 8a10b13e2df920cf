// How the host finds the functions.
#include <stdbool.h>
#include <string.h>

#include "cryptoki.h"

#define NAMED(name) .name = name,

static CK_FUNCTION_LIST functions_2_40 = {.version = {2, 40}, FUNCTIONS_2_40(NAMED)};
static CK_FUNCTION_LIST_3_0 functions_3_0 = {.version = {3, 0}, FUNCTIONS_2_40(NAMED) FUNCTIONS_3_0(NAMED)};

static char interface_name[] = "PKCS 11";

// The newest first. Not CKF_INTERFACE_FORK_SAFE: that promises a child the sessions of its parent, whose questions named the parent.
static CK_INTERFACE interfaces[] = {
    {.pInterfaceName = (void *)interface_name, .pFunctionList = &functions_3_0},
    {.pInterfaceName = (void *)interface_name, .pFunctionList = &functions_2_40},
};

enum { INTERFACE_COUNT = sizeof interfaces / sizeof interfaces[0] };

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list) {
  if (!list) return CKR_ARGUMENTS_BAD;
  *list = &functions_2_40;
  return CKR_OK;
}

CK_RV C_GetInterfaceList(CK_INTERFACE *list, CK_ULONG *count) {
  if (!count) return CKR_ARGUMENTS_BAD;
  CK_ULONG room = *count;
  *count = INTERFACE_COUNT;
  if (!list) return CKR_OK;
  if (room < INTERFACE_COUNT) return CKR_BUFFER_TOO_SMALL;
  memcpy(list, interfaces, sizeof interfaces);
  return CKR_OK;
}

CK_RV C_GetInterface(CK_UTF8CHAR *name, CK_VERSION *version, CK_INTERFACE **found, CK_FLAGS flags) {
  if (!found) return CKR_ARGUMENTS_BAD;
  *found = NULL;
  for (int index = 0; index < INTERFACE_COUNT && !*found; index++) {
    const CK_VERSION *own = interfaces[index].pFunctionList;
    bool is_version = !version || (version->major == own->major && version->minor == own->minor);
    bool is_name = !name || !strcmp((const char *)name, interface_name);
    if (is_version && is_name && (flags & interfaces[index].flags) == flags) *found = &interfaces[index];
  }
  return *found ? CKR_OK : CKR_FUNCTION_FAILED;
}
