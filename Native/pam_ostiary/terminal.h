// The terminal at which the person sits.
#pragma once

#include <security/pam_modules.h>

// A new descriptor of it, or -1 where a question on it could reach nobody.
int open_terminal(const char *name);
