#define _GNU_SOURCE
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "../shared/facts.h"

static const char *user_folders = "/run/user";
static const char *x11_folder = "/tmp/.X11-unix";

#ifdef OSTIARY_TEST_OPTIONS
void use_folders(const char *of_users, const char *of_x11) {
  user_folders = of_users;
  x11_folder = of_x11;
}
#endif

static const char wayland_prefix[] = "wayland-";
static const char cookie_prefix[] = ".mutter-Xwaylandauth.";
// packaging/system/xsession.d copies the cookies that other display managers put elsewhere.
static const char copied_cookies[] = "ostiary-xauthority";

// MARK: names

static int begins(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static int is_number(const char *text) {
  size_t length = strspn(text, "0123456789");
  return length >= 1 && length <= 3 && text[length] == 0;
}

int is_name(enum kind kind, const char *name) {
  if (kind == WAYLAND) return begins(name, wayland_prefix) && is_number(name + strlen(wayland_prefix));
  return name[0] == ':' && is_number(name + 1);
}

// The name of the file of an X server's socket, `X0`, as that of its display, `:0`, and back. Those of compositors are equal.
static void exchange_first(enum kind kind, char *name, char first) {
  if (kind == X11) name[0] = first;
}

// MARK: folders

static enum outcome refusal(int code, struct found *found) {
  found->code = code;
  return REFUSED;
}

// The folder must belong to the user. No link is followed.
static enum outcome open_folder(const char *path, uid_t user, int *folder, struct found *found) {
  struct statx status;
  *folder = openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (*folder < 0 && errno == ENOENT) return NONE;
  // A file or a link in its place.
  if (*folder < 0 && errno == ENOTDIR) return ANOTHER_OWNER;
  if (*folder < 0) return refusal(errno, found);
  if (describe(*folder, "", &status) == 0 && status.stx_uid == user) return CONNECTED;
  close(*folder);
  return ANOTHER_OWNER;
}

static enum outcome open_user_folder(uid_t user, int *folder, struct found *found) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof(path), "%s/%lu", user_folders, (unsigned long)user);
  if (length < 0 || (size_t)length >= sizeof(path)) return refusal(ENAMETOOLONG, found);
  return open_folder(path, user, folder, found);
}

// Calls `visit` with each name of the folder until it returns another number than 0. -1 with errno if the folder cannot be read.
static int each_name(int parent, const char *path, int (*visit)(int folder, const char *name, void *context), void *context) {
  _Alignas(struct dirent64) char entries[8192];
  int folder = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  int result = 0;
  long count = 0;
  while (result == 0 && (count = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
    for (long place = 0; place < count && result == 0;) {
      struct dirent64 *entry = (struct dirent64 *)(void *)(entries + place);
      place += entry->d_reclen;
      result = visit(parent, entry->d_name, context);
    }
  }
  int code = errno;
  close(folder);
  errno = code;
  return count < 0 ? -1 : 0;
}

// MARK: one socket

static int may_own(enum kind kind, uid_t user, uid_t owner) {
  // A display manager starts X servers as root.
  return owner == user || (kind == X11 && owner == 0);
}

// Connects to the socket that `handle` is of: a name could be another file's by now. Without a wait, because a compositor need not
// take connections.
static enum outcome connect_to_socket(enum kind kind, uid_t user, int handle, struct display *display, struct found *found) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct ucred listener;
  socklen_t length = sizeof(listener);
  snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", handle);
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof(address)) != 0) {
    int code = errno;
    if (connection >= 0) close(connection);
    return refusal(code, found);
  }
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0 || fcntl(connection, F_SETFL, 0) != 0) {
    int code = errno;
    close(connection);
    return refusal(code, found);
  }
  display->process = listener.pid;
  display->user = listener.uid;
  if (!may_own(kind, user, listener.uid)) {
    close(connection);
    return ANOTHER_OWNER;
  }
  found->descriptor = connection;
  return CONNECTED;
}

// On success, and if the listener is another user, its display is added to those that were found.
static enum outcome connect_to_file(enum kind kind, uid_t user, int folder, const char *file, struct found *found) {
  struct statx status;
  int handle = openat(folder, file, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (handle < 0) return errno == ENOENT ? NONE : refusal(errno, found);
  enum outcome outcome = NONE;
  if (describe(handle, "", &status) == 0 && S_ISSOCK(status.stx_mode)) {
    struct display *display = &found->displays[found->count];
    outcome = ANOTHER_OWNER;
    if (may_own(kind, user, status.stx_uid)) {
      outcome = connect_to_socket(kind, user, handle, display, found);
      if (outcome != REFUSED) {
        memset(display->name, 0, sizeof(display->name));
        memcpy(display->name, file, strnlen(file, MAXIMUM_NAME));
        exchange_first(kind, display->name, ':');
        found->count++;
      }
    }
  }
  close(handle);
  return outcome;
}

// MARK: the only one

struct search {
  enum kind kind;
  uid_t user;
  struct found *found;
  int connection;  // to the first one
  int code;        // why one that somebody serves did not take the connection
};

static int visit_display(int folder, const char *file, void *context) {
  struct search *search = context;
  struct found *found = search->found;
  char name[MAXIMUM_NAME + 1] = "";
  if (strlen(file) > MAXIMUM_NAME || (search->kind == X11 && file[0] != 'X')) return 0;
  memcpy(name, file, strlen(file));
  exchange_first(search->kind, name, ':');
  if (!is_name(search->kind, name)) return 0;
  unsigned before = found->count;
  enum outcome outcome = connect_to_file(search->kind, search->user, folder, file, found);
  // Who ends by accident leaves the socket's file.
  if (outcome == REFUSED && found->code != ECONNREFUSED) search->code = found->code;
  // Nobody knows whose session an X server of root's shows, so it is found by its name alone.
  if (outcome != CONNECTED || found->displays[before].user != search->user) {
    if (outcome == CONNECTED) close(found->descriptor);
    found->count = before;
    return 0;
  }
  if (search->connection < 0) {
    search->connection = found->descriptor;
  } else {
    close(found->descriptor);
  }
  return found->count == MAXIMUM_FOUND;
}

static enum outcome find_only(enum kind kind, uid_t user, int folder, struct found *found) {
  struct search search = {.kind = kind, .user = user, .found = found, .connection = -1};
  int code = each_name(folder, ".", visit_display, &search) == 0 ? search.code : errno;
  found->descriptor = -1;
  found->code = 0;
  if (code != 0 && found->count == 0) return refusal(code, found);
  if (found->count == 1) {
    found->descriptor = search.connection;
    return CONNECTED;
  }
  if (search.connection >= 0) close(search.connection);
  return found->count == 0 ? NONE : SEVERAL;
}

enum outcome connect_to_display(enum kind kind, uid_t user, const char *name, struct found *found) {
  int folder;
  memset(found, 0, sizeof(*found));
  found->descriptor = -1;
  enum outcome outcome = kind == WAYLAND ? open_user_folder(user, &folder, found) : open_folder(x11_folder, 0, &folder, found);
  if (outcome != CONNECTED) return outcome;
  if (*name) {
    char file[MAXIMUM_NAME + 1] = "";
    memcpy(file, name, strnlen(name, MAXIMUM_NAME));
    exchange_first(kind, file, 'X');
    outcome = connect_to_file(kind, user, folder, file, found);
  } else {
    outcome = find_only(kind, user, folder, found);
  }
  close(folder);
  return outcome;
}

// MARK: cookies

struct cookies {
  uid_t user;
  size_t length;
  unsigned char bytes[MAXIMUM_COOKIES];
};

// Whole files alone: what is behind a cut entry would be read wrong.
static void read_whole(int file, struct cookies *cookies) {
  size_t length = cookies->length;
  for (;;) {
    ssize_t count = read(file, cookies->bytes + length, sizeof(cookies->bytes) - length);
    if (count == 0) break;
    if (count < 0) return;
    length += (size_t)count;
    if (length == sizeof(cookies->bytes)) return;
  }
  cookies->length = length;
}

static void add_cookies(int folder, const char *name, struct cookies *cookies) {
  struct statx status;
  // Opening a pipe or a device would do something. So the file is looked at first, and opened through its handle.
  int handle = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (handle < 0) return;
  if (describe(handle, "", &status) == 0 && S_ISREG(status.stx_mode) && status.stx_uid == cookies->user) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
    int file = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      read_whole(file, cookies);
      close(file);
    }
  }
  close(handle);
}

static int visit_cookie(int folder, const char *name, void *context) {
  if (begins(name, cookie_prefix)) add_cookies(folder, name, context);
  return 0;
}

// A copy that its receiver can read and nobody can change.
static int sealed_copy(const struct cookies *cookies) {
  int copy = memfd_create("xauthority", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (copy < 0) return -1;
  // A program reads it by its name below /proc, and so from the beginning.
  if (write(copy, cookies->bytes, cookies->length) == (ssize_t)cookies->length &&
      fcntl(copy, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0) {
    return copy;
  }
  close(copy);
  return -1;
}

enum outcome copy_cookies(uid_t user, struct found *found) {
  static struct cookies cookies;
  int folder, gdm;
  memset(found, 0, sizeof(*found));
  memset(&cookies, 0, sizeof(cookies));
  found->descriptor = -1;
  cookies.user = user;
  enum outcome outcome = open_user_folder(user, &folder, found);
  if (outcome != CONNECTED) return outcome;
  int code = each_name(folder, ".", visit_cookie, &cookies) == 0 ? 0 : errno;
  add_cookies(folder, copied_cookies, &cookies);
  gdm = openat(folder, "gdm", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (gdm >= 0) {
    add_cookies(gdm, "Xauthority", &cookies);
    close(gdm);
  }
  close(folder);
  if (cookies.length == 0) return code == 0 ? NONE : refusal(code, found);
  found->descriptor = sealed_copy(&cookies);
  found->code = found->descriptor < 0 ? errno : 0;
  explicit_bzero(&cookies, sizeof(cookies));
  return found->descriptor < 0 ? REFUSED : CONNECTED;
}
