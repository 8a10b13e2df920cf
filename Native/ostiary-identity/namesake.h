// Looks for a second terminal with the same number. The reasons: TerminalNamesake.swift, which does it for a daemon of one user, and which
// excuses processes that plainly use another terminal.
#ifndef OSTIARY_NAMESAKE_H
#define OSTIARY_NAMESAKE_H

#include <stdint.h>

enum namesake_result { NO_NAMESAKE = 0, NAMESAKE = 1, NAMESAKE_UNREADABLE = 2 };

struct terminal {
  uint32_t user;    // of the question
  uint32_t number;  // in the numbering of TIOCGDEV
  int32_t session;  // of the process that asks
};

// Looks for a process of the user, in another session, whose controlling terminal has this number.
//
// `processes` is an open /proc.
enum namesake_result find_namesake(int processes, const struct terminal *terminal, uint32_t *process);

#endif
