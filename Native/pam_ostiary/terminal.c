#include "terminal.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool is_device(const struct stat *file, dev_t device) { return S_ISCHR(file->st_mode) && file->st_rdev == device; }

// The number of the terminal behind /dev/tty, which has a number of its own. TIOCGDEV tells it in the kernel's encoding.
static bool number_of(int terminal, dev_t *device) {
  unsigned number;
  if (ioctl(terminal, TIOCGDEV, &number)) return false;
  *device = makedev(number >> 8 & 0xFFF, (number & 0xFF) | (number >> 12 & 0xFFF00));
  return true;
}

// A screen lock that was started from a terminal has that terminal too, behind its own window. So the program must name the terminal
// (PAM_TTY), read from it, and stand in its foreground. `sudo -S` reads from a pipe.
static bool is_where_the_person_sits(int terminal, dev_t device, const char *path) {
  struct stat input, named;
  return !fstat(STDIN_FILENO, &input) && is_device(&input, device) && !stat(path, &named) && is_device(&named, device) &&
         tcgetpgrp(terminal) == getpgrp();
}

// The daemon takes a terminal by its own file alone: /dev/tty is one file for all.
static int open_own_file(const char *path, dev_t device) {
  struct stat file;
  int own = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (own < 0 || (!fstat(own, &file) && is_device(&file, device))) return own;
  close(own);
  return -1;
}

int open_terminal(const char *name) {
  // Programs write PAM_TTY with and without the folder.
  char path[64];
  int size = snprintf(path, sizeof path, "%s%s", *name == '/' ? "" : "/dev/", name);
  if (!*name || size < 0 || (size_t)size >= sizeof path || !isatty(STDIN_FILENO)) return -1;
  int controlling = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (controlling < 0) return -1;
  dev_t device;
  bool is_there = number_of(controlling, &device) && is_where_the_person_sits(controlling, device, path);
  close(controlling);
  return is_there ? open_own_file(path, device) : -1;
}
