// Linux calls that Swift's Glibc module does not show: what glibc puts behind _GNU_SOURCE, the CMSG macros, and calls
// newer than Debian 12's headers. Each function returns -1 with errno set on failure unless it says otherwise.
#ifndef OSTIARY_LINUX_SHIMS_H
#define OSTIARY_LINUX_SHIMS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma clang assume_nonnull begin

// How many descriptors one receive takes at most, and one send.
enum { OSTIARY_PASSED_DESCRIPTORS = 3 };

// Who wrote the bytes that a receive returned, as the kernel says (SCM_CREDENTIALS).
typedef struct {
  int has_credentials;  // 0 when the kernel attached none
  pid_t pid;
  uid_t uid;
  gid_t gid;
  int descriptors[OSTIARY_PASSED_DESCRIPTORS];  // in the order of the sender; close-on-exec; the receiver owns them
  int descriptor_count;
  int refused_descriptors;  // not 0 when descriptors were sent that are not among these
} ostiary_sender;

// socket(AF_UNIX, SOCK_STREAM) that is close-on-exec from birth.
int ostiary_unix_socket(void);

// bind(2) with mode 0600 from birth: fchmod before bind, so that no umask is touched and no moment is open to others.
int ostiary_bind_private(int socket, const char *path);

int ostiary_connect(int socket, const char *path);

// accept4(2), close-on-exec.
int ostiary_accept(int socket);

// Asks the kernel to attach the sender's credentials to everything that is received on `socket`.
int ostiary_pass_credentials(int socket);

// SO_PEERCRED.
int ostiary_peer_credentials(int socket, pid_t *pid, uid_t *uid, gid_t *gid);

// SO_PEERPIDFD (Linux 6.5); -1 with ENOPROTOOPT on older kernels.
int ostiary_peer_pidfd(int socket);

// The type of a listening Unix socket, and the path that it is bound to: an empty one for an abstract address or none. `capacity`
// must be larger than any such path (108). ENOTSOCK for another file, EAFNOSUPPORT for another family, EINVAL for a socket that
// does not listen.
int ostiary_listener(int descriptor, int *type, char *path, size_t capacity);

// What may come beside the bytes of a receive.
enum {
  OSTIARY_RECEIVE_SENDER = 1,      // the sender's credentials; the socket must ask for them (ostiary_pass_credentials)
  OSTIARY_RECEIVE_DESCRIPTOR = 2,  // one descriptor
  OSTIARY_RECEIVE_DESCRIPTORS = 4,  // up to OSTIARY_PASSED_DESCRIPTORS
};

// How many descriptors this process keeps at most because it cannot close them (see ostiary_receive).
enum { OSTIARY_KEPT_DESCRIPTORS = 32 };

// recvmsg(2) that also yields what `expected` names. The kernel itself drops every other descriptor that was sent: it never
// gets a number in this process. Once this process keeps OSTIARY_KEPT_DESCRIPTORS descriptors that it cannot close, it takes
// no more of them, and a descriptor that was sent counts as none.
ssize_t ostiary_receive(int socket, void *buffer, size_t capacity, int expected, ostiary_sender *sender);

// How many descriptors this process keeps because closing them would end record locks on its own files.
int ostiary_kept_descriptors(void);

// send(2) with MSG_NOSIGNAL; sendmsg(2) with descriptors attached when `number` is not 0. More than
// OSTIARY_PASSED_DESCRIPTORS are EINVAL.
ssize_t ostiary_send(int socket, const void *bytes, size_t count, const int *_Nullable descriptors, int number);

// Puts /dev/null wherever descriptor 0, 1 or 2 is closed, so that no socket or file opened later gets such a number and is
// taken for a standard stream. It is opened the wrong way round: reading from it, or writing to it, fails with EBADF as it would
// have on the closed descriptor. To be called before anything is opened.
int ostiary_occupy_standard_descriptors(void);

// The fatal signals back to SIG_DFL, so that no runtime's backtrace prints memory. For programs that must stay dumpable: a
// process that is not hides its executable from the daemon.
void ostiary_silence_crashes(void);

// PR_SET_DUMPABLE 0, RLIMIT_CORE 0, and the fatal signals back to SIG_DFL, so that neither a core nor a runtime's
// backtrace can show memory.
int ostiary_forbid_dumps(void);

// PR_SET_NO_NEW_PRIVS: nothing that this process or its children execute gains rights, through setuid for instance. It cannot
// be taken back.
int ostiary_forbid_new_privileges(void);

// Makes the allocator overwrite freed memory (mallopt M_PERTURB), because libraries hold copies of keys that they do
// not wipe.
void ostiary_overwrite_freed_memory(void);

// How many heaps the allocator makes (mallopt M_ARENA_MAX); by default up to eight for each processor, as threads come.
void ostiary_limit_heaps(int count);

// Gives free memory back to the system (malloc_trim).
void ostiary_trim_heaps(void);

// Takes the code and constants of this program and its libraries out of this process's memory. What is used again comes back from the
// kernel's cache of files, without a read. For a program that is idle most of the time, after a start that needed much once.
void ostiary_release_code(void);

// Names the calling thread (PR_SET_NAME); the kernel keeps the first 15 bytes.
void ostiary_name_thread(const char *name);

// 1 when this process is dumpable, 0 when it is not.
int ostiary_is_dumpable(void);

// Sends `signal` to this process when its parent dies.
int ostiary_die_with_parent(int signal);

// mmap of `size` bytes that are kept out of cores and of forked children, and locked as far as limits allow.
// Returns NULL on failure; `locked` says whether locking succeeded.
void *_Nullable ostiary_map_secret_pages(size_t size, int *locked);
void ostiary_unmap_secret_pages(void *address, size_t size);
void ostiary_wipe(void *address, size_t count);

// Cryptographic randomness (getrandom). 0 on success.
int ostiary_random(void *bytes, size_t count);

// The kind of a passed descriptor.
typedef enum {
  OSTIARY_PASSED_OTHER = 0,
  OSTIARY_PASSED_DEVICE = 1,   // a character device, as a terminal is
  OSTIARY_PASSED_SOCKET = 2,
  OSTIARY_PASSED_PROCESS = 3,  // a pidfd
  OSTIARY_PASSED_FILE = 4,     // a regular file that is not guarded
} ostiary_passed_kind;

// What ostiary_take_passed takes besides character devices.
enum { OSTIARY_TAKES_CLIENT = 1, OSTIARY_TAKES_FILE = 2 };

// Gives the kind of a passed descriptor, if it is a character device, or by `others` a socket or a pidfd, or a file. Otherwise
// returns OSTIARY_PASSED_OTHER and closes the descriptor, unless this process has the same file open. Does nothing else with it,
// because another operation might wait for the process that serves its file system.
ostiary_passed_kind ostiary_take_passed(int descriptor, int others);

// The number of a pidfd's process: 0 when the process was reaped or has no number here, -1 when the
// descriptor is no pidfd or one of a thread.
pid_t ostiary_process_of(int descriptor);

// 1 if the descriptor is of a connected Unix stream or packet socket, or of one that was never connected, and 0 for every other
// socket. `cookie` names the socket; no other one ever has the same (SO_COOKIE).
int ostiary_connection_of(int descriptor, uint64_t *cookie);

// pipe2(2), close-on-exec: descriptors[0] reads, descriptors[1] writes.
int ostiary_pipe(int descriptors[_Nonnull 2]);

// Blocks SIGTERM, SIGHUP, SIGINT and SIGQUIT in the calling thread and returns a descriptor that is readable once one of
// them arrived (signalfd), close-on-exec. To be called before the process has a second thread.
int ostiary_end_signals(void);

// Starts `path` with exactly these arguments, environment and descriptors: child descriptor i is descriptors[i]
// (-1: /dev/null), everything else is closed, signals are at their defaults, and with `new_session` it leads a session of
// its own. Returns 0 or an errno.
int ostiary_spawn(const char *path, char *const _Nullable *_Nonnull arguments, char *const _Nullable *_Nonnull environment,
                  const int *descriptors, int descriptor_count, int new_session, const char *working_directory,
                  pid_t *child);

// The device of the terminal behind `descriptor` (TIOCGDEV), in the numbering of field 7 of /proc/PID/stat.
int ostiary_terminal_device(int descriptor, uint32_t *device);

// fallocate(FALLOC_FL_KEEP_SIZE): reserves blocks without growing the file. 0 on success.
int ostiary_reserve(int descriptor, int64_t offset, int64_t length);

// renameat2(RENAME_NOREPLACE) within one folder's path names.
int ostiary_rename_exclusive(const char *from, const char *to);

// Pins the calling thread's process to one processor.
int ostiary_pin_to_processor(int processor);

// open(O_PATH | O_CLOEXEC | O_DIRECTORY).
int ostiary_open_directory_handle(const char *path);

// openat(directory, name, O_PATH | O_CLOEXEC): a handle that nothing can be read from, and whose closing ends no locks.
int ostiary_open_handle(int directory, const char *name);

// Whether a folder has an entry of this name that the kernel knows by itself: 1, 0, or -1 without a descriptor or memory to look
// with. The folder may be in a file system that a user serves, who might never answer: no server is asked. The kernel keeps in
// mind what is mounted, and all files of a tmpfs.
int ostiary_has_known_entry(const char *folder, const char *name);

// Device, inode, link count, owner, mode and change time of what `name` leads to (statx). Of a file that is in use already,
// as /proc/PID/exe is, the kernel's own idea is taken: no server of a file system is asked, which might never answer.
typedef struct {
  uint64_t device, inode;
  uint64_t link_count;
  uid_t owner;
  uint32_t mode;
  int64_t change_seconds;
  int64_t change_nanoseconds;
} ostiary_file_identity;
int ostiary_identify(int directory, const char *name, ostiary_file_identity *identity);

// The same of an open file.
int ostiary_identify_open(int descriptor, ostiary_file_identity *identity);

// Guarded files: those on which a library of this process holds record locks, as SQLite does on a database. Closing any
// descriptor of such a file ends every record lock that the process holds on it (fcntl(2)). So a file that somebody else named or
// passed is compared with them before it is opened, or closed. The calls of several threads may overlap.
//
// Guards a file until ostiary_unguard_file was called as often; -1 if there is no memory.
int ostiary_guard_file(const ostiary_file_identity *identity);
void ostiary_unguard_file(const ostiary_file_identity *identity);
// Whether a file is guarded: 1 or 0.
int ostiary_is_guarded(const ostiary_file_identity *identity);

// Takes a read lease on an open file (F_SETLEASE): 0, or -1 if the file is open for writing anywhere, a writable mapping of
// it included, or if no lease is to be had, as on another user's file. While it is held, an open(2) for writing waits, for at
// most /proc/sys/fs/lease-break-time. The signal that tells of it (SIGURG) is ignored.
int ostiary_take_read_lease(int descriptor);
// Ends the lease. 1 if it was whole until now, so nobody opened the file for writing; else 0.
int ostiary_end_read_lease(int descriptor);

// Whether the file lies in a file system that sets the time of change at the first store to each page of a mapping: ext4,
// XFS, Btrfs or F2FS. tmpfs does not. 1 or 0.
int ostiary_dates_mapped_stores(int descriptor);

// Whether each read of the file ends, because the kernel alone serves its file system: those above, bcachefs, tmpfs or ZFS. A
// network, or a process of a user, serves others. An overlay can lie over such a one: users may mount both. 1 or 0.
int ostiary_reads_end(int descriptor);

// A pidfd of the process with this number (pidfd_open), close-on-exec; -1 on failure.
int ostiary_open_process(pid_t pid);

#pragma clang assume_nonnull end
#endif
