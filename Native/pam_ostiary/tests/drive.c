// Calls PAM as a program does, and tells what came of it: drive OUTPUT CONFIGURATION SERVICE USER STEP...
// OUTPUT is a descriptor, and gets a line of JSON for each call. Secrets come as hexadecimal digits of bytes that are XORed with 5A, so that
// the search for them in memory finds no argument.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <security/pam_appl.h>
#include <shadow.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MASK = 0x5A, ANSWERS_MAXIMUM = 32 };

static int output;
static long speed = 1;

// The module's clock may run faster than that of the kernel, so that no test waits for minutes.
int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_MONOTONIC && speed != 1) {
    long long fast = ((long long)time->tv_sec * 1000000000 + time->tv_nsec) * speed;
    *time = (struct timespec){.tv_sec = (time_t)(fast / 1000000000), .tv_nsec = (long)(fast % 1000000000)};
  }
  return result;
}

static size_t decode(const char *digits, char *bytes, bool unmask) {
  size_t size = strlen(digits) / 2;
  for (size_t place = 0; place < size; place++) {
    unsigned byte;
    sscanf(digits + 2 * place, "%2x", &byte);
    bytes[place] = (char)(unmask ? byte ^ MASK : byte);
  }
  return size;
}

static const char *shadow_digits;
static int shadow_error;

// What the module finds of the account: by default none, so that no test depends on the machine's.
int getspnam_r(const char *name, struct spwd *entry, char *buffer, size_t size, struct spwd **found) {
  (void)name;
  *found = NULL;
  if (shadow_error || !shadow_digits) return shadow_error;
  // Many times: what the host does later writes over parts of the stack.
  for (size_t place = 0, length = strlen(shadow_digits) / 2; place + length < size; place += length + 1) {
    buffer[place + decode(shadow_digits, buffer + place, true)] = 0;
  }
  *entry = (struct spwd){.sp_pwdp = buffer};
  *found = entry;
  return 0;
}

static long long milliseconds(void) {
  struct timespec time;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void tell(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vdprintf(output, format, arguments);
  va_end(arguments);
}

struct descriptors {
  int count, inheritable, standard;
};

static struct descriptors descriptors(void) {
  struct descriptors found = {0};
  for (int number = 0; number < 256; number++) {
    int flags = fcntl(number, F_GETFD);
    if (flags < 0) continue;
    found.count++;
    if (number <= 2) found.standard++;
    else if (number != output && !(flags & FD_CLOEXEC)) found.inheritable++;
  }
  return found;
}

// What the person does at each question: `=DIGITS` types, `!` gives up; a number before it are milliseconds to wait.
struct person {
  const char *answers[ANSWERS_MAXIMUM];
  int count, next;
};

static char *typed(struct person *person) {
  if (person->next == person->count) return NULL;
  char *rest;
  long delay = strtol(person->answers[person->next++], &rest, 10);
  for (long long end = milliseconds() + delay; milliseconds() < end;) usleep(1000);
  if (*rest != '=') return NULL;
  char *text = calloc(1, strlen(rest) / 2 + 1);
  decode(rest + 1, text, true);
  return text;
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  struct pam_response *made = calloc((size_t)count, sizeof *made);
  for (int index = 0; index < count; index++) {
    struct descriptors open = descriptors();
    char text[2048];
    snprintf(text, sizeof text, "%s", messages[index]->msg);
    for (char *place = text; (place = strpbrk(place, "\"\\"));) *place = '?';
    tell("{\"shown\": \"%s\", \"style\": %d, \"standard\": %d, \"inheritable\": %d}\n", text, messages[index]->msg_style, open.standard,
         open.inheritable);
    bool is_question = messages[index]->msg_style == PAM_PROMPT_ECHO_OFF;
    made[index].resp = is_question ? typed(data) : NULL;
    if (is_question && !made[index].resp) {
      free(made);
      return PAM_CONV_ERR;
    }
  }
  *responses = made;
  return PAM_SUCCESS;
}

// Looks for a masked secret in all memory that can be written to.
static void search(const char *digits) {
  char wanted[256];
  size_t size = decode(digits, wanted, false);
  FILE *maps = fopen("/proc/self/smaps", "r");
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  unsigned long start = 0, end = 0;
  int count = 0, guarded = 0, here = 0;
  char line[512], right[8];
  while (fgets(line, sizeof line, maps)) {
    unsigned long first, last;
    if (sscanf(line, "%lx-%lx %7s", &first, &last, right) == 3) {
      start = first, end = last, here = 0;
      // The shadow of a sanitizer is larger than all memory.
      if (right[1] != 'w' || end - start > 1ul << 30) continue;
      char *copy = malloc(end - start);
      ssize_t got = pread(memory, copy, end - start, (off_t)start);
      // Masked before the comparison, so this search leaves no readable copy either.
      for (ssize_t place = 0; place < got; place++) copy[place] ^= MASK;
      for (ssize_t place = 0; place + (ssize_t)size <= got; place++) here += !memcmp(copy + place, wanted, size);
      count += here;
      explicit_bzero(copy, end - start);
      free(copy);
    } else if (!strncmp(line, "VmFlags:", 8) && strstr(line, " lo") && strstr(line, " dd")) {
      guarded += here;
    }
  }
  fclose(maps);
  close(memory);
  tell("{\"found\": %d, \"guarded\": %d}\n", count, guarded);
}

static void nothing(int signal) { (void)signal; }

static void send_alarms(long interval) {
  struct sigaction action = {.sa_handler = nothing};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval timer = {.it_interval.tv_usec = interval * 1000, .it_value.tv_usec = interval * 1000};
  setitimer(ITIMER_REAL, &timer, NULL);
}

struct host {
  pam_handle_t *handle;
  struct person person;
  struct pam_conv conversation;
};

static const char *configuration, *service;

static void start(struct host *host, const char *user) {
  host->conversation = (struct pam_conv){.conv = converse, .appdata_ptr = &host->person};
  int result = pam_start_confdir(service, *user ? user : NULL, &host->conversation, configuration, &host->handle);
  if (result != PAM_SUCCESS) exit(3);
}

static void call(struct host *host, const char *name, int flags) {
  long long beginning = milliseconds();
  int result = !strcmp(name, "authenticate") ? pam_authenticate(host->handle, flags)
               : !strcmp(name, "setcred")    ? pam_setcred(host->handle, PAM_ESTABLISH_CRED)
               : !strcmp(name, "open")       ? pam_open_session(host->handle, flags)
               : !strcmp(name, "close")      ? pam_close_session(host->handle, flags)
               : !strcmp(name, "change")     ? pam_chauthtok(host->handle, flags)
                                             : -1;
  tell("{\"call\": \"%s\", \"result\": %d, \"milliseconds\": %lld}\n", name, result, milliseconds() - beginning);
}

struct guest {
  char user[24];
  int result;
};

static void *sign_in(void *data) {
  struct guest *guest = data;
  struct host host = {0};
  start(&host, guest->user);
  guest->result = pam_authenticate(host.handle, PAM_SILENT);
  pam_end(host.handle, guest->result);
  return NULL;
}

static void sign_in_together(int count) {
  struct guest guests[64];
  pthread_t threads[64];
  for (int index = 0; index < count; index++) {
    snprintf(guests[index].user, sizeof guests[index].user, "guest%d", index);
    pthread_create(&threads[index], NULL, sign_in, &guests[index]);
  }
  for (int index = 0; index < count; index++) pthread_join(threads[index], NULL);
  for (int index = 0; index < count; index++) tell("{\"user\": \"%s\", \"result\": %d}\n", guests[index].user, guests[index].result);
}

static void set_item(struct host *host, const char *assignment) {
  const char *colon = strchr(assignment, ':');
  int item = !strncmp(assignment, "user", 4) ? PAM_USER : !strncmp(assignment, "rhost", 5) ? PAM_RHOST : PAM_TTY;
  if (pam_set_item(host->handle, item, colon + 1) != PAM_SUCCESS) exit(4);
}

static void take(struct host *host, const char *step) {
  const char *value = strchr(step, '=');
  value = value ? value + 1 : "0";
  if (!strncmp(step, "item=", 5)) set_item(host, value);
  else if (!strncmp(step, "answer=", 7)) host->person.answers[host->person.count++] = value;
  else if (!strncmp(step, "search=", 7)) search(value);
  else if (!strncmp(step, "alarms=", 7)) send_alarms(atol(value));
  else if (!strncmp(step, "speed=", 6)) speed = atol(value);
  else if (!strncmp(step, "shadow=", 7)) shadow_digits = value;
  else if (!strncmp(step, "shadow-error=", 13)) shadow_error = atoi(value);
  else if (!strncmp(step, "together=", 9)) sign_in_together(atoi(value));
  else if (!strncmp(step, "without-standard", 16)) close(0), close(1), close(2);
  else if (!strncmp(step, "without-locks", 13)) setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0});
  else if (!strncmp(step, "end", 3)) pam_end(host->handle, PAM_SUCCESS), host->handle = NULL;
  else if (!strncmp(step, "start=", 6)) start(host, value);
  else {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(step, "="), step);
    call(host, name, (int)strtol(value, NULL, 0));
  }
}

static int count_threads(void) {
  DIR *tasks = opendir("/proc/self/task");
  int count = 0;
  for (struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// What the host does at each signal, and which ones it blocks.
struct signals {
  void (*handlers[65])(int);
  int flags[65], blocked[65];
};

static void remember_signals(struct signals *signals) {
  memset(signals, 0, sizeof *signals);
  sigset_t mask;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  for (int number = 1; number < 65; number++) {
    struct sigaction action;
    signals->blocked[number] = sigismember(&mask, number);
    if (sigaction(number, NULL, &action)) continue;
    signals->handlers[number] = action.sa_handler;
    signals->flags[number] = action.sa_flags;
  }
}

int main(int count, char **arguments) {
  if (count < 5) return 2;
  output = atoi(arguments[1]), configuration = arguments[2], service = arguments[3];
  struct host host = {0};
  start(&host, arguments[4]);
  static struct signals before, after;
  for (int place = 5; place < count; place++) {
    struct descriptors open = descriptors();
    remember_signals(&before);
    bool is_call = !strchr(arguments[place], '=') || strpbrk(arguments[place], "=")[1] == '0';
    take(&host, arguments[place]);
    remember_signals(&after);
    if (!is_call || !strncmp(arguments[place], "without", 7)) continue;
    if (descriptors().count != open.count) tell("{\"broken\": \"descriptors: %d before, %d after\"}\n", open.count, descriptors().count);
    if (memcmp(&before, &after, sizeof before)) tell("{\"broken\": \"signals\"}\n");
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) tell("{\"broken\": \"children\"}\n");
    if (count_threads() != 1) tell("{\"broken\": \"threads\"}\n");
  }
  if (host.handle) pam_end(host.handle, PAM_SUCCESS);
  tell("{\"ended\": true}\n");
  return 0;
}
