#include "bus_objects.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

// Texts of a member: a name and at most two signatures.
enum { TEXTS = 3 };

struct ostiary_bus_interface {
  ostiary_bus_exists exists;
  ostiary_bus_called called;
  ostiary_bus_read read;
  void *context;
  sd_bus_slot *slot;
  size_t capacity;
  size_t count;
  char *(*texts)[TEXTS];
  // The start, `capacity` members, the end. sd-bus wants unused parts of a member to be zero, which an initializer on the stack
  // does not promise: the memory is zeroed, and members are filled field by field.
  sd_bus_vtable *table;
};

// MARK: what sd-bus calls

static int find(sd_bus *bus, const char *path, const char *name, void *context, void **found, sd_bus_error *error) {
  (void)bus, (void)name, (void)error;
  ostiary_bus_interface *interface = context;
  if (!interface->exists(interface->context, path)) return 0;
  *found = context;
  return 1;
}

static int called(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)error;
  ostiary_bus_interface *interface = context;
  interface->called(interface->context, call);
  // Taken: the answer may come later.
  return 1;
}

static int read_property(sd_bus *bus, const char *path, const char *name, const char *property, sd_bus_message *value,
                         void *context, sd_bus_error *error) {
  (void)bus, (void)name;
  ostiary_bus_interface *interface = context;
  return interface->read(interface->context, path, property, value, error);
}

// Without a function, sd-bus would write into the table's own memory.
static int refuse_to_set(sd_bus *bus, const char *path, const char *name, const char *property, sd_bus_message *value,
                         void *context, sd_bus_error *error) {
  (void)bus, (void)path, (void)name, (void)property, (void)value, (void)context, (void)error;
  return -EROFS;
}

// MARK: the table

ostiary_bus_interface *ostiary_bus_interface_new(size_t capacity, ostiary_bus_exists exists, ostiary_bus_called called,
                                                 ostiary_bus_read read) {
  static const sd_bus_vtable start = SD_BUS_VTABLE_START(0);
  ostiary_bus_interface *interface = calloc(1, sizeof *interface);
  if (!interface) return NULL;
  interface->exists = exists;
  interface->called = called;
  interface->read = read;
  interface->capacity = capacity;
  interface->texts = calloc(capacity + 1, sizeof *interface->texts);
  interface->table = calloc(capacity + 2, sizeof *interface->table);
  if (!interface->texts || !interface->table) {
    ostiary_bus_interface_free(interface);
    return NULL;
  }
  interface->table[0] = start;
  for (size_t index = 1; index < capacity + 2; index++) interface->table[index].type = _SD_BUS_VTABLE_END;
  return interface;
}

// The next free member, with copies of the texts; NULL, with errno, if there is none.
static sd_bus_vtable *add(ostiary_bus_interface *interface, const char *texts[TEXTS]) {
  if (interface->count == interface->capacity || interface->slot) {
    errno = ENOSPC;
    return NULL;
  }
  char **copies = interface->texts[interface->count];
  for (int index = 0; index < TEXTS; index++) {
    free(copies[index]);
    copies[index] = strdup(texts[index]);
    if (!copies[index]) return NULL;
  }
  interface->count++;
  return &interface->table[interface->count];
}

int ostiary_bus_interface_add_method(ostiary_bus_interface *interface, const char *name, const char *inputs,
                                     const char *outputs) {
  const char *texts[TEXTS] = {name, inputs, outputs};
  sd_bus_vtable *member = add(interface, texts);
  if (!member) return -errno;
  char **copies = interface->texts[interface->count - 1];
  member->type = _SD_BUS_VTABLE_METHOD;
  // The owner decides which users may call, of whom it knows more.
  member->flags = SD_BUS_VTABLE_UNPRIVILEGED | SD_BUS_VTABLE_SENSITIVE;
  member->x.method.member = copies[0];
  member->x.method.signature = copies[1];
  member->x.method.result = copies[2];
  member->x.method.handler = called;
  member->x.method.names = "";
  return 0;
}

int ostiary_bus_interface_add_signal(ostiary_bus_interface *interface, const char *name, const char *signature) {
  const char *texts[TEXTS] = {name, signature, ""};
  sd_bus_vtable *member = add(interface, texts);
  if (!member) return -errno;
  char **copies = interface->texts[interface->count - 1];
  member->type = _SD_BUS_VTABLE_SIGNAL;
  member->x.signal.member = copies[0];
  member->x.signal.signature = copies[1];
  member->x.signal.names = "";
  return 0;
}

static uint64_t flags_of(int change) {
  switch (change) {
  case OSTIARY_BUS_VALUE: return SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
  case OSTIARY_BUS_INVALIDATION: return SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;
  default: return SD_BUS_VTABLE_PROPERTY_CONST;
  }
}

int ostiary_bus_interface_add_property(ostiary_bus_interface *interface, const char *name, const char *signature, int change,
                                       int is_writable) {
  const char *texts[TEXTS] = {name, signature, ""};
  sd_bus_vtable *member = add(interface, texts);
  if (!member) return -errno;
  char **copies = interface->texts[interface->count - 1];
  member->type = is_writable ? _SD_BUS_VTABLE_WRITABLE_PROPERTY : _SD_BUS_VTABLE_PROPERTY;
  member->flags = flags_of(change);
  member->x.property.member = copies[0];
  member->x.property.signature = copies[1];
  member->x.property.get = read_property;
  member->x.property.set = is_writable ? refuse_to_set : NULL;
  return 0;
}

int ostiary_bus_interface_serve(ostiary_bus_interface *interface, struct sd_bus *bus, const char *prefix, const char *name,
                                void *context) {
  if (interface->slot) return -EALREADY;
  interface->context = context;
  return sd_bus_add_fallback_vtable(bus, &interface->slot, prefix, name, interface->table, find, interface);
}

void ostiary_bus_interface_free(ostiary_bus_interface *interface) {
  sd_bus_slot_unref(interface->slot);
  if (interface->texts) {
    for (size_t index = 0; index <= interface->capacity; index++) {
      for (int text = 0; text < TEXTS; text++) free(interface->texts[index][text]);
    }
  }
  free(interface->texts);
  free(interface->table);
  free(interface);
}
