#include "options.h"

#include <security/pam_ext.h>
#include <stddef.h>
#include <string.h>
#include <syslog.h>

bool read_options(pam_handle_t *handle, int count, const char **words, struct options *options) {
  *options = (struct options){0};
  const struct {
    const char *word;
    bool *place;
  } known[] = {
      {"stash", &options->keeps_token},
      {"no-ask", &options->never_asks},
      {"no-terminal", &options->keeps_terminal},
      {"remote", &options->asks_remotely},
      {"debug", &options->is_verbose},
  };
  enum { KNOWN_COUNT = sizeof known / sizeof known[0] };
  for (int index = 0; index < count; index++) {
    size_t place = 0;
    while (place < KNOWN_COUNT && strcmp(words[index], known[place].word)) place++;
    if (place == KNOWN_COUNT) {
      pam_syslog(handle, LOG_ERR, "unknown option %s: the line does nothing", words[index]);
      return false;
    }
    *known[place].place = true;
  }
  return true;
}
