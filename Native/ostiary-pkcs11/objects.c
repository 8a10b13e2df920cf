#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "sessions.h"

enum {
  OBJECTS_MAXIMUM = 4096,
  OWN_OBJECTS_MAXIMUM = 1024,
  // All values of a list.
  LIST_SIZE_MAXIMUM = 16 << 20,
  FORM_BYTES = 1,
  FORM_NUMBERS = 2,
  NUMBER_SIZE = 8,
  OBJECT_HEAD_SIZE = REFERENCE_SIZE + 3,
  ATTRIBUTE_HEAD_SIZE = 7,
};

// MARK: looking

const struct object *find_object(CK_OBJECT_HANDLE handle) {
  const struct object *object = state.objects;
  while (object && object->handle != handle) object = object->next;
  return object;
}

const struct attribute *attribute_of(const struct object *object, CK_ATTRIBUTE_TYPE type) {
  for (size_t index = 0; index < object->attribute_count; index++) {
    if (object->attributes[index].type == type) return &object->attributes[index];
  }
  return NULL;
}

CK_ULONG number_of(const struct object *object, CK_ATTRIBUTE_TYPE type, CK_ULONG otherwise) {
  const struct attribute *attribute = attribute_of(object, type);
  CK_ULONG number;
  if (!attribute || attribute->size != sizeof number) return otherwise;
  memcpy(&number, attribute->value, sizeof number);
  return number;
}

bool is_true(const struct object *object, CK_ATTRIBUTE_TYPE type) {
  const struct attribute *attribute = attribute_of(object, type);
  return attribute && attribute->size == sizeof(CK_BBOOL) && attribute->value[0];
}

// MARK: keeping

static void destroy(struct object *object) {
  free_secret(object->bytes, object->size);
  free(object->attributes);
  free(object);
}

static void destroy_all(struct object *objects) {
  while (objects) {
    struct object *next = objects->next;
    destroy(objects);
    objects = next;
  }
}

static struct object *new_object(size_t attribute_count, size_t size) {
  struct object *object = calloc(1, sizeof *object);
  if (!object) return NULL;
  object->attributes = calloc(attribute_count + 1, sizeof *object->attributes);
  object->bytes = malloc(size + 1);
  object->size = size;
  if (object->attributes && object->bytes) return object;
  free(object->attributes);
  free(object->bytes);
  free(object);
  return NULL;
}

CK_OBJECT_HANDLE keep_object(CK_SESSION_HANDLE owner, const CK_ATTRIBUTE *attributes, CK_ULONG count) {
  size_t size = 0, kept = 0;
  for (CK_ULONG index = 0; index < count; index++) size += attributes[index].ulValueLen;
  for (const struct object *each = state.objects; each; each = each->next) kept += each->owner ? 1 : 0;
  struct object *object = kept < OWN_OBJECTS_MAXIMUM ? new_object(count, size) : NULL;
  if (!object) return 0;
  unsigned char *place = object->bytes;
  for (CK_ULONG index = 0; index < count; index++) {
    object->attributes[index] =
        (struct attribute){.type = attributes[index].type, .size = attributes[index].ulValueLen, .value = place};
    if (attributes[index].ulValueLen) memcpy(place, attributes[index].pValue, attributes[index].ulValueLen);
    place += attributes[index].ulValueLen;
  }
  object->attribute_count = count;
  object->owner = owner;
  object->handle = ++state.last_object;
  object->next = state.objects;
  state.objects = object;
  return object->handle;
}

// Keeps those that are wanted.
static void remove_objects(bool (*is_wanted)(const struct object *object, CK_ULONG which), CK_ULONG which) {
  struct object **place = &state.objects;
  while (*place) {
    struct object *object = *place;
    if (is_wanted(object, which)) {
      place = &object->next;
    } else {
      *place = object->next;
      destroy(object);
    }
  }
}

static bool is_of_other_session(const struct object *object, CK_ULONG session) { return object->owner != session; }
static bool is_of_session(const struct object *object, CK_ULONG unused) { return (void)unused, object->owner; }
static bool is_other(const struct object *object, CK_ULONG handle) { return object->handle != handle; }

void remove_objects_of(CK_SESSION_HANDLE owner) { remove_objects(is_of_other_session, owner); }

void forget_objects(void) {
  destroy_all(state.objects);
  state.objects = NULL;
}

// MARK: the door's list

// What is left of a message.
struct rest {
  const unsigned char *place;
  size_t size;
};

static const unsigned char *take(struct rest *rest, size_t size) {
  if (rest->size < size) return NULL;
  const unsigned char *taken = rest->place;
  rest->place += size;
  rest->size -= size;
  return taken;
}

static size_t get_short(const unsigned char *place) { return (size_t)place[0] << 8 | place[1]; }

// Numbers become CK_ULONG. False: they do not fit.
static bool put_value(struct attribute *attribute, unsigned char form, const unsigned char *value, size_t size) {
  if (form == FORM_BYTES) {
    attribute->size = size;
    if (size) memcpy(attribute->value, value, size);
    return true;
  }
  if (form != FORM_NUMBERS || size % NUMBER_SIZE) return false;
  attribute->size = size / NUMBER_SIZE * sizeof(CK_ULONG);
  for (size_t index = 0; index < size / NUMBER_SIZE; index++) {
    uint64_t wide = (uint64_t)get_number(value + index * NUMBER_SIZE) << 32 | get_number(value + index * NUMBER_SIZE + 4);
    CK_ULONG number = (CK_ULONG)wide;
    if (number != wide) return false;
    memcpy(attribute->value + index * sizeof number, &number, sizeof number);
  }
  return true;
}

// The size of all values together. A CK_ULONG is not longer than a number of the message.
static bool measure(struct rest rest, size_t count, size_t *size) {
  for (*size = 0; count; count--) {
    const unsigned char *attribute = take(&rest, ATTRIBUTE_HEAD_SIZE);
    if (!attribute || !take(&rest, get_short(attribute + 5))) return false;
    *size += get_short(attribute + 5);
  }
  return true;
}

// NULL: it is no object, or there is no memory.
static struct object *read_object(struct rest *rest) {
  const unsigned char *head = take(rest, OBJECT_HEAD_SIZE);
  size_t count = head ? head[REFERENCE_SIZE + 2] : 0, size_of_values;
  if (!head || !measure(*rest, count, &size_of_values)) return NULL;
  struct object *object = new_object(count, size_of_values);
  if (!object) return NULL;
  memcpy(object->reference, head, REFERENCE_SIZE);
  object->longest_result = get_short(head + REFERENCE_SIZE);
  unsigned char *place = object->bytes;
  for (size_t index = 0; index < count; index++) {
    const unsigned char *attribute = take(rest, ATTRIBUTE_HEAD_SIZE);
    size_t size = get_short(attribute + 5);
    const unsigned char *value = take(rest, size);
    struct attribute *made = &object->attributes[index];
    *made = (struct attribute){.type = get_number(attribute), .value = place};
    if (attribute_of(object, made->type) || !put_value(made, attribute[4], value, size)) break;
    place += made->size;
    object->attribute_count++;
  }
  bool has_class = number_of(object, CKA_CLASS, CK_UNAVAILABLE_INFORMATION) != CK_UNAVAILABLE_INFORMATION;
  if (has_class && object->attribute_count == count) return object;
  destroy(object);
  return NULL;
}

struct list {
  struct object *first, **end;
  size_t count, size;
  uint32_t cursor;
};

// False: it is no page of a list.
static bool read_page(struct rest rest, struct list *list) {
  const unsigned char *head = take(&rest, 6);
  if (!head) return false;
  uint32_t next = get_number(head);
  if (next && next <= list->cursor) return false;
  for (size_t count = get_short(head + 4); count; count--) {
    struct object *object = read_object(&rest);
    if (!object) return false;
    *list->end = object;
    list->end = &object->next;
    list->size += object->size;
    if (++list->count > OBJECTS_MAXIMUM || list->size > LIST_SIZE_MAXIMUM) return false;
  }
  list->cursor = next;
  return !rest.size;
}

static CK_RV read_list(struct session *session, struct list *list) {
  unsigned long generation = 0;
  do {
    unsigned char cursor[4];
    put_number(cursor, list->cursor);
    const struct iovec part = {.iov_base = cursor, .iov_len = sizeof cursor};
    struct answer answer;
    CK_RV result = transact(session, KIND_OBJECTS, &part, 1, &generation, &answer);
    if (result) return result;
    bool is_page = read_page((struct rest){.place = answer.bytes, .size = answer.size}, list);
    forget_answer(&answer);
    if (!is_page) return hang_up(generation);
  } while (list->cursor);
  return CKR_OK;
}

// An object that was there before keeps its handle. A handle is never given again.
static void take_over(struct list *list) {
  for (struct object *each = list->first; each; each = each->next) {
    const struct object *former = state.objects;
    while (former && (former->owner || memcmp(former->reference, each->reference, REFERENCE_SIZE))) former = former->next;
    each->handle = former ? former->handle : ++state.last_object;
  }
  remove_objects(is_of_session, 0);
  *list->end = state.objects;
  state.objects = list->first;
}

static CK_RV renew_list(struct session *session) {
  while (state.is_listing) wait_for_news(now() + 1000);
  state.is_listing = true;
  struct list list = {.end = &list.first};
  CK_RV result = read_list(session, &list);
  state.is_listing = false;
  tell_news();
  if (result) {
    destroy_all(list.first);
  } else {
    take_over(&list);
  }
  return result;
}

// MARK: searching

// The secret parts, which no door sends.
static bool is_secret(const struct object *object, CK_ATTRIBUTE_TYPE type) {
  CK_ULONG class = number_of(object, CKA_CLASS, CK_UNAVAILABLE_INFORMATION);
  if (class == CKO_SECRET_KEY) {
    return type == CKA_VALUE && (is_true(object, CKA_SENSITIVE) || !is_true(object, CKA_EXTRACTABLE));
  }
  if (class != CKO_PRIVATE_KEY) return false;
  if (number_of(object, CKA_KEY_TYPE, CK_UNAVAILABLE_INFORMATION) != CKK_RSA) return type == CKA_VALUE;
  return type == CKA_PRIVATE_EXPONENT || type == CKA_PRIME_1 || type == CKA_PRIME_2 || type == CKA_EXPONENT_1 ||
         type == CKA_EXPONENT_2 || type == CKA_COEFFICIENT;
}

static bool matches(const struct object *object, const CK_ATTRIBUTE *template, CK_ULONG count) {
  for (CK_ULONG index = 0; index < count; index++) {
    const struct attribute *attribute = attribute_of(object, template[index].type);
    // Who guesses a secret must not be told that it is right.
    if (!attribute || attribute->size != template[index].ulValueLen || is_secret(object, attribute->type)) return false;
    if (attribute->size && memcmp(attribute->value, template[index].pValue, attribute->size)) return false;
  }
  return true;
}

// Whether an object of the token may match. NSS looks for a kind of its own hundreds of times, and the door is not asked for it.
static bool may_be_of_token(const CK_ATTRIBUTE *template, CK_ULONG count) {
  for (CK_ULONG index = 0; index < count; index++) {
    CK_ULONG class = CK_UNAVAILABLE_INFORMATION;
    if (template[index].type == CKA_CLASS && template[index].ulValueLen == sizeof class) {
      memcpy(&class, template[index].pValue, sizeof class);
      if (class != CKO_CERTIFICATE && class != CKO_PUBLIC_KEY && class != CKO_PRIVATE_KEY) return false;
    }
    if (template[index].type == CKA_TOKEN && template[index].ulValueLen == 1 && !*(const CK_BBOOL *)template[index].pValue) return false;
  }
  return true;
}

static CK_RV search(struct session *session, const CK_ATTRIBUTE *template, CK_ULONG count) {
  if (session->found) return CKR_OPERATION_ACTIVE;
  if (count && !template) return CKR_ARGUMENTS_BAD;
  for (CK_ULONG index = 0; index < count; index++) {
    if (template[index].ulValueLen && !template[index].pValue) return CKR_ATTRIBUTE_VALUE_INVALID;
  }
  CK_RV result = may_be_of_token(template, count) ? renew_list(session) : CKR_OK;
  if (result) return result;
  CK_ULONG total = 0;
  for (const struct object *each = state.objects; each; each = each->next) total++;
  session->found = calloc(total + 1, sizeof *session->found);
  if (!session->found) return CKR_HOST_MEMORY;
  session->found_count = session->found_place = 0;
  for (const struct object *each = state.objects; each; each = each->next) {
    if (matches(each, template, count)) session->found[session->found_count++] = each->handle;
  }
  return CKR_OK;
}

CK_RV C_FindObjectsInit(CK_SESSION_HANDLE handle, CK_ATTRIBUTE *template, CK_ULONG count) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  return result ? result : leave_session(&call, session, search(session, template, count));
}

CK_RV C_FindObjects(CK_SESSION_HANDLE handle, CK_OBJECT_HANDLE *objects, CK_ULONG maximum, CK_ULONG *count) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  if (result) return result;
  if (!session->found) {
    result = CKR_OPERATION_NOT_INITIALIZED;
  } else if (!count || (maximum && !objects)) {
    result = CKR_ARGUMENTS_BAD;
  } else {
    for (*count = 0; *count < maximum && session->found_place < session->found_count;) {
      objects[(*count)++] = session->found[session->found_place++];
    }
  }
  return leave_session(&call, session, result);
}

CK_RV C_FindObjectsFinal(CK_SESSION_HANDLE handle) {
  struct call call;
  struct session *session;
  CK_RV result = enter_session(&call, handle, &session);
  if (result) return result;
  if (!session->found) result = CKR_OPERATION_NOT_INITIALIZED;
  free(session->found);
  session->found = NULL;
  return leave_session(&call, session, result);
}

// MARK: attributes

static CK_RV copy_attribute(const struct object *object, CK_ATTRIBUTE *wanted) {
  const struct attribute *attribute = attribute_of(object, wanted->type);
  CK_ULONG room = wanted->ulValueLen;
  wanted->ulValueLen = CK_UNAVAILABLE_INFORMATION;
  if (is_secret(object, wanted->type)) return CKR_ATTRIBUTE_SENSITIVE;
  if (!attribute) return CKR_ATTRIBUTE_TYPE_INVALID;
  if (wanted->pValue && room < attribute->size) return CKR_BUFFER_TOO_SMALL;
  wanted->ulValueLen = attribute->size;
  if (wanted->pValue && attribute->size) memcpy(wanted->pValue, attribute->value, attribute->size);
  return CKR_OK;
}

// Each attribute is looked at, also behind one that cannot be had.
static CK_RV get_attributes(CK_SESSION_HANDLE handle, CK_OBJECT_HANDLE number, CK_ATTRIBUTE *template, CK_ULONG count) {
  if (!has_session(handle)) return CKR_SESSION_HANDLE_INVALID;
  const struct object *object = find_object(number);
  if (!object) return CKR_OBJECT_HANDLE_INVALID;
  if (count && !template) return CKR_ARGUMENTS_BAD;
  CK_RV result = CKR_OK;
  for (CK_ULONG index = 0; index < count; index++) {
    CK_RV found = copy_attribute(object, &template[index]);
    if (found) result = found;
  }
  return result;
}

CK_RV C_GetAttributeValue(CK_SESSION_HANDLE handle, CK_OBJECT_HANDLE object, CK_ATTRIBUTE *template, CK_ULONG count) {
  struct call call;
  CK_RV result = enter(&call);
  return result ? result : leave(&call, get_attributes(handle, object, template, count));
}

static CK_RV destroy_object(CK_SESSION_HANDLE handle, CK_OBJECT_HANDLE number) {
  if (!has_session(handle)) return CKR_SESSION_HANDLE_INVALID;
  const struct object *object = find_object(number);
  if (!object) return CKR_OBJECT_HANDLE_INVALID;
  // A key is destroyed by its owner's command alone.
  if (!object->owner) return CKR_ACTION_PROHIBITED;
  remove_objects(is_other, number);
  return CKR_OK;
}

CK_RV C_DestroyObject(CK_SESSION_HANDLE handle, CK_OBJECT_HANDLE object) {
  struct call call;
  CK_RV result = enter(&call);
  return result ? result : leave(&call, destroy_object(handle, object));
}
