// Starts the command of `ostiary run`: the steps between fork(2) and execve(2), where no Swift may run, and signals with a word
// about their sender. Functions return -1 with errno set on failure unless they say otherwise.
#ifndef OSTIARY_COMMAND_LAUNCH_H
#define OSTIARY_COMMAND_LAUNCH_H

#include <stddef.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

// The child's way to the command. A step that failed is reported with its errno.
enum {
  OSTIARY_LAUNCH_NAMESPACE = 1,  // unshare(2)
  OSTIARY_LAUNCH_IDENTITY = 2,   // /proc/self/uid_map and its like
  OSTIARY_LAUNCH_MOUNT = 3,      // mount(2)
  OSTIARY_LAUNCH_FILE = 4,       // a file of the mount
  OSTIARY_LAUNCH_SECRET = 5,     // the way of a secret to the child
  OSTIARY_LAUNCH_EXECUTE = 6,    // execve(2)
};

// What the child says on its socket, one byte each. After OSTIARY_LAUNCH_FAILED come the step and the errno, as two ints.
enum {
  OSTIARY_LAUNCH_OPENED = 'o',  // with the descriptor of the next file of the mount, open for reading and writing
  OSTIARY_LAUNCH_FAILED = 'f',
};

// A command that is being prepared. No function keeps a pointer that it was given; running out of memory ends the process.
typedef struct ostiary_launch ostiary_launch;

// The command has this process's environment, as it is now.
ostiary_launch *ostiary_launch_new(const char *path);
void ostiary_launch_free(ostiary_launch *launch);

void ostiary_launch_add_argument(ostiary_launch *launch, const char *argument);
// Sets a variable, in place of one of the same name.
void ostiary_launch_set_variable(ostiary_launch *launch, const char *name, const char *value);
// The command inherits the descriptor under its own number.
void ostiary_launch_pass(ostiary_launch *launch, int descriptor);

// A variable whose value the child reads from its socket: `count` bytes, in the order of the calls, before those of files.
void ostiary_launch_add_secret_variable(ostiary_launch *launch, const char *name, size_t count);
// Mounts a file system in memory at `folder`, for the command and its children alone. Memory of this kind is never written to swap
// space (ramfs).
void ostiary_launch_mount(ostiary_launch *launch, const char *folder);
// A file of the mount, with mode 0400, whose `count` bytes the child reads from its socket, in the order of the calls.
void ostiary_launch_add_secret_file(ostiary_launch *launch, const char *path, size_t count);

// Starts the child, which gets SIGTERM when the calling thread ends. `socket` is the child's end of a stream socket: the child reads
// the secrets from it and reports on it, and it is closed when the command executes. Noted signals are at their defaults again in the child.
pid_t ostiary_launch_start(const ostiary_launch *launch, int socket);

// One signal that arrived.
typedef struct {
  int number;
  int is_from_process;  // 0 when the kernel sent it, as it does for the keys of a terminal: then the whole process group got it
} ostiary_noted_signal;

// From now on SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP and SIGCHLD do nothing but to come out of the descriptor
// that is returned, as values of the type above. Signals that are ignored stay so, but SIGCHLD. To be called once.
int ostiary_note_signals(void);

// Reads one noted signal, without waiting: 1, or 0 when there is none.
int ostiary_next_signal(int descriptor, ostiary_noted_signal *signal);

// From now on this process writes no core, and neither does a child until it executes the command, which has the former limit. To be
// called once, before secrets are there. The process stays dumpable: the daemon could not see its program otherwise.
int ostiary_launch_hold_back_cores(void);

// Makes this process undumpable, without cores. Handlers of signals stay, also those that note them. 0, or -1 with errno.
int ostiary_launch_forbid_cores(void);

// Stops this process until it is continued.
void ostiary_stop_self(void);

#pragma clang assume_nonnull end
#endif
