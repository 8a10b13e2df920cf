// PKCS #11 as p11-kit's header has it. Its functions are all that this module shows.
#pragma once

#pragma GCC visibility push(default)
#include <p11-kit/pkcs11.h>

// Headers before p11-kit 0.25 end with version 2.40.
#ifndef CKF_INTERFACE_FORK_SAFE
#define CKF_INTERFACE_FORK_SAFE 1UL
#define CKF_FIND_OBJECTS (1UL << 6)

typedef struct {
  CK_UTF8CHAR *pInterfaceName;
  void *pFunctionList;
  CK_FLAGS flags;
} CK_INTERFACE;
typedef CK_INTERFACE *CK_INTERFACE_PTR;
typedef CK_INTERFACE **CK_INTERFACE_PTR_PTR;

CK_RV C_GetInterfaceList(CK_INTERFACE *list, CK_ULONG *count);
CK_RV C_GetInterface(CK_UTF8CHAR *name, CK_VERSION *version, CK_INTERFACE **found, CK_FLAGS flags);
CK_RV C_LoginUser(CK_SESSION_HANDLE handle, CK_USER_TYPE user, CK_UTF8CHAR *pin, CK_ULONG pin_size, CK_UTF8CHAR *name,
                  CK_ULONG name_size);
CK_RV C_SessionCancel(CK_SESSION_HANDLE handle, CK_FLAGS flags);
CK_RV C_MessageEncryptInit(CK_SESSION_HANDLE handle, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key);
CK_RV C_EncryptMessage(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *with, CK_ULONG with_size,
                       CK_BYTE *in, CK_ULONG in_size, CK_BYTE *out, CK_ULONG *out_size);
CK_RV C_EncryptMessageBegin(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *with, CK_ULONG with_size);
CK_RV C_EncryptMessageNext(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *in, CK_ULONG in_size,
                           CK_BYTE *out, CK_ULONG *out_size, CK_FLAGS flags);
CK_RV C_MessageEncryptFinal(CK_SESSION_HANDLE handle);
CK_RV C_MessageDecryptInit(CK_SESSION_HANDLE handle, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key);
CK_RV C_DecryptMessage(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *with, CK_ULONG with_size,
                       CK_BYTE *in, CK_ULONG in_size, CK_BYTE *out, CK_ULONG *out_size);
CK_RV C_DecryptMessageBegin(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *with, CK_ULONG with_size);
CK_RV C_DecryptMessageNext(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *in, CK_ULONG in_size,
                           CK_BYTE *out, CK_ULONG *out_size, CK_FLAGS flags);
CK_RV C_MessageDecryptFinal(CK_SESSION_HANDLE handle);
CK_RV C_MessageSignInit(CK_SESSION_HANDLE handle, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key);
CK_RV C_SignMessage(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *in, CK_ULONG in_size, CK_BYTE *out,
                    CK_ULONG *out_size);
CK_RV C_SignMessageBegin(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size);
CK_RV C_SignMessageNext(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *in, CK_ULONG in_size,
                        CK_BYTE *out, CK_ULONG *out_size);
CK_RV C_MessageSignFinal(CK_SESSION_HANDLE handle);
CK_RV C_MessageVerifyInit(CK_SESSION_HANDLE handle, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key);
CK_RV C_VerifyMessage(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *in, CK_ULONG in_size,
                      CK_BYTE *signature, CK_ULONG signature_size);
CK_RV C_VerifyMessageBegin(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size);
CK_RV C_VerifyMessageNext(CK_SESSION_HANDLE handle, void *parameter, CK_ULONG parameter_size, CK_BYTE *in, CK_ULONG in_size,
                          CK_BYTE *signature, CK_ULONG signature_size);
CK_RV C_MessageVerifyFinal(CK_SESSION_HANDLE handle);
#define OSTIARY_HAS_OWN_3_0 1
#endif
#pragma GCC visibility pop

// Every function of version 2.40, in the order of its list.
#define FUNCTIONS_2_40(with)                                                                                                        \
  with(C_Initialize) with(C_Finalize) with(C_GetInfo) with(C_GetFunctionList) with(C_GetSlotList) with(C_GetSlotInfo)               \
  with(C_GetTokenInfo) with(C_GetMechanismList) with(C_GetMechanismInfo) with(C_InitToken) with(C_InitPIN) with(C_SetPIN)           \
  with(C_OpenSession) with(C_CloseSession) with(C_CloseAllSessions) with(C_GetSessionInfo) with(C_GetOperationState)                \
  with(C_SetOperationState) with(C_Login) with(C_Logout) with(C_CreateObject) with(C_CopyObject) with(C_DestroyObject)              \
  with(C_GetObjectSize) with(C_GetAttributeValue) with(C_SetAttributeValue) with(C_FindObjectsInit) with(C_FindObjects)             \
  with(C_FindObjectsFinal) with(C_EncryptInit) with(C_Encrypt) with(C_EncryptUpdate) with(C_EncryptFinal) with(C_DecryptInit)       \
  with(C_Decrypt) with(C_DecryptUpdate) with(C_DecryptFinal) with(C_DigestInit) with(C_Digest) with(C_DigestUpdate)                 \
  with(C_DigestKey) with(C_DigestFinal) with(C_SignInit) with(C_Sign) with(C_SignUpdate) with(C_SignFinal) with(C_SignRecoverInit)  \
  with(C_SignRecover) with(C_VerifyInit) with(C_Verify) with(C_VerifyUpdate) with(C_VerifyFinal) with(C_VerifyRecoverInit)          \
  with(C_VerifyRecover) with(C_DigestEncryptUpdate) with(C_DecryptDigestUpdate) with(C_SignEncryptUpdate)                           \
  with(C_DecryptVerifyUpdate) with(C_GenerateKey) with(C_GenerateKeyPair) with(C_WrapKey) with(C_UnwrapKey) with(C_DeriveKey)       \
  with(C_SeedRandom) with(C_GenerateRandom) with(C_GetFunctionStatus) with(C_CancelFunction) with(C_WaitForSlotEvent)

// Those that version 3.0 adds behind them.
#define FUNCTIONS_3_0(with)                                                                                                         \
  with(C_GetInterfaceList) with(C_GetInterface) with(C_LoginUser) with(C_SessionCancel) with(C_MessageEncryptInit)                  \
  with(C_EncryptMessage) with(C_EncryptMessageBegin) with(C_EncryptMessageNext) with(C_MessageEncryptFinal)                         \
  with(C_MessageDecryptInit) with(C_DecryptMessage) with(C_DecryptMessageBegin) with(C_DecryptMessageNext)                          \
  with(C_MessageDecryptFinal) with(C_MessageSignInit) with(C_SignMessage) with(C_SignMessageBegin) with(C_SignMessageNext)          \
  with(C_MessageSignFinal) with(C_MessageVerifyInit) with(C_VerifyMessage) with(C_VerifyMessageBegin) with(C_VerifyMessageNext)     \
  with(C_MessageVerifyFinal)

#ifdef OSTIARY_HAS_OWN_3_0
#define POINTER_OF(name) __typeof__(name) *name;
typedef struct {
  CK_VERSION version;
  FUNCTIONS_2_40(POINTER_OF)
  FUNCTIONS_3_0(POINTER_OF)
} CK_FUNCTION_LIST_3_0;
#undef POINTER_OF
#endif
