// The objects that the host sees: keys and certificates of the door's list, and secrets that were derived.
#pragma once

#include "state.h"

enum { REFERENCE_SIZE = 18 };

struct attribute {
  CK_ATTRIBUTE_TYPE type;
  CK_ULONG size;
  unsigned char *value;  // among the object's bytes
};

struct object {
  struct object *next;
  CK_OBJECT_HANDLE handle;
  CK_SESSION_HANDLE owner;  // that made it; 0 for an object of the token
  unsigned char reference[REFERENCE_SIZE];
  CK_ULONG longest_result;
  size_t attribute_count;
  struct attribute *attributes;
  unsigned char *bytes;
  size_t size;
};

// NULL for none.
const struct object *find_object(CK_OBJECT_HANDLE handle);
const struct attribute *attribute_of(const struct object *object, CK_ATTRIBUTE_TYPE type);
// `otherwise` where the object has no such attribute.
CK_ULONG number_of(const struct object *object, CK_ATTRIBUTE_TYPE type, CK_ULONG otherwise);
bool is_true(const struct object *object, CK_ATTRIBUTE_TYPE type);

// Keeps a new object of a session; the attributes are copied. Its handle, or 0 without memory or room.
CK_OBJECT_HANDLE keep_object(CK_SESSION_HANDLE owner, const CK_ATTRIBUTE *attributes, CK_ULONG count);

void remove_objects_of(CK_SESSION_HANDLE owner);
void forget_objects(void);
