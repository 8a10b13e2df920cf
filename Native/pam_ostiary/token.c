#include "token.h"

#include <security/pam_ext.h>
#include <string.h>
#include <sys/mman.h>
#include <syslog.h>

#include "module.h"

static const char data_name[] = "ostiary-token";

// A mapping of its own: nothing else shares or moves its pages, and they go back to the kernel.
struct token {
  size_t size;   // of the mapping
  char bytes[];  // user 00 secret 00
};

static void wipe_token(pam_handle_t *handle, void *data, int status) {
  (void)handle, (void)status;
  struct token *token = data;
  if (!token) return;
  size_t size = token->size;
  explicit_bzero(token, size);
  munmap(token, size);
}

static struct token *make_token(const char *user, const char *secret) {
  size_t user_size = strlen(user) + 1, secret_size = strlen(secret) + 1;
  size_t size = sizeof(struct token) + user_size + secret_size;
  struct token *token = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (token == MAP_FAILED) return NULL;
  // Without a lock it could reach the disk. Then the store stays closed rather.
  if (mlock(token, size) || madvise(token, size, MADV_DONTDUMP)) {
    munmap(token, size);
    return NULL;
  }
  token->size = size;
  memcpy(token->bytes, user, user_size);
  memcpy(token->bytes + user_size, secret, secret_size);
  return token;
}

void keep_token(pam_handle_t *handle) {
  drop_token(handle);
  const char *user = text_item(handle, PAM_USER), *secret = text_item(handle, PAM_AUTHTOK);
  if (!*user || !*secret) return;
  struct token *token = make_token(user, secret);
  if (!token) {
    pam_syslog(handle, LOG_WARNING, "no locked memory for the password: %m; the store stays closed");
  } else if (pam_set_data(handle, data_name, token, wipe_token) != PAM_SUCCESS) {
    wipe_token(handle, token, 0);
  }
}

const char *kept_token(pam_handle_t *handle, const char *user) {
  const void *data = NULL;
  if (pam_get_data(handle, data_name, &data) != PAM_SUCCESS || !data) return NULL;
  const struct token *token = data;
  return strcmp(token->bytes, user) ? NULL : token->bytes + strlen(token->bytes) + 1;
}

void drop_token(pam_handle_t *handle) {
  const void *data = NULL;
  if (pam_get_data(handle, data_name, &data) == PAM_SUCCESS && data) pam_set_data(handle, data_name, NULL, NULL);
}
