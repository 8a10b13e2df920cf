#define _GNU_SOURCE
#include "command_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// MARK: a command that is being prepared

struct secret {
  size_t variable;  // its place in the environment; for a file SIZE_MAX
  size_t offset;    // of the value behind NAME=
  char *path;       // of a file
  size_t count;
};

struct ostiary_launch {
  char *path;
  char **arguments;
  size_t argument_count;
  char **environment;
  size_t variable_count;
  int *descriptors;
  size_t descriptor_count;
  struct secret *secrets;
  size_t secret_count;
  char *folder;
};

static void *checked(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

// Room for one element more, and for a null pointer behind it.
static void *grown(void *array, size_t count, size_t size) { return checked(reallocarray(array, count + 2, size)); }

static void add_string(char ***strings, size_t *count, char *string) {
  *strings = grown(*strings, *count, sizeof **strings);
  (*strings)[(*count)++] = string;
  (*strings)[*count] = NULL;
}

ostiary_launch *ostiary_launch_new(const char *path) {
  ostiary_launch *launch = checked(calloc(1, sizeof *launch));
  launch->path = checked(strdup(path));
  for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
    add_string(&launch->environment, &launch->variable_count, checked(strdup(*variable)));
  }
  return launch;
}

void ostiary_launch_free(ostiary_launch *launch) {
  for (size_t i = 0; i < launch->argument_count; i++) free(launch->arguments[i]);
  for (size_t i = 0; i < launch->variable_count; i++) free(launch->environment[i]);
  for (size_t i = 0; i < launch->secret_count; i++) free(launch->secrets[i].path);
  free(launch->path);
  free(launch->arguments);
  free(launch->environment);
  free(launch->descriptors);
  free(launch->secrets);
  free(launch->folder);
  free(launch);
}

void ostiary_launch_add_argument(ostiary_launch *launch, const char *argument) {
  add_string(&launch->arguments, &launch->argument_count, checked(strdup(argument)));
}

// Puts NAME= and `room` zero bytes into the environment; returns its place there.
static size_t place_variable(ostiary_launch *launch, const char *name, size_t room) {
  size_t length = strlen(name);
  char *variable = checked(calloc(1, length + 1 + room + 1));
  memcpy(variable, name, length);
  variable[length] = '=';
  for (size_t i = 0; i < launch->variable_count; i++) {
    if (strncmp(launch->environment[i], variable, length + 1) == 0) {
      free(launch->environment[i]);
      launch->environment[i] = variable;
      return i;
    }
  }
  add_string(&launch->environment, &launch->variable_count, variable);
  return launch->variable_count - 1;
}

void ostiary_launch_set_variable(ostiary_launch *launch, const char *name, const char *value) {
  size_t place = place_variable(launch, name, strlen(value));
  strcpy(launch->environment[place] + strlen(name) + 1, value);
}

void ostiary_launch_pass(ostiary_launch *launch, int descriptor) {
  launch->descriptors = grown(launch->descriptors, launch->descriptor_count, sizeof *launch->descriptors);
  launch->descriptors[launch->descriptor_count++] = descriptor;
}

static void add_secret(ostiary_launch *launch, struct secret secret) {
  launch->secrets = grown(launch->secrets, launch->secret_count, sizeof *launch->secrets);
  launch->secrets[launch->secret_count++] = secret;
}

void ostiary_launch_add_secret_variable(ostiary_launch *launch, const char *name, size_t count) {
  size_t place = place_variable(launch, name, count);
  add_secret(launch, (struct secret){.variable = place, .offset = strlen(name) + 1, .path = NULL, .count = count});
}

void ostiary_launch_mount(ostiary_launch *launch, const char *folder) {
  free(launch->folder);
  launch->folder = checked(strdup(folder));
}

void ostiary_launch_add_secret_file(ostiary_launch *launch, const char *path, size_t count) {
  add_secret(launch, (struct secret){.variable = SIZE_MAX, .offset = 0, .path = checked(strdup(path)), .count = count});
}

// MARK: signals

static const int noted[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCHLD};
enum { NOTED_COUNT = sizeof noted / sizeof noted[0] };
static int noting = -1;

static void note(int number, siginfo_t *information, void *context) {
  (void)context;
  int before = errno;
  // si_code is positive for signals of the kernel alone (sigaction(2)).
  ostiary_noted_signal signal = {.number = number, .is_from_process = information->si_code <= 0};
  // A full pipe holds 8,000 signals that nobody has looked at; one more changes nothing.
  (void)!write(noting, &signal, sizeof signal);
  errno = before;
}

int ostiary_note_signals(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  noting = ends[1];
  struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < NOTED_COUNT; i++) {
    struct sigaction former;
    if (sigaction(noted[i], NULL, &former) != 0) return -1;
    // With SIGCHLD ignored, nobody learns how a child ended.
    if (former.sa_handler == SIG_IGN && noted[i] != SIGCHLD) continue;
    if (sigaction(noted[i], &action, NULL) != 0) return -1;
  }
  return ends[0];
}

int ostiary_next_signal(int descriptor, ostiary_noted_signal *signal) {
  ssize_t count;
  do count = read(descriptor, signal, sizeof *signal);
  while (count < 0 && errno == EINTR);
  return count == (ssize_t)sizeof *signal;
}

void ostiary_stop_self(void) { kill(getpid(), SIGSTOP); }

static void restore_signals(void) {
  for (int i = 0; i < NOTED_COUNT; i++) {
    struct sigaction present;
    if (sigaction(noted[i], NULL, &present) == 0 && present.sa_sigaction == note) signal(noted[i], SIG_DFL);
  }
}

// The limit that the command gets back.
static struct rlimit former_cores;
static int are_cores_held_back;

int ostiary_launch_hold_back_cores(void) {
  if (getrlimit(RLIMIT_CORE, &former_cores) != 0) return -1;
  struct rlimit none = {.rlim_cur = 0, .rlim_max = former_cores.rlim_max};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
  are_cores_held_back = 1;
  return 0;
}

static int return_cores(void) { return are_cores_held_back ? setrlimit(RLIMIT_CORE, &former_cores) : 0; }

int ostiary_launch_forbid_cores(void) {
  struct rlimit none = {0, 0};
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return -1;
  return setrlimit(RLIMIT_CORE, &none);
}

// MARK: the child, between fork and execve

// Only calls that are safe after fork in a process with threads (signal-safety(7)).
struct preparation {
  const ostiary_launch *launch;
  int socket;
  pid_t parent;
  char user_map[64];
  char group_map[64];
};

static _Noreturn void fail(int socket, int step) {
  struct {
    char kind;
    int numbers[2];
  } __attribute__((packed)) report = {OSTIARY_LAUNCH_FAILED, {step, errno}};
  (void)!send(socket, &report, sizeof report, MSG_NOSIGNAL);
  _exit(127);
}

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t written = write(file, text, strlen(text));
  int failure = errno;
  close(file);
  errno = failure;
  return written == (ssize_t)strlen(text) ? 0 : -1;
}

// Mounts of an own: with the right to it as such, as root has it; otherwise in a user namespace where this user stays who they are.
static void enter_namespace(const struct preparation *preparation) {
  if (unshare(CLONE_NEWNS) == 0) return;
  if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) fail(preparation->socket, OSTIARY_LAUNCH_NAMESPACE);
  if (write_text("/proc/self/setgroups", "deny") != 0 || write_text("/proc/self/uid_map", preparation->user_map) != 0 ||
      write_text("/proc/self/gid_map", preparation->group_map) != 0) {
    fail(preparation->socket, OSTIARY_LAUNCH_IDENTITY);
  }
}

static void mount_memory(const struct preparation *preparation) {
  enter_namespace(preparation);
  // Nothing that is mounted here gets out. What others mount and unmount comes in.
  if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0 ||
      mount("ostiary", preparation->launch->folder, "ramfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") != 0) {
    fail(preparation->socket, OSTIARY_LAUNCH_MOUNT);
  }
}

static void read_all(int socket, char *place, size_t count) {
  while (count > 0) {
    ssize_t got = read(socket, place, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = EPIPE;
      fail(socket, OSTIARY_LAUNCH_SECRET);
    }
    place += got;
    count -= (size_t)got;
  }
}

static void pass_file(int socket, int file) {
  char kind = OSTIARY_LAUNCH_OPENED;
  struct iovec bytes = {&kind, 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr alignment;
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &file, sizeof file);
  ssize_t sent;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent != 1) fail(socket, OSTIARY_LAUNCH_FILE);
}

static void write_file(int socket, const struct secret *secret) {
  int file = open(secret->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
  if (file < 0) fail(socket, OSTIARY_LAUNCH_FILE);
  char part[4096];
  for (size_t left = secret->count; left > 0;) {
    size_t count = left < sizeof part ? left : sizeof part;
    read_all(socket, part, count);
    if (write(file, part, count) != (ssize_t)count) fail(socket, OSTIARY_LAUNCH_FILE);
    left -= count;
  }
  explicit_bzero(part, sizeof part);
  pass_file(socket, file);
  close(file);
}

static void take_secrets(const struct preparation *preparation) {
  const ostiary_launch *launch = preparation->launch;
  for (size_t i = 0; i < launch->secret_count; i++) {
    const struct secret *secret = &launch->secrets[i];
    // This process's own copy of the page: the parent never has the value there.
    if (secret->path == NULL) read_all(preparation->socket, launch->environment[secret->variable] + secret->offset, secret->count);
  }
  for (size_t i = 0; i < launch->secret_count; i++) {
    if (launch->secrets[i].path != NULL) write_file(preparation->socket, &launch->secrets[i]);
  }
  // Others of this mount have no business in the folder, and the command need not put anything there.
  if (launch->folder != NULL && chmod(launch->folder, 0500) != 0) fail(preparation->socket, OSTIARY_LAUNCH_FILE);
}

static _Noreturn void become_command(const struct preparation *preparation, const sigset_t *mask) {
  const ostiary_launch *launch = preparation->launch;
  restore_signals();
  sigprocmask(SIG_SETMASK, mask, NULL);
  if (launch->folder != NULL) mount_memory(preparation);
  // Without the parent nobody wipes what the command leaves. If it has ended already, no signal comes.
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != preparation->parent) _exit(127);
  take_secrets(preparation);
  for (size_t i = 0; i < launch->descriptor_count; i++) {
    if (fcntl(launch->descriptors[i], F_SETFD, 0) != 0) fail(preparation->socket, OSTIARY_LAUNCH_SECRET);
  }
  // As late as possible: until here a signal such as SIGQUIT would write the secrets of the environment to a file.
  if (return_cores() != 0) fail(preparation->socket, OSTIARY_LAUNCH_EXECUTE);
  execve(launch->path, launch->arguments, launch->environment);
  fail(preparation->socket, OSTIARY_LAUNCH_EXECUTE);
}

pid_t ostiary_launch_start(const ostiary_launch *launch, int socket) {
  struct preparation preparation = {.launch = launch, .socket = socket, .parent = getpid()};
  snprintf(preparation.user_map, sizeof preparation.user_map, "%u %u 1", geteuid(), geteuid());
  snprintf(preparation.group_map, sizeof preparation.group_map, "%u %u 1", getegid(), getegid());
  // A noted signal must not run its handler in the child, whose pipe is the parent's.
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  pid_t child = fork();
  if (child == 0) become_command(&preparation, &mask);
  int failure = errno;
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  errno = failure;
  return child;
}
