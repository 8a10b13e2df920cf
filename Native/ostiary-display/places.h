// Where displays are: the sockets of compositors and X servers, and the cookies of X servers.
#ifndef OSTIARY_PLACES_H
#define OSTIARY_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  MAXIMUM_NAME = 11,      // `wayland-999`
  MAXIMUM_FOUND = 16,     // displays in one answer
  MAXIMUM_COOKIES = 4096  // bytes
};

enum outcome { CONNECTED = 0, NONE = 1, REFUSED = 2, ANOTHER_OWNER = 3, SEVERAL = 4, BAD_REQUEST = 5 };
enum kind { WAYLAND = 1, X11 = 2, COOKIE = 3 };

struct display {
  pid_t process;  // that listens
  uid_t user;
  char name[MAXIMUM_NAME + 1];
};

struct found {
  int descriptor;  // the connection, or the cookies; -1 for none. The receiver closes it
  int code;        // the errno of a refusal
  unsigned count;
  struct display displays[MAXIMUM_FOUND];
};

// Whether a display of this kind can have the name.
int is_name(enum kind kind, const char *name);

// Connects to the display of the user with this name, or to the only one if the name is empty.
enum outcome connect_to_display(enum kind kind, uid_t user, const char *name, struct found *found);

// Copies the cookies of the user's X servers.
enum outcome copy_cookies(uid_t user, struct found *found);

#ifdef OSTIARY_TEST_OPTIONS
// Puts other folders in the place of /run/user and /tmp/.X11-unix.
void use_folders(const char *of_users, const char *of_x11);
#endif

#endif
