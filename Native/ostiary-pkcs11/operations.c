// Signatures, decryption and key agreement. What is not refused here, the door decides, and it asks the person.
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "objects.h"
#include "sessions.h"
#include "token.h"

enum { DECRYPTED_MAXIMUM = 1024, SECRET_MAXIMUM = 132, PUBLIC_KEY_MAXIMUM = 256, TEMPLATE_MAXIMUM = 32, TEMPLATE_VALUE_MAXIMUM = 256 };

static const struct iovec nothing;

static struct iovec lend(const void *bytes, size_t size) { return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = size}; }

// MARK: beginning

static bool allows(const struct object *key, CK_MECHANISM_TYPE type) {
  const struct attribute *allowed = attribute_of(key, CKA_ALLOWED_MECHANISMS);
  for (CK_ULONG place = 0; allowed && place + sizeof type <= allowed->size; place += sizeof type) {
    if (!memcmp(allowed->value + place, &type, sizeof type)) return true;
  }
  return false;
}

// Whether the key does that, as far as the door's list says.
static CK_RV check_key(const struct object *key, const CK_MECHANISM *mechanism, CK_FLAGS use, CK_ATTRIBUTE_TYPE permission) {
  const struct known_mechanism *known = find_mechanism(mechanism->mechanism);
  if (!known || !(known->info.flags & use)) return CKR_MECHANISM_INVALID;
  if (!key) return CKR_KEY_HANDLE_INVALID;
  CK_ULONG class = number_of(key, CKA_CLASS, CK_UNAVAILABLE_INFORMATION);
  if (class != CKO_PRIVATE_KEY) return class == CKO_CERTIFICATE ? CKR_KEY_HANDLE_INVALID : CKR_KEY_FUNCTION_NOT_PERMITTED;
  if (number_of(key, CKA_KEY_TYPE, CK_UNAVAILABLE_INFORMATION) != known->key_type) return CKR_KEY_TYPE_INCONSISTENT;
  if (!is_true(key, permission)) return CKR_KEY_FUNCTION_NOT_PERMITTED;
  return allows(key, mechanism->mechanism) ? CKR_OK : CKR_MECHANISM_INVALID;
}

static CK_RV begin_operation(struct operation *operation, enum operation_kind kind, const CK_MECHANISM *mechanism,
                             CK_OBJECT_HANDLE key) {
  // Without a mechanism the operation that is active is cancelled (version 3.0).
  if (!mechanism) {
    end_operation(operation);
    return CKR_OK;
  }
  if (operation->kind) return CKR_OPERATION_ACTIVE;
  const struct object *object = find_object(key);
  bool signs = kind == OPERATION_SIGN;
  CK_RV result = check_key(object, mechanism, signs ? CKF_SIGN : CKF_DECRYPT, signs ? CKA_SIGN : CKA_DECRYPT);
  if (result) return result;
  struct operation begun = {.kind = kind, .longest_result = object->longest_result};
  result = describe_mechanism(mechanism, begun.mechanism);
  if (result) return result;
  memcpy(begun.reference, object->reference, REFERENCE_SIZE);
  *operation = begun;
  return CKR_OK;
}

CK_RV C_SignInit(CK_SESSION_HANDLE handle, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  return result ? result : leave_session(&call, session, begin_operation(&session->sign, OPERATION_SIGN, mechanism, key));
}

CK_RV C_DecryptInit(CK_SESSION_HANDLE handle, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  return result ? result : leave_session(&call, session, begin_operation(&session->decrypt, OPERATION_DECRYPT, mechanism, key));
}

// MARK: results

// A caller without a buffer asks for the size, and the operation goes on.
static CK_RV check_room(CK_ULONG longest, const CK_BYTE *result, CK_ULONG *size, bool *is_over) {
  *is_over = false;
  if (!size) return CKR_ARGUMENTS_BAD;
  bool has_room = result && *size >= longest;
  if (has_room) return CKR_OK;
  *size = longest;
  *is_over = true;
  return result ? CKR_BUFFER_TOO_SMALL : CKR_OK;
}

static CK_RV give_result(struct answer *answer, unsigned long generation, CK_ULONG longest, CK_BYTE *result, CK_ULONG *size) {
  bool fits = answer->size <= longest;
  if (fits) {
    memcpy(result, answer->bytes, answer->size);
    *size = answer->size;
  }
  forget_answer(answer);
  return fits ? CKR_OK : hang_up(generation);
}

// MARK: signing

// Sends what does not fit into one message, and all of it where more will come.
static CK_RV send_data(struct session *session, const CK_BYTE **data, CK_ULONG *size, CK_ULONG kept) {
  struct operation *operation = &session->sign;
  while (*size > kept) {
    if (!operation->number) operation->number = ++state.last_operation ? state.last_operation : ++state.last_operation;
    CK_ULONG count = *size < DATA_MAXIMUM ? *size : DATA_MAXIMUM;
    unsigned char number[4];
    put_number(number, operation->number);
    const struct iovec parts[] = {lend(number, sizeof number), lend(operation->mechanism, MECHANISM_SIZE), lend(*data, count)};
    struct answer answer;
    CK_RV result = transact(session, KIND_UPDATE, parts, 3, &operation->generation, &answer);
    if (result) return result;
    forget_answer(&answer);
    *data += count;
    *size -= count;
  }
  return CKR_OK;
}

static CK_RV finish_signature(struct session *session, const CK_BYTE *data, CK_ULONG size, CK_BYTE *signature, CK_ULONG *signature_size) {
  struct operation *operation = &session->sign;
  CK_RV result = send_data(session, &data, &size, DATA_MAXIMUM);
  if (result) return result;
  unsigned char number[4];
  put_number(number, operation->number);
  const struct iovec parts[] = {lend(operation->reference, REFERENCE_SIZE), lend(operation->mechanism, MECHANISM_SIZE),
                                lend(number, sizeof number), size ? lend(data, size) : nothing};
  struct answer answer;
  result = transact(session, KIND_SIGN, parts, 4, &operation->generation, &answer);
  if (result) return result;
  // The door has forgotten the data.
  operation->number = 0;
  return give_result(&answer, operation->generation, operation->longest_result, signature, signature_size);
}

static CK_RV sign(struct session *session, bool is_final, const CK_BYTE *data, CK_ULONG size, CK_BYTE *signature, CK_ULONG *signature_size) {
  struct operation *operation = &session->sign;
  if (!operation->kind || (!is_final && operation->has_parts)) return CKR_OPERATION_NOT_INITIALIZED;
  bool is_over;
  CK_RV result = !size || data ? check_room(operation->longest_result, signature, signature_size, &is_over) : CKR_ARGUMENTS_BAD;
  if (!result && is_over) return CKR_OK;
  if (result == CKR_BUFFER_TOO_SMALL) return result;
  if (!result) result = finish_signature(session, data, size, signature, signature_size);
  end_operation(operation);
  return result;
}

static CK_RV call_sign(CK_SESSION_HANDLE handle, bool is_final, const CK_BYTE *data, CK_ULONG size, CK_BYTE *signature,
                       CK_ULONG *signature_size) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  return result ? result : leave_session(&call, session, sign(session, is_final, data, size, signature, signature_size));
}

CK_RV C_Sign(CK_SESSION_HANDLE handle, CK_BYTE *data, CK_ULONG size, CK_BYTE *signature, CK_ULONG *signature_size) {
  return call_sign(handle, false, data, size, signature, signature_size);
}

CK_RV C_SignFinal(CK_SESSION_HANDLE handle, CK_BYTE *signature, CK_ULONG *signature_size) {
  return call_sign(handle, true, NULL, 0, signature, signature_size);
}

static CK_RV update(struct session *session, const CK_BYTE *data, CK_ULONG size) {
  struct operation *operation = &session->sign;
  if (!operation->kind) return CKR_OPERATION_NOT_INITIALIZED;
  operation->has_parts = true;
  CK_RV result = !size || data ? send_data(session, &data, &size, 0) : CKR_ARGUMENTS_BAD;
  if (result) end_operation(operation);
  return result;
}

CK_RV C_SignUpdate(CK_SESSION_HANDLE handle, CK_BYTE *part, CK_ULONG size) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  return result ? result : leave_session(&call, session, update(session, part, size));
}

// MARK: decrypting

static CK_RV finish_decryption(struct session *session, const CK_BYTE *data, CK_ULONG size, CK_BYTE *plain, CK_ULONG *plain_size) {
  struct operation *operation = &session->decrypt;
  if (size > DECRYPTED_MAXIMUM) return CKR_ENCRYPTED_DATA_LEN_RANGE;
  const struct iovec parts[] = {lend(operation->reference, REFERENCE_SIZE), lend(operation->mechanism, MECHANISM_SIZE), lend(data, size)};
  struct answer answer;
  CK_RV result = transact(session, KIND_DECRYPT, parts, 3, &operation->generation, &answer);
  return result ? result : give_result(&answer, operation->generation, operation->longest_result, plain, plain_size);
}

static CK_RV decrypt(struct session *session, const CK_BYTE *data, CK_ULONG size, CK_BYTE *plain, CK_ULONG *plain_size) {
  struct operation *operation = &session->decrypt;
  if (!operation->kind) return CKR_OPERATION_NOT_INITIALIZED;
  bool is_over;
  CK_RV result = data ? check_room(operation->longest_result, plain, plain_size, &is_over) : CKR_ARGUMENTS_BAD;
  if (!result && is_over) return CKR_OK;
  if (result == CKR_BUFFER_TOO_SMALL) return result;
  if (!result) result = finish_decryption(session, data, size, plain, plain_size);
  end_operation(operation);
  return result;
}

CK_RV C_Decrypt(CK_SESSION_HANDLE handle, CK_BYTE *data, CK_ULONG size, CK_BYTE *plain, CK_ULONG *plain_size) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  return result ? result : leave_session(&call, session, decrypt(session, data, size, plain, plain_size));
}

// MARK: agreeing

// What the host says about the new key, and what is so whatever it says.
struct wish {
  CK_ATTRIBUTE attributes[TEMPLATE_MAXIMUM + 8];
  CK_ULONG count;
  CK_ULONG size;  // of the secret; 0 for all of it
};

static CK_RV read_number(const CK_ATTRIBUTE *attribute, CK_ULONG *number) {
  if (attribute->ulValueLen != sizeof *number || !attribute->pValue) return CKR_ATTRIBUTE_VALUE_INVALID;
  memcpy(number, attribute->pValue, sizeof *number);
  return CKR_OK;
}

static CK_RV read_attribute(const CK_ATTRIBUTE *attribute, struct wish *wish, CK_KEY_TYPE *type) {
  CK_ULONG number = 0;
  switch (attribute->type) {
  case CKA_CLASS:
    return read_number(attribute, &number) || number != CKO_SECRET_KEY ? CKR_TEMPLATE_INCONSISTENT : CKR_OK;
  case CKA_KEY_TYPE:
    if (read_number(attribute, type)) return CKR_ATTRIBUTE_VALUE_INVALID;
    return *type == CKK_GENERIC_SECRET || *type == CKK_AES ? CKR_OK : CKR_TEMPLATE_INCONSISTENT;
  case CKA_VALUE_LEN:
    return read_number(attribute, &wish->size);
  case CKA_TOKEN:
    if (attribute->ulValueLen != 1 || !attribute->pValue) return CKR_ATTRIBUTE_VALUE_INVALID;
    return *(const CK_BBOOL *)attribute->pValue ? CKR_TOKEN_WRITE_PROTECTED : CKR_OK;
  case CKA_VALUE:
    return CKR_TEMPLATE_INCONSISTENT;
  default:
    if (attribute->ulValueLen > TEMPLATE_VALUE_MAXIMUM || (attribute->ulValueLen && !attribute->pValue)) return CKR_ATTRIBUTE_VALUE_INVALID;
    wish->attributes[wish->count++] = *attribute;
    return CKR_OK;
  }
}

static void add(struct wish *wish, CK_ATTRIBUTE_TYPE type, const void *value, CK_ULONG size) {
  wish->attributes[wish->count++] = (CK_ATTRIBUTE){.type = type, .pValue = (void *)(uintptr_t)value, .ulValueLen = size};
}

static void add_unless_given(struct wish *wish, CK_ATTRIBUTE_TYPE type, const CK_BBOOL *value) {
  for (CK_ULONG index = 0; index < wish->count; index++) {
    if (wish->attributes[index].type == type) return;
  }
  add(wish, type, value, sizeof *value);
}

static CK_RV check_curve_parameters(const CK_MECHANISM *mechanism, CK_ECDH1_DERIVE_PARAMS *parameters) {
  if (!mechanism->pParameter || mechanism->ulParameterLen != sizeof *parameters) return CKR_MECHANISM_PARAM_INVALID;
  memcpy(parameters, mechanism->pParameter, sizeof *parameters);
  bool is_bare = parameters->kdf == CKD_NULL && !parameters->ulSharedDataLen;
  bool has_key = parameters->pPublicData && parameters->ulPublicDataLen && parameters->ulPublicDataLen <= PUBLIC_KEY_MAXIMUM;
  return is_bare && has_key ? CKR_OK : CKR_MECHANISM_PARAM_INVALID;
}

static CK_RV keep_secret(const struct session *session, struct wish *wish, CK_KEY_TYPE type, const struct answer *answer,
                         CK_OBJECT_HANDLE *made) {
  static const CK_ULONG class = CKO_SECRET_KEY;
  static const CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
  CK_ULONG size = wish->size ? wish->size : answer->size;
  if (size > answer->size) return CKR_TEMPLATE_INCONSISTENT;
  add_unless_given(wish, CKA_SENSITIVE, &no);
  add_unless_given(wish, CKA_EXTRACTABLE, &yes);
  add_unless_given(wish, CKA_PRIVATE, &no);
  add(wish, CKA_CLASS, &class, sizeof class);
  add(wish, CKA_KEY_TYPE, &type, sizeof type);
  add(wish, CKA_TOKEN, &no, sizeof no);
  add(wish, CKA_VALUE_LEN, &size, sizeof size);
  // A shorter key leaves out the beginning (PKCS #11, "Elliptic curve Diffie-Hellman").
  add(wish, CKA_VALUE, answer->bytes + answer->size - size, size);
  *made = session->is_closed ? 0 : keep_object(session->handle, wish->attributes, wish->count);
  return *made ? CKR_OK : CKR_DEVICE_MEMORY;
}

static CK_RV derive(struct session *session, const CK_MECHANISM *mechanism, CK_OBJECT_HANDLE base, const CK_ATTRIBUTE *template,
                    CK_ULONG count, CK_OBJECT_HANDLE *made) {
  if (!mechanism || !made || (count && !template)) return CKR_ARGUMENTS_BAD;
  if (count > TEMPLATE_MAXIMUM) return CKR_TEMPLATE_INCONSISTENT;
  const struct object *key = find_object(base);
  CK_RV result = check_key(key, mechanism, CKF_DERIVE, CKA_DERIVE);
  CK_ECDH1_DERIVE_PARAMS parameters;
  if (!result) result = check_curve_parameters(mechanism, &parameters);
  struct wish wish = {.count = 0};
  CK_KEY_TYPE type = CKK_GENERIC_SECRET;
  for (CK_ULONG index = 0; index < count && !result; index++) result = read_attribute(&template[index], &wish, &type);
  if (result) return result;
  unsigned char reference[REFERENCE_SIZE], description[MECHANISM_SIZE];
  memcpy(reference, key->reference, REFERENCE_SIZE);
  describe_mechanism(mechanism, description);
  const struct iovec parts[] = {lend(reference, REFERENCE_SIZE), lend(description, MECHANISM_SIZE),
                                lend(parameters.pPublicData, parameters.ulPublicDataLen)};
  unsigned long generation = 0;
  struct answer answer;
  result = transact(session, KIND_DERIVE, parts, 3, &generation, &answer);
  if (result) return result;
  result = answer.size > SECRET_MAXIMUM || !answer.size ? hang_up(generation) : keep_secret(session, &wish, type, &answer, made);
  forget_answer(&answer);
  return result;
}

CK_RV C_DeriveKey(CK_SESSION_HANDLE handle, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE base, CK_ATTRIBUTE *template, CK_ULONG count,
                  CK_OBJECT_HANDLE *key) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  return result ? result : leave_session(&call, session, derive(session, mechanism, base, template, count, key));
}
