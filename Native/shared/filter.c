#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "The filter has to know this processor's numbers, and where the lower half of an argument lies."
#endif

enum { MAXIMUM_STEPS = 512 };

struct program {
  struct sock_filter steps[MAXIMUM_STEPS];
  unsigned short count;
  int overflowed;
};

static void add(struct program *program, struct sock_filter step) {
  if (program->count == MAXIMUM_STEPS) {
    program->overflowed = 1;
    return;
  }
  program->steps[program->count++] = step;
}

static void load(struct program *program, size_t offset) {
  add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

// Goes on if the loaded word has this value, and otherwise passes over `others` steps.
static void require(struct program *program, uint32_t value, unsigned others) {
  add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, (uint8_t)others));
}

static void decide(struct program *program, uint32_t action) {
  add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

// What does not fit passes on to the next call of the list.
static void add_call(struct program *program, const struct allowed_call *call) {
  unsigned left = 2 * call->condition_count + 1;
  load(program, offsetof(struct seccomp_data, nr));
  require(program, (uint32_t)call->number, left);
  for (unsigned i = 0; i < call->condition_count; i++) {
    left -= 2;
    load(program, offsetof(struct seccomp_data, args) + call->conditions[i].argument * sizeof(uint64_t));
    require(program, call->conditions[i].value, left);
  }
  decide(program, SECCOMP_RET_ALLOW);
}

int allow_only(const struct call_list *lists, size_t list_count) {
  struct program program = {.count = 0};
  // Numbers of another architecture mean other calls. Those of x32 have a bit of their own, and fit no entry of a list.
  load(&program, offsetof(struct seccomp_data, arch));
  require(&program, OWN_ARCHITECTURE, 1);
  add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0));
  decide(&program, SECCOMP_RET_KILL_PROCESS);
  for (size_t list = 0; list < list_count; list++) {
    for (size_t i = 0; i < lists[list].count; i++) add_call(&program, &lists[list].calls[i]);
  }
  decide(&program, SECCOMP_RET_KILL_PROCESS);
  if (program.overflowed) {
    errno = E2BIG;
    return -1;
  }
  struct sock_fprog filter = {.len = program.count, .filter = program.steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}
