// The password that the person typed, from `auth` to `session`.
#pragma once

#include <security/pam_modules.h>
#include <stdbool.h>

// Keeps PAM_AUTHTOK together with the user who typed it, or forgets a former one if there is none now.
void keep_token(pam_handle_t *handle);

// The kept secret, lent until `drop_token`; NULL if there is none or if another user typed it. sudo and su authenticate one user and open a
// session for another one.
const char *kept_token(pam_handle_t *handle, const char *user);

void drop_token(pam_handle_t *handle);
