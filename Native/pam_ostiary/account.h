// What the machine knows of the user's account.
#pragma once

#include <security/pam_modules.h>
#include <stdbool.h>

// Whether the account signs nobody in: `passwd -l` and `usermod -L` write `!` before the hash, and an account without a password has `!` or `*`.
bool is_locked(pam_handle_t *handle, const char *user);
