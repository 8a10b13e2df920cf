#define _GNU_SOURCE
#include "namesake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/facts.h"
#include "text.h"

// MARK: folders

// Calls `visit` with each name of the folder that begins with a digit, until it returns another number than 0, and returns that;
// -1 with errno if the folder cannot be read. getdents64(2) itself: opendir(3) needs more calls.
static int each_number(int parent, const char *name, int (*visit)(int folder, const char *name, void *context), void *context) {
  _Alignas(struct dirent64) char entries[8192];
  int folder = openat(parent, name, O_RDONLY | O_CLOEXEC);
  if (folder < 0) return -1;
  int result = 0;
  while (result == 0) {
    long count = syscall(SYS_getdents64, folder, entries, sizeof(entries));
    if (count <= 0) {
      result = (int)count;
      break;
    }
    for (long place = 0; place < count && result == 0;) {
      struct dirent64 *entry = (struct dirent64 *)(void *)(entries + place);
      place += entry->d_reclen;
      if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') result = visit(folder, entry->d_name, context);
    }
  }
  int code = errno;
  close(folder);
  errno = code;
  return result;
}

// MARK: one process

struct process_status {
  char state;
  int32_t session;
  uint32_t terminal;
};

// Fields 3, 6 and 7 of proc_pid_stat(5). The program's name before them may hold anything, so counting begins behind the last
// closing parenthesis.
static int parse_status(const char *text, struct process_status *status) {
  const char *field = strrchr(text, ')');
  if (!field || field[1] != ' ' || !field[2] || field[3] != ' ') return -1;
  status->state = field[2];
  long numbers[4];  // parent, group, session, terminal
  const char *next = field + 3;
  for (size_t i = 0; i < 4; i++) {
    char *end;
    numbers[i] = strtol(next, &end, 10);
    if (end == next || *end != ' ') return -1;
    next = end;
  }
  status->session = (int32_t)numbers[2];
  // The kernel prints this unsigned number as a signed one.
  status->terminal = (uint32_t)numbers[3];
  return 0;
}

// Whether the process has more than one number: it is in a lower process namespace, whose terminals have no file here.
static int is_in_container(int process, char *text, size_t capacity) {
  if (read_text(process, "status", text, capacity) < 0) return 0;
  const char *line = strstr(text, "\nNSpid:\t");
  if (!line) return 0;
  line += strlen("\nNSpid:\t");
  return line[strcspn(line, "\t\n")] == '\t';
}

// MARK: all processes

struct process_search {
  const struct terminal *terminal;
  uint32_t found;
};

static int is_namesake(int process, const struct terminal *terminal) {
  static char text[MAXIMUM_TEXT];
  struct statx folder;
  struct process_status status;
  // Its number may have gone over to another process before it was opened.
  if (describe(process, "", &folder) != 0 || folder.stx_uid != terminal->user) return 0;
  if (read_text(process, "stat", text, sizeof(text)) < 0 || parse_status(text, &status) != 0) return 0;
  if (status.terminal != terminal->number || status.session == terminal->session) return 0;
  if (status.state == 'Z' || status.state == 'X') return 0;
  // Its descriptors could tell that it uses another terminal. They are not looked at: who reads the description of an epoll instance
  // waits for its owner, without an end, and no signal ends the wait.
  return !is_in_container(process, text, sizeof(text));
}

static int visit_process(int processes, const char *name, void *context) {
  struct process_search *search = context;
  char *end;
  unsigned long number = strtoul(name, &end, 10);
  if (*end || number > INT32_MAX) return 0;
  // Processes of other users could otherwise block all questions to this one. They are not even opened: whoever has very many must not
  // make a search for somebody else slow.
  struct statx folder;
  if (describe(processes, name, &folder) != 0 || folder.stx_uid != search->terminal->user) return 0;
  int process = openat(processes, name, O_RDONLY | O_CLOEXEC);
  if (process < 0) return 0;
  int found = is_namesake(process, search->terminal);
  close(process);
  if (found) search->found = (uint32_t)number;
  return found;
}

enum namesake_result find_namesake(int processes, const struct terminal *terminal, uint32_t *process) {
  struct process_search search = {.terminal = terminal};
  int result = each_number(processes, ".", visit_process, &search);
  *process = search.found;
  return result < 0 ? NAMESAKE_UNREADABLE : result > 0 ? NAMESAKE : NO_NAMESAKE;
}
