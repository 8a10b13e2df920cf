// A PAM module that asks for a password and takes each, in place of pam_unix.
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdlib.h>
#include <string.h>

static int ask(pam_handle_t *handle, int item) {
  char *typed = NULL;
  int result = pam_prompt(handle, PAM_PROMPT_ECHO_OFF, &typed, "typed");
  if (result != PAM_SUCCESS || !typed) return PAM_CONV_ERR;
  result = pam_set_item(handle, item, typed);
  explicit_bzero(typed, strlen(typed));
  free(typed);
  return result;
}

static int has(int count, const char **words, const char *word) {
  while (count-- > 0) {
    if (!strcmp(words[count], word)) return 1;
  }
  return 0;
}

int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)flags;
  return has(count, words, "nothing") ? PAM_SUCCESS : ask(handle, PAM_AUTHTOK);
}

int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **words) {
  (void)handle, (void)flags, (void)count, (void)words;
  return PAM_SUCCESS;
}

int pam_sm_chauthtok(pam_handle_t *handle, int flags, int count, const char **words) {
  if (flags & PAM_PRELIM_CHECK) return PAM_SUCCESS;
  if (!has(count, words, "no-old") && ask(handle, PAM_OLDAUTHTOK) != PAM_SUCCESS) return PAM_AUTHTOK_RECOVERY_ERR;
  return has(count, words, "no-new") ? PAM_SUCCESS : ask(handle, PAM_AUTHTOK);
}
