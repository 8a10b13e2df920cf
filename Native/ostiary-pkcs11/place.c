#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

// The build names where the door is installed. A released module takes no path from the environment and searches none.
#ifndef OSTIARY_PKCS11D
#define OSTIARY_PKCS11D "/usr/libexec/ostiary/ostiary-pkcs11d"
#endif
#ifndef OSTIARY_USER_UNIT
#define OSTIARY_USER_UNIT "/usr/lib/systemd/user/ostiary-pkcs11d.socket"
#endif
#ifndef OSTIARY_SYSTEMCTL
#define OSTIARY_SYSTEMCTL "/usr/bin/systemctl"
#endif

#ifndef OSTIARY_START_LIMIT
#define OSTIARY_START_LIMIT 15000
#endif

enum { START_LIMIT = OSTIARY_START_LIMIT, LOOK_INTERVAL_OF_START = 5 };

static bool is_folder_of_this_user(const struct stat *file) {
  return S_ISDIR(file->st_mode) && file->st_uid == geteuid() && !(file->st_mode & 077);
}

static bool fits(int length, size_t size) { return length > 0 && (size_t)length < size; }

// Home by the password database, as the door finds it.
static bool find_home(char *folder, size_t size) {
  struct passwd entry, *found = NULL;
  char buffer[4096];
  if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) || !found || found->pw_dir[0] != '/') return false;
  return fits(snprintf(folder, size, "%s/.local/state/ostiary/run", found->pw_dir), size);
}

// The only variable that is read; a program with more rights than its caller reads none.
bool find_place(struct place *place) {
  *place = (struct place){.address = {.sun_family = AF_UNIX}};
  const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
  struct stat file;
  if (runtime && runtime[0] == '/' && !lstat(runtime, &file) && is_folder_of_this_user(&file)) {
    if (!fits(snprintf(place->runtime, sizeof place->runtime, "%s", runtime), sizeof place->runtime)) return false;
    if (!fits(snprintf(place->folder, sizeof place->folder, "%s/ostiary", runtime), sizeof place->folder)) return false;
  } else if (!find_home(place->folder, sizeof place->folder)) {
    return false;
  }
  char *path = place->address.sun_path;
  return fits(snprintf(path, sizeof place->address.sun_path, "%s/pkcs11.sock", place->folder), sizeof place->address.sun_path);
}

enum place_state look_at_socket(const struct place *place) {
  struct stat file;
  if (lstat(place->folder, &file)) return errno == ENOENT ? PLACE_ABSENT : PLACE_FOREIGN;
  if (!is_folder_of_this_user(&file)) return PLACE_FOREIGN;
  if (lstat(place->address.sun_path, &file)) return errno == ENOENT ? PLACE_ABSENT : PLACE_FOREIGN;
  return S_ISSOCK(file.st_mode) && file.st_uid == geteuid() ? PLACE_USABLE : PLACE_FOREIGN;
}

// MARK: starting it

// No signal ignored or blocked, no terminal, no descriptor of the host but for the null device.
static bool spawn(pid_t *child, const char *const *arguments, const char *const *environment) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions)) return false;
  if (posix_spawnattr_init(&attributes)) {
    posix_spawn_file_actions_destroy(&actions);
    return false;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  bool is_started =
      !posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) &&
      !posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) &&
      !posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) &&
      !posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1) && !posix_spawnattr_setsigmask(&attributes, &none) &&
      !posix_spawnattr_setsigdefault(&attributes, &all) &&
      !posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID) &&
      !posix_spawn(child, arguments[0], &actions, &attributes, (char **)(uintptr_t)arguments, (char **)(uintptr_t)environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return is_started;
}

// The host's own handler may have reaped it already (ECHILD); that is as good.
static bool reap(pid_t child, int flags) {
  pid_t reaped;
  do reaped = waitpid(child, NULL, flags);
  while (reaped < 0 && errno == EINTR);
  return reaped != 0;
}

// Runs a program to its end: it leaves no zombie.
static bool run(const char *const *arguments, const char *const *environment) {
  pid_t child;
  if (!spawn(&child, arguments, environment)) return false;
  const struct timespec pause = {.tv_nsec = LOOK_INTERVAL_OF_START * 1000000L};
  for (moment deadline = now() + START_LIMIT; now() < deadline; nanosleep(&pause, NULL)) {
    if (reap(child, WNOHANG)) return true;
  }
  kill(child, SIGKILL);
  reap(child, 0);
  return false;
}

static bool exists(const char *path) { return !access(path, F_OK); }

// Nothing of the host's environment goes along but the place itself.
bool start_door(const struct place *place) {
  char runtime[sizeof place->runtime + sizeof "XDG_RUNTIME_DIR="] = "";
  char manager[sizeof place->runtime + sizeof "/systemd/private"] = "";
  const char *environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no", NULL, NULL};
  if (place->runtime[0]) {
    snprintf(runtime, sizeof runtime, "XDG_RUNTIME_DIR=%s", place->runtime);
    snprintf(manager, sizeof manager, "%s/systemd/private", place->runtime);
    environment[3] = runtime;
  }
  // The service manager keeps the door apart from this program's limits and end.
  if (place->runtime[0] && exists(manager) && exists(OSTIARY_USER_UNIT)) {
    static const char *const arguments[] = {OSTIARY_SYSTEMCTL, "--user", "start", "ostiary-pkcs11d.socket", NULL};
    if (run(arguments, environment) && look_at_socket(place) == PLACE_USABLE) return true;
  }
  static const char *const arguments[] = {OSTIARY_PKCS11D, "--detach", NULL};
  // A door that somebody else has started meanwhile makes this one end with a failure, and serves as well.
  return run(arguments, environment);
}
