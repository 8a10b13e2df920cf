#include "token.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "connection.h"
#include "sessions.h"
#include "state.h"

enum { LIBRARY_MAJOR = 1, LIBRARY_MINOR = 0 };

// MARK: module, slot and token

// Fields of fixed length, filled with blanks and without an end.
static void put_text(unsigned char *field, size_t size, const char *text) {
  memset(field, ' ', size);
  memcpy(field, text, strlen(text));
}

static CK_RV check_arguments(const CK_C_INITIALIZE_ARGS *arguments) {
  if (!arguments) return CKR_OK;
  if (arguments->pReserved) return CKR_ARGUMENTS_BAD;
  int given = !!arguments->CreateMutex + !!arguments->DestroyMutex + !!arguments->LockMutex + !!arguments->UnlockMutex;
  if (given && given != 4) return CKR_ARGUMENTS_BAD;
  // The system's locks are used, which every program with threads has. A host that has others alone gets no module.
  return given && !(arguments->flags & CKF_OS_LOCKING_OK) ? CKR_CANT_LOCK : CKR_OK;
}

// No door is reached before somebody looks for objects: programs load every module that there is.
CK_RV C_Initialize(void *arguments) {
  CK_RV result = check_arguments(arguments);
  return result ? result : begin_state();
}

CK_RV C_Finalize(void *unused) { return unused ? CKR_ARGUMENTS_BAD : end_state(); }

CK_RV C_GetInfo(CK_INFO *info) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (!info) return leave(&call, CKR_ARGUMENTS_BAD);
  *info = (CK_INFO){.cryptokiVersion = {2, 40}, .libraryVersion = {LIBRARY_MAJOR, LIBRARY_MINOR}};
  put_text(info->manufacturerID, sizeof info->manufacturerID, "Ostiary");
  put_text(info->libraryDescription, sizeof info->libraryDescription, "Keys that Ostiary keeps");
  return leave(&call, CKR_OK);
}

CK_RV C_GetSlotList(CK_BBOOL with_token, CK_SLOT_ID *slots, CK_ULONG *count) {
  (void)with_token;
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (!count) return leave(&call, CKR_ARGUMENTS_BAD);
  if (slots && *count < 1) result = CKR_BUFFER_TOO_SMALL;
  if (slots && *count >= 1) slots[0] = SLOT;
  *count = 1;
  return leave(&call, result);
}

CK_RV C_GetSlotInfo(CK_SLOT_ID slot, CK_SLOT_INFO *info) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (slot != SLOT) return leave(&call, CKR_SLOT_ID_INVALID);
  if (!info) return leave(&call, CKR_ARGUMENTS_BAD);
  *info = (CK_SLOT_INFO){.flags = CKF_TOKEN_PRESENT};
  put_text(info->slotDescription, sizeof info->slotDescription, "Ostiary");
  put_text(info->manufacturerID, sizeof info->manufacturerID, "Ostiary");
  return leave(&call, CKR_OK);
}

static void describe_token(CK_TOKEN_INFO *info) {
  // No CKF_LOGIN_REQUIRED: the question comes at each use. NSS makes no session that writes on a token that is write-protected.
  *info = (CK_TOKEN_INFO){
      .flags = CKF_TOKEN_INITIALIZED | CKF_WRITE_PROTECTED,
      .ulMaxSessionCount = CK_EFFECTIVELY_INFINITE,
      .ulSessionCount = state.session_count,
      .ulMaxRwSessionCount = CK_EFFECTIVELY_INFINITE,
      .ulRwSessionCount = CK_UNAVAILABLE_INFORMATION,
      .ulMaxPinLen = 255,
      .ulTotalPublicMemory = CK_UNAVAILABLE_INFORMATION,
      .ulFreePublicMemory = CK_UNAVAILABLE_INFORMATION,
      .ulTotalPrivateMemory = CK_UNAVAILABLE_INFORMATION,
      .ulFreePrivateMemory = CK_UNAVAILABLE_INFORMATION,
  };
  put_text(info->label, sizeof info->label, "Ostiary");
  put_text(info->manufacturerID, sizeof info->manufacturerID, "Ostiary");
  put_text(info->model, sizeof info->model, "Ostiary");
  put_text(info->serialNumber, sizeof info->serialNumber, "1");
  put_text(info->utcTime, sizeof info->utcTime, "");
}

CK_RV C_GetTokenInfo(CK_SLOT_ID slot, CK_TOKEN_INFO *info) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (slot != SLOT) return leave(&call, CKR_SLOT_ID_INVALID);
  if (!info) return leave(&call, CKR_ARGUMENTS_BAD);
  describe_token(info);
  return leave(&call, CKR_OK);
}

CK_RV C_WaitForSlotEvent(CK_FLAGS flags, CK_SLOT_ID *slot, void *unused) {
  (void)slot, (void)unused;
  struct call call;
  CK_RV result = enter(&call);
  // The token stays, so a wait would have no end.
  return result ? result : leave(&call, flags & CKF_DONT_BLOCK ? CKR_NO_EVENT : CKR_FUNCTION_NOT_SUPPORTED);
}

// The kernel's. The token does not say that it has any (CKF_RNG), so nobody takes it for their own source; pkcs11-tool's test wants some.
CK_RV C_GenerateRandom(CK_SESSION_HANDLE handle, CK_BYTE *bytes, CK_ULONG size) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (!has_session(handle)) return leave(&call, CKR_SESSION_HANDLE_INVALID);
  if (size && !bytes) return leave(&call, CKR_ARGUMENTS_BAD);
  for (ssize_t got; size && !result; bytes += got, size -= (CK_ULONG)got) {
    got = getrandom(bytes, size, 0);
    if (got >= 0) continue;
    if (errno != EINTR) result = CKR_FUNCTION_FAILED;
    got = 0;
  }
  return leave(&call, result);
}

// MARK: mechanisms

// CKF_HW: not in this process. pkcs11-tool tests no others.
#define EC_INFO(uses) {256, 521, CKF_HW | (uses) | CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS}
#define RSA_INFO(uses) {1024, 8192, CKF_HW | (uses)}

static const struct known_mechanism mechanisms[] = {
    {CKM_ECDSA, CKK_EC, EC_INFO(CKF_SIGN)},
    {CKM_ECDSA_SHA256, CKK_EC, EC_INFO(CKF_SIGN)},
    {CKM_ECDSA_SHA384, CKK_EC, EC_INFO(CKF_SIGN)},
    {CKM_ECDSA_SHA512, CKK_EC, EC_INFO(CKF_SIGN)},
    {CKM_ECDH1_DERIVE, CKK_EC, {256, 256, CKF_HW | CKF_DERIVE | CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS}},
    {CKM_EDDSA, CKK_EC_EDWARDS, {255, 255, CKF_HW | CKF_SIGN | CKF_EC_NAMEDCURVE}},
    {CKM_RSA_PKCS, CKK_RSA, RSA_INFO(CKF_SIGN | CKF_DECRYPT)},
    {CKM_SHA256_RSA_PKCS, CKK_RSA, RSA_INFO(CKF_SIGN)},
    {CKM_SHA384_RSA_PKCS, CKK_RSA, RSA_INFO(CKF_SIGN)},
    {CKM_SHA512_RSA_PKCS, CKK_RSA, RSA_INFO(CKF_SIGN)},
    {CKM_RSA_PKCS_PSS, CKK_RSA, RSA_INFO(CKF_SIGN)},
    {CKM_SHA256_RSA_PKCS_PSS, CKK_RSA, RSA_INFO(CKF_SIGN)},
    {CKM_SHA384_RSA_PKCS_PSS, CKK_RSA, RSA_INFO(CKF_SIGN)},
    {CKM_SHA512_RSA_PKCS_PSS, CKK_RSA, RSA_INFO(CKF_SIGN)},
    {CKM_RSA_PKCS_OAEP, CKK_RSA, RSA_INFO(CKF_DECRYPT)},
};

enum { MECHANISM_COUNT = sizeof mechanisms / sizeof mechanisms[0] };

const struct known_mechanism *find_mechanism(CK_MECHANISM_TYPE type) {
  for (int index = 0; index < MECHANISM_COUNT; index++) {
    if (mechanisms[index].type == type) return &mechanisms[index];
  }
  return NULL;
}

CK_RV C_GetMechanismList(CK_SLOT_ID slot, CK_MECHANISM_TYPE *types, CK_ULONG *count) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (slot != SLOT) return leave(&call, CKR_SLOT_ID_INVALID);
  if (!count) return leave(&call, CKR_ARGUMENTS_BAD);
  bool has_room = types && *count >= MECHANISM_COUNT;
  *count = MECHANISM_COUNT;
  for (int index = 0; has_room && index < MECHANISM_COUNT; index++) types[index] = mechanisms[index].type;
  return leave(&call, types && !has_room ? CKR_BUFFER_TOO_SMALL : CKR_OK);
}

CK_RV C_GetMechanismInfo(CK_SLOT_ID slot, CK_MECHANISM_TYPE type, CK_MECHANISM_INFO *info) {
  struct call call;
  CK_RV result = enter(&call);
  if (result) return result;
  if (slot != SLOT) return leave(&call, CKR_SLOT_ID_INVALID);
  if (!info) return leave(&call, CKR_ARGUMENTS_BAD);
  const struct known_mechanism *known = find_mechanism(type);
  if (known) *info = known->info;
  return leave(&call, known ? CKR_OK : CKR_MECHANISM_INVALID);
}

static bool put_parameters(unsigned char *place, CK_ULONG hash, CK_ULONG mask, CK_ULONG salt) {
  if (hash > UINT32_MAX || mask > UINT32_MAX || salt > UINT32_MAX) return false;
  put_number(place, (uint32_t)hash);
  put_number(place + 4, (uint32_t)mask);
  put_number(place + 8, (uint32_t)salt);
  return true;
}

static bool describe_pss(const CK_MECHANISM *mechanism, unsigned char *place) {
  CK_RSA_PKCS_PSS_PARAMS given;
  if (!mechanism->pParameter || mechanism->ulParameterLen != sizeof given) return false;
  memcpy(&given, mechanism->pParameter, sizeof given);
  return put_parameters(place, given.hashAlg, given.mgf, given.sLen);
}

static bool describe_oaep(const CK_MECHANISM *mechanism, unsigned char *place) {
  CK_RSA_PKCS_OAEP_PARAMS given;
  if (!mechanism->pParameter || mechanism->ulParameterLen != sizeof given) return false;
  memcpy(&given, mechanism->pParameter, sizeof given);
  // A label is not supported. Some programs say that they give one and then give none.
  return given.source <= CKZ_DATA_SPECIFIED && !given.ulSourceDataLen && put_parameters(place, given.hashAlg, given.mgf, 0);
}

CK_RV describe_mechanism(const CK_MECHANISM *mechanism, unsigned char *description) {
  put_number(description, (uint32_t)mechanism->mechanism);
  unsigned char *place = description + 4;
  bool is_right;
  switch (mechanism->mechanism) {
  case CKM_RSA_PKCS_PSS:
  case CKM_SHA256_RSA_PKCS_PSS:
  case CKM_SHA384_RSA_PKCS_PSS:
  case CKM_SHA512_RSA_PKCS_PSS:
    is_right = describe_pss(mechanism, place);
    break;
  case CKM_RSA_PKCS_OAEP:
    is_right = describe_oaep(mechanism, place);
    break;
  case CKM_ECDH1_DERIVE:
    // Its parameters are looked at where they are used.
    is_right = put_parameters(place, 0, 0, 0);
    break;
  default:
    is_right = !mechanism->ulParameterLen && put_parameters(place, 0, 0, 0);
  }
  return is_right ? CKR_OK : CKR_MECHANISM_PARAM_INVALID;
}
