// The start of a helper that the service manager runs under an account of its own with one capability.
#ifndef OSTIARY_START_H
#define OSTIARY_START_H

#include <sys/types.h>

// No dumps and no tracing, no rights by executing something, and of all capabilities at most this one. Ends the process if the
// kernel refuses.
void give_up_rights(unsigned capability);

// The numbers of the helper's descriptors beside 0, 1 and 2.
enum {
  CONNECTION = 3,  // to the daemon
  LISTENER = 4,    // of a helper that serves one connection after the other
};

// What the service manager gives: a listening socket, or a connection.
enum given_socket { GIVEN_LISTENER, GIVEN_CONNECTION };

// Takes the socket that the service manager gave, under its number (sd_listen_fds(3)); all other descriptors are closed.
//
// Returns the account that owns the socket's file: the only one, beside root, that this helper serves. Ends the process if nothing
// was given, or something else.
uid_t take_socket(enum given_socket kind);

// Whether the process at the other end of CONNECTION has this account or root's (SO_PEERCRED): 1 or 0.
int is_served(uid_t account);

// Greets, and takes the hand-over: the connection stays where it is, and nothing else is given. 0, or -1 if the other side
// gave up or sent something else.
int begin_conversation(void);

// The time for what follows, 0 for no limit any more. What the kernel holds up longer ends the process with SIGALRM.
void limit_time(int milliseconds);

// Ends the process with a word on standard error. `words` ends with a line feed.
_Noreturn void fail(const char *words);

#endif
