#include "account.h"

#include <errno.h>
#include <security/pam_ext.h>
#include <shadow.h>
#include <string.h>
#include <syslog.h>

// A program without root's rights, as a screen lock may be, cannot read the file. To it no account is locked: its yes signs nobody in, because
// it has the person's rights already.
bool is_locked(pam_handle_t *handle, const char *user) {
  struct spwd entry, *found = NULL;
  char buffer[4096];
  int error = getspnam_r(user, &entry, buffer, sizeof buffer, &found);
  bool is_refused = found && found->sp_pwdp && (*found->sp_pwdp == '!' || *found->sp_pwdp == '*');
  // It had the hash of the password. libc's own buffer of the file is out of reach, as it is after pam_unix.
  explicit_bzero(buffer, sizeof buffer);
  if (is_refused) {
    pam_syslog(handle, LOG_NOTICE, "the account is locked or has no password; nobody is asked");
  } else if (error && error != EACCES && error != ENOENT) {
    errno = error;
    pam_syslog(handle, LOG_WARNING, "the account cannot be looked up: %m; nobody is asked");
    is_refused = true;
  }
  return is_refused;
}
