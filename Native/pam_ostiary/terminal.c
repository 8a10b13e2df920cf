#include "terminal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// Programs write PAM_TTY with and without the folder.
static bool is_named(const char *name, dev_t device) {
  char path[64];
  int size = snprintf(path, sizeof path, "%s%s", *name == '/' ? "" : "/dev/", name);
  struct stat file;
  return *name && size > 0 && (size_t)size < sizeof path && !stat(path, &file) && S_ISCHR(file.st_mode) && file.st_rdev == device;
}

// A screen lock that was started from a terminal has that terminal too, behind its own window. So the program must name the terminal
// (PAM_TTY), read from it, and stand in its foreground. `sudo -S` reads from a pipe.
static bool is_where_the_person_sits(int terminal, const char *name) {
  unsigned number;
  struct stat input;
  if (ioctl(terminal, TIOCGDEV, &number) || fstat(STDIN_FILENO, &input) || !S_ISCHR(input.st_mode)) return false;
  // /dev/tty has a number of its own; TIOCGDEV tells that of the terminal behind it, in the kernel's encoding.
  dev_t device = makedev(number >> 8 & 0xFFF, (number & 0xFF) | (number >> 12 & 0xFFF00));
  return input.st_rdev == device && is_named(name, device) && tcgetpgrp(terminal) == getpgrp();
}

int open_terminal(const char *name) {
  if (!*name || !isatty(STDIN_FILENO)) return -1;
  int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || is_where_the_person_sits(terminal, name)) return terminal;
  close(terminal);
  return -1;
}
