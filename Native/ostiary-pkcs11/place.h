// Where the door listens, and how it is started.
#pragma once

#include <stdbool.h>
#include <sys/un.h>

struct place {
  // `$XDG_RUNTIME_DIR`, if it is this user's alone; else empty.
  char runtime[sizeof((struct sockaddr_un){0}.sun_path)];
  // The folder of the socket.
  char folder[sizeof((struct sockaddr_un){0}.sun_path)];
  struct sockaddr_un address;
};

// False where the user has no such place.
bool find_place(struct place *place);

enum place_state {
  PLACE_USABLE,
  // Nothing is there yet.
  PLACE_ABSENT,
  // Folder or socket are not this user's alone.
  PLACE_FOREIGN,
};

enum place_state look_at_socket(const struct place *place);

// Has the door started, by the user's service manager where it knows the door, else by this process. True when somebody listens probably.
bool start_door(const struct place *place);
