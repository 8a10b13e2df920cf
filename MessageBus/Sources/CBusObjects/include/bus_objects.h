// Tables of an interface's members for sd-bus (sd_bus_add_fallback_vtable(3)), made at run time. Swift does not import the macros
// that fill an sd_bus_vtable, and sd-bus keeps pointers into the table and its texts. So a table and all its texts lie here, in
// memory that its owner frees.
//
// Functions return 0 or more, or a negative errno.
#ifndef OSTIARY_BUS_OBJECTS_H
#define OSTIARY_BUS_OBJECTS_H

#include <stddef.h>

#pragma clang assume_nonnull begin

struct sd_bus;
struct sd_bus_message;

typedef struct ostiary_bus_interface ostiary_bus_interface;

// The owner's side of an interface. sd-bus calls these on the thread that processes the connection. `context` is what
// ostiary_bus_interface_serve got. (In the type of a function, clang assumes nothing about pointers.)

// Whether the object at `path` has the interface: 1 or 0.
typedef int (*ostiary_bus_exists)(void *_Nonnull context, const char *_Nonnull path);
// A method was called with the arguments that its signature names. A handler that answers later takes a reference.
typedef void (*ostiary_bus_called)(void *_Nonnull context, struct sd_bus_message *_Nonnull call);
// Writes the value of a property; `error` is an sd_bus_error to fill if there is none.
typedef int (*ostiary_bus_read)(void *_Nonnull context, const char *_Nonnull path, const char *_Nonnull property,
                                struct sd_bus_message *_Nonnull value, void *_Nonnull error);

// How programs learn that a property changed.
enum {
  OSTIARY_BUS_CONSTANT,     // it does not
  OSTIARY_BUS_VALUE,        // the signal PropertiesChanged holds the new value
  OSTIARY_BUS_INVALIDATION, // that signal holds the name alone
};

// A table with room for this many members. NULL if there is no memory.
ostiary_bus_interface *_Nullable ostiary_bus_interface_new(size_t capacity, ostiary_bus_exists exists,
                                                           ostiary_bus_called called, ostiary_bus_read read);

// Add a member. The texts are copied; sd-bus checks them in ostiary_bus_interface_serve.
int ostiary_bus_interface_add_method(ostiary_bus_interface *interface, const char *name, const char *inputs, const char *outputs);
int ostiary_bus_interface_add_signal(ostiary_bus_interface *interface, const char *name, const char *signature);
// A writable property is only described as one. Its values come through a filter; sd-bus's own way to set it refuses.
int ostiary_bus_interface_add_property(ostiary_bus_interface *interface, const char *name, const char *signature, int change,
                                       int is_writable);

// Serves the interface at `prefix` and at all paths below it. Called once, after all members were added.
int ostiary_bus_interface_serve(ostiary_bus_interface *interface, struct sd_bus *bus, const char *prefix, const char *name,
                                void *context);

// Ends the service and frees the table. On the connection's thread.
void ostiary_bus_interface_free(ostiary_bus_interface *interface);

#pragma clang assume_nonnull end
#endif
