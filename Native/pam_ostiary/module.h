// What the functions that PAM calls have in common.
#pragma once

#include <security/pam_modules.h>
#include <stddef.h>

// PAM finds its functions by name; all other names are hidden (-fvisibility=hidden).
#define EXPORTED __attribute__((visibility("default")))

static inline const char *text_item(pam_handle_t *handle, int which) {
  const void *item = NULL;
  return pam_get_item(handle, which, &item) == PAM_SUCCESS && item ? item : "";
}
