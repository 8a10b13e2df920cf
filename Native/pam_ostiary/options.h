// The words after the module's name in a line of /etc/pam.d.
#pragma once

#include <security/pam_modules.h>
#include <stdbool.h>

struct options {
  bool keeps_token;     // stash: auth asks nothing and keeps the password for the session
  bool never_asks;      // no-ask: sensors alone
  bool keeps_terminal;  // no-terminal: the daemon does not get the person's terminal
  bool asks_remotely;   // remote: a person at another machine is asked, too
  bool is_verbose;      // debug
};

// False: a word is unknown. Then the line must do nothing: a misspelt `stash` would be a sign-in.
bool read_options(pam_handle_t *handle, int count, const char **words, struct options *options);
