// A PAM module that does what its first argument says, for what no module of Debian does.
#include <security/pam_modules.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(pam_handle_t *handle, int style, const char *text) {
  const void *item = NULL;
  if (pam_get_item(handle, PAM_CONV, &item) != PAM_SUCCESS || !item) _exit(1);
  const struct pam_conv *conversation = item;
  struct pam_message message = {.msg_style = style, .msg = text};
  const struct pam_message *messages[] = {&message};
  struct pam_response *responses = NULL;
  conversation->conv(1, messages, &responses, conversation->appdata_ptr);
  free(responses);
}

// Starts a program with everything that a child inherits, and tells its number.
static pid_t start(pam_handle_t *handle, const char *program) {
  pid_t child = fork();
  if (child == 0) {
    execl(program, program, (char *)NULL);
    _exit(127);
  }
  char number[16];
  snprintf(number, sizeof(number), "%d", (int)child);
  say(handle, PAM_TEXT_INFO, number);
  return child;
}

int pam_sm_authenticate(pam_handle_t *handle, int flags, int count, const char **arguments) {
  (void)flags;
  const char *what = count > 0 ? arguments[0] : "";
  if (!strcmp(what, "leave")) return start(handle, arguments[1]) > 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
  if (!strcmp(what, "run")) return waitpid(start(handle, arguments[1]), NULL, 0) > 0 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
  if (!strcmp(what, "say-style")) {
    // Says yes whatever comes back.
    say(handle, atoi(arguments[1]), "Password: ");
    return PAM_SUCCESS;
  }
  if (!strcmp(what, "no-times")) {
    // No as often as the second argument says, counted in a file; then yes.
    FILE *file = fopen(arguments[2], "a");
    if (!file) return PAM_SYSTEM_ERR;
    fputc('.', file);
    long attempts = ftell(file);
    fclose(file);
    return attempts > atoi(arguments[1]) ? PAM_SUCCESS : PAM_AUTH_ERR;
  }
  if (!strcmp(what, "other-user")) return pam_set_item(handle, PAM_USER, "nobody");
  if (!strcmp(what, "crash")) raise(SIGSEGV);
  if (!strcmp(what, "abort")) abort();
  if (!strcmp(what, "exit")) _exit(0);
  if (!strcmp(what, "garbage")) return write(3, "\x03\x01\x01", 3) == 3 ? PAM_SUCCESS : PAM_SYSTEM_ERR;
  while (!strcmp(what, "hang")) pause();
  return PAM_SYSTEM_ERR;
}

int pam_sm_setcred(pam_handle_t *handle, int flags, int count, const char **arguments) {
  (void)handle, (void)flags, (void)count, (void)arguments;
  return PAM_IGNORE;
}
