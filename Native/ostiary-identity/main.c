// ostiary-identity: says which program a process of any user executes. Documentation/formats/identity.md has its messages.
//
// It is the only program with CAP_SYS_PTRACE, with which one process can take over any other. So it has one thread and no library but
// libc, opens nothing for reading unless its own AppArmor profile confines it, and ends at any system call that it does not need.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "../shared/attack.h"
#include "../shared/facts.h"
#include "../shared/filter.h"
#include "../shared/messages.h"
#include "../shared/start.h"
#include "look.h"
#include "namesake.h"

enum {
  ANSWER_HEAD = 100,            // bytes of an answer about a process, without the path
  LOOK_REQUEST = 8,
  NAMESAKE_REQUEST = 20,
  NAMESAKE_ANSWER = 12,
  PASSES_DESCRIPTORS = 1,       // the flag of a request
  KNOWS_REAL_IDS = 1,           // the flags of an answer
  KNOWS_LOGIN = 2,
  DESCRIPTORS = LISTENER + 1,   // the open /proc/self/fd
  PROCESSES = DESCRIPTORS + 1,  // the open /proc of a confined helper
  LOOK_MILLISECONDS = 500,      // of which it needs less than one
  SEARCH_MILLISECONDS = 2000,   // through all processes
};

// MARK: what it may do

static const struct allowed_call calls[] = {
    {SYS_recvmsg, 2, {{0, CONNECTION}, {2, MSG_CMSG_CLOEXEC}}},
    {SYS_sendmsg, 2, {{0, CONNECTION}, {2, MSG_NOSIGNAL}}},
    {SYS_accept4, 2, {{0, LISTENER}, {3, SOCK_CLOEXEC}}},
    {SYS_getsockopt, 3, {{0, CONNECTION}, {1, SOL_SOCKET}, {2, SO_PEERCRED}}},
    {SYS_statx, 1, {{2, AT_STATX_DONT_SYNC}}},
    {SYS_statx, 1, {{2, AT_STATX_DONT_SYNC | AT_EMPTY_PATH}}},
    // A handle, through which nothing can be read: it tells no more than statx and readlinkat.
    {SYS_openat, 1, {{2, O_PATH | O_CLOEXEC}}},
    {SYS_readlinkat, 0, {{0}}},
    {SYS_fstatfs, 0, {{0}}},
    {SYS_setitimer, 1, {{0, ITIMER_REAL}}},
    {SYS_close, 0, {{0}}},
    {SYS_write, 1, {{0, STDERR_FILENO}}},
    {SYS_exit_group, 0, {{0}}},
};

// A filter sees no path. So only a helper whose AppArmor profile names the paths may open something.
static const struct allowed_call opening_calls[] = {
    {SYS_openat, 1, {{2, O_RDONLY | O_CLOEXEC}}},
    {SYS_getdents64, 0, {{0}}},
    {SYS_read, 0, {{0}}},
};

static int begin_filter(int is_confined) {
  const struct call_list lists[] = {
      {calls, sizeof(calls) / sizeof(calls[0])},
      {opening_calls, sizeof(opening_calls) / sizeof(opening_calls[0])},
  };
  return allow_only(lists, is_confined ? 2 : 1);
}

// Whether AppArmor enforces the profile of this name on this process.
static int is_confined_by_profile(void) {
  static const char wanted[] = "ostiary-identity (enforce)";
  char text[256];
  int file = open("/proc/self/attr/apparmor/current", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = read(file, text, sizeof(text));
  close(file);
  if (count > 0 && text[count - 1] == '\n') count--;
  return count == (ssize_t)strlen(wanted) && memcmp(text, wanted, strlen(wanted)) == 0;
}

// MARK: requests

static void fill_answer(unsigned char *answer, const struct look *look) {
  const struct statx *file = &look->executable;
  answer[2] = (unsigned char)look->passed;
  answer[3] = (unsigned char)((look->knows_real_ids ? KNOWS_REAL_IDS : 0) | (look->knows_login ? KNOWS_LOGIN : 0));
  put_number(answer + 8, 8, device_of(file));
  put_number(answer + 16, 8, file->stx_ino);
  put_number(answer + 24, 4, file->stx_nlink);
  put_number(answer + 28, 4, file->stx_uid);
  put_number(answer + 32, 8, (uint64_t)file->stx_ctime.tv_sec);
  put_number(answer + 40, 4, file->stx_ctime.tv_nsec);
  put_number(answer + 44, 4, file->stx_mode);
  put_number(answer + 48, 8, look->mount_namespace);
  put_number(answer + 56, 8, look->pid_namespace);
  put_number(answer + 64, 8, look->user_namespace);
  put_number(answer + 72, 4, look->user);
  put_number(answer + 76, 2, look->path_length);
  put_number(answer + 80, 8, file->stx_mask & STATX_MNT_ID ? file->stx_mnt_id : 0);
  put_number(answer + 88, 4, look->knows_real_ids ? look->real_group : 0);
  put_number(answer + 92, 4, look->knows_login ? look->login : 0);
  put_number(answer + 96, 4, look->knows_real_ids ? look->real_user : 0);
  memcpy(answer + ANSWER_HEAD, look->path, look->path_length);
}

// Whether it is a folder of a proc file system. A process that has ended does not change that.
static int is_process_folder(int handle) {
  struct statfs system;
  struct statx status;
  return fstatfs(handle, &system) == 0 && system.f_type == PROC_SUPER_MAGIC && describe(handle, "", &status) == 0 &&
         S_ISDIR(status.stx_mode);
}

static int answer_look(const struct request *request, int is_confined) {
  static struct look look;
  static unsigned char answer[ANSWER_HEAD + PATH_MAX];
  const unsigned char *bytes = request->bytes;
  if (request->count != LOOK_REQUEST || request->descriptor < 0 || bytes[1] & ~PASSES_DESCRIPTORS || bytes[2] || bytes[3]) {
    return -1;
  }
  if (!is_process_folder(request->descriptor)) return -1;
  memset(answer, 0, ANSWER_HEAD);
  enum result result = look_at(request->descriptor, DESCRIPTORS, is_confined && bytes[1] & PASSES_DESCRIPTORS, &look);
  answer[0] = 'i';
  answer[1] = (unsigned char)result;
  memcpy(answer + 4, bytes + 4, 4);
  if (result != KNOWN) return send_message(answer, ANSWER_HEAD, NULL, 0);
  fill_answer(answer, &look);
  int sent = send_message(answer, ANSWER_HEAD + (size_t)look.path_length, look.descriptors, look.descriptor_count);
  for (unsigned i = 0; i < look.descriptor_count; i++) close(look.descriptors[i]);
  return sent;
}

static int answer_namesake(const struct request *request, int is_confined) {
  unsigned char answer[NAMESAKE_ANSWER] = {'n'};
  const unsigned char *bytes = request->bytes;
  if (request->count != NAMESAKE_REQUEST || request->descriptor >= 0 || bytes[1] || bytes[2] || bytes[3]) return -1;
  const struct terminal terminal = {
      .user = get_word(bytes + 8),
      .number = get_word(bytes + 12),
      .session = (int32_t)get_word(bytes + 16),
  };
  uint32_t process = 0;
  answer[1] = is_confined ? (unsigned char)find_namesake(PROCESSES, &terminal, &process) : NAMESAKE_UNREADABLE;
  memcpy(answer + 4, bytes + 4, 4);
  put_number(answer + 8, 4, process);
  return send_message(answer, sizeof(answer), NULL, 0);
}

static int answer_request(const struct request *request, int is_confined) {
  switch (request->bytes[0]) {
    case 'I':
      return answer_look(request, is_confined);
    case 'N':
      return answer_namesake(request, is_confined);
    default:
      return -1;
  }
}

static void serve(int is_confined) {
  struct request request;
  int result = begin_conversation();
  while (result == 0 && receive_message(&request) == 0) {
    // A process can hold up who opens its maps, and all others wait meanwhile. The service manager starts this one again.
    limit_time(request.bytes[0] == 'N' ? SEARCH_MILLISECONDS : LOOK_MILLISECONDS);
    result = answer_request(&request, is_confined);
    limit_time(0);
    if (request.descriptor >= 0) close(request.descriptor);
  }
}

// MARK: its life

static _Noreturn void serve_all(uid_t daemon, int is_confined) {
  for (;;) {
    // The only free number below the listener's is that of the connection.
    int connection = accept4(LISTENER, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (connection != CONNECTION) fail("no connection can be taken\n");
    if (is_served(daemon)) serve(is_confined);
    close(CONNECTION);
  }
}

// It takes the number of the connection, which is free, and must not keep it.
static void keep_folder(const char *path, int number) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || dup3(folder, number, O_CLOEXEC) != number || close(folder) != 0) fail("/proc cannot be opened\n");
}

int main(int count, char **arguments) {
  int is_confined = is_confined_by_profile();
  give_up_rights(CAP_SYS_PTRACE);
#ifdef OSTIARY_TEST_OPTIONS
  attack_if_asked(count, arguments, begin_filter);
  if (count == 2 && strcmp(arguments[1], "--as-if-confined") == 0) is_confined = 1, count = 1;
#endif
  (void)arguments;
  if (count != 1) fail("this helper takes no arguments\n");
  uid_t daemon = take_socket(GIVEN_LISTENER);
  keep_folder("/proc/self/fd", DESCRIPTORS);
  if (is_confined) keep_folder("/proc", PROCESSES);
  if (begin_filter(is_confined) != 0) fail("the kernel does not filter system calls\n");
  serve_all(daemon, is_confined);
}
