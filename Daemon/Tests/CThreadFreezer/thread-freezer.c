#define _GNU_SOURCE
#include "thread-freezer.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static pid_t wait_for(pid_t process, int *status) {
  pid_t found;
  do found = waitpid(process, status, __WALL);
  while (found < 0 && errno == EINTR);
  return found;
}

int freezer_stop_first_thread(pid_t process) {
  if (ptrace(PTRACE_SEIZE, process, NULL, NULL) != 0) return -1;
  if (ptrace(PTRACE_INTERRUPT, process, NULL, NULL) != 0) return -1;
  int status;
  if (wait_for(process, &status) != process) return -1;
  if (!WIFSTOPPED(status)) {
    errno = ESRCH;
    return -1;
  }
  return 0;
}

void freezer_reap(pid_t process) {
  int status;
  kill(process, SIGKILL);
  // A signal may be reported before the end.
  while (wait_for(process, &status) == process && WIFSTOPPED(status)) ptrace(PTRACE_CONT, process, NULL, NULL);
}
