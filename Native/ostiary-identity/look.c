#define _GNU_SOURCE
#include "look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/facts.h"
#include "text.h"

// A process that executes another program in the midst of a look is looked at again.
enum { MAXIMUM_LOOKS = 3 };

enum result meaning_of(int code) {
  switch (code) {
    case ENOENT:
    case ESRCH:
      return ABSENT;
    case EACCES:
    case EPERM:
      return REFUSED;
    default:
      return UNREADABLE;
  }
}

static enum result find_namespace(int handle, const char *name, uint64_t *inode) {
  struct statx status;
  if (describe(handle, name, &status) != 0) return meaning_of(errno);
  *inode = status.stx_ino;
  return KNOWN;
}

// The name of an open file, as the kernel tells it: as long as the file is open, nothing takes its place.
static enum result find_path(int descriptors, int file, struct look *look) {
  char name[16];
  snprintf(name, sizeof(name), "%d", file);
  ssize_t count = readlinkat(descriptors, name, look->path, sizeof(look->path));
  if (count < 0) return meaning_of(errno);
  // A path that fills the whole place may have been cut.
  if (count == 0 || (size_t)count == sizeof(look->path)) return UNREADABLE;
  look->path_length = (uint16_t)count;
  return KNOWN;
}

// The executed file, and the name of this very file. Two looks through /proc/PID/exe could be at two files: a process can execute
// programs in turns. The handle (O_PATH) opens nothing: no server of a file system hears of it, and nothing can be read from it.
static enum result find_file(int handle, int descriptors, struct look *look) {
  int file = openat(handle, "exe", O_PATH | O_CLOEXEC);
  if (file < 0) return meaning_of(errno);
  enum result result = describe(file, "", &look->executable) == 0 ? KNOWN : meaning_of(errno);
  if (result == KNOWN) result = find_path(descriptors, file, look);
  close(file);
  return result;
}

static void close_all(struct look *look) {
  for (unsigned i = 0; i < look->descriptor_count; i++) close(look->descriptors[i]);
  look->descriptor_count = look->passed = 0;
}

// A file that cannot be opened is left out: the daemon sees by the bits that it has to ask each time.
static enum result open_files(int handle, struct look *look) {
  static const struct {
    const char *name;
    unsigned bit;
  } files[] = {{"maps", PASSED_MAPS}, {"stat", PASSED_STAT}, {"cgroup", PASSED_CGROUP}};
  for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    int descriptor = openat(handle, files[i].name, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
      look->descriptors[look->descriptor_count++] = descriptor;
      look->passed |= files[i].bit;
    } else if (meaning_of(errno) == ABSENT) {
      return ABSENT;
    }
  }
  return KNOWN;
}

// The owner of a process's folder is its effective user, also of a process that nobody may dump.
static enum result find_user(int handle, uint32_t *user) {
  struct statx folder;
  if (describe(handle, "", &folder) != 0) return meaning_of(errno);
  *user = folder.stx_uid;
  return KNOWN;
}

// Whether the first number behind `key` was found.
static int find_number(const char *text, const char *key, uint32_t *number) {
  const char *place = strstr(text, key);
  if (!place) return 0;
  place += strlen(key);
  char *end;
  unsigned long value = strtoul(place, &end, 10);
  if (end == place || *end != '\t' || value > UINT32_MAX) return 0;
  *number = (uint32_t)value;
  return 1;
}

// The real user and the real group: the first numbers behind `Uid:` and `Gid:` of proc_pid_status(5). The kernel writes no line end of the
// process's name into that file. The lines are near the beginning, so a text that is too long has them, too.
static enum result find_real_ids(int handle, struct look *look) {
  static char text[MAXIMUM_TEXT];
  if (read_text(handle, "status", text, sizeof(text)) < 0 && errno != EFBIG) return meaning_of(errno) == ABSENT ? ABSENT : KNOWN;
  look->knows_real_ids = find_number(text, "\nUid:\t", &look->real_user) && find_number(text, "\nGid:\t", &look->real_group);
  return KNOWN;
}

// The user whose login began the process: proc_pid_loginuid(5). Some kernels are built without it, so its absence says nothing.
static void find_login(int handle, struct look *look) {
  char text[32];
  if (read_text(handle, "loginuid", text, sizeof(text)) <= 0) return;
  char *end;
  unsigned long user = strtoul(text, &end, 10);
  look->knows_login = end != text && (*end == 0 || *end == '\n') && user <= UINT32_MAX;
  if (look->knows_login) look->login = (uint32_t)user;
}

static enum result look_once(int handle, int descriptors, int passes_descriptors, struct look *look) {
  enum result result = find_user(handle, &look->user);
  if (result == KNOWN) result = find_file(handle, descriptors, look);
  if (result == KNOWN) result = find_namespace(handle, "ns/mnt", &look->mount_namespace);
  if (result == KNOWN) result = find_namespace(handle, "ns/pid", &look->pid_namespace);
  if (result == KNOWN) result = find_namespace(handle, "ns/user", &look->user_namespace);
  if (result == KNOWN && passes_descriptors) result = find_real_ids(handle, look);
  if (result == KNOWN && passes_descriptors) find_login(handle, look);
  if (result == KNOWN && passes_descriptors) result = open_files(handle, look);
  return result;
}

// Whether nothing has changed since `look` began. The folder of an ended process belongs to root, so the user counts only if the
// process executes something afterwards.
static enum result look_again(int handle, const struct look *look, int *is_same) {
  struct statx executable;
  uint32_t user;
  enum result result = find_user(handle, &user);
  if (result == KNOWN && describe(handle, "exe", &executable) != 0) result = meaning_of(errno);
  if (result != KNOWN) return result;
  *is_same = device_of(&look->executable) == device_of(&executable) && look->executable.stx_ino == executable.stx_ino &&
             look->user == user;
  return KNOWN;
}

enum result look_at(int handle, int descriptors, int passes_descriptors, struct look *look) {
  for (int tries = 0; tries < MAXIMUM_LOOKS; tries++) {
    int is_same = 0;
    look->descriptor_count = look->passed = 0;
    look->knows_real_ids = look->knows_login = 0;
    enum result result = look_once(handle, descriptors, passes_descriptors, look);
    if (result == KNOWN) result = look_again(handle, look, &is_same);
    if (result == KNOWN && is_same) return KNOWN;
    close_all(look);
    if (result != KNOWN) return result;
  }
  return UNREADABLE;
}
