// A library that holds one request of its program back, which CHOSEN_REQUEST names by its number (Documentation/formats/wire.md). It says so,
// and has the process execute OTHER_PROGRAM, which gets the number of the open connection and that of a file with the request. Without
// OTHER_PROGRAM the request is sent as it is.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

// Behind eight bytes of a header lie the request's id and the flag that there is a body, and then its number.
enum { FLAG = 16, NUMBER = 17 };

static int is_chosen(const unsigned char *frame, size_t size) {
  const char *number = getenv("CHOSEN_REQUEST");
  return number && size > NUMBER && frame[FLAG] == 1 && frame[NUMBER] == atoi(number);
}

static void execute_other(int connection, const void *frame, size_t size) {
  const char *program = getenv("OTHER_PROGRAM");
  char numbers[2][12];
  if (!program) return;
  int file = memfd_create("request", 0);
  if (file < 0 || write(file, frame, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0) return;
  if (fcntl(connection, F_SETFD, 0) != 0) return;
  snprintf(numbers[0], sizeof(numbers[0]), "%d", connection);
  snprintf(numbers[1], sizeof(numbers[1]), "%d", file);
  unsetenv("LD_PRELOAD");
  execl(program, program, numbers[0], numbers[1], (char *)NULL);
}

ssize_t send(int connection, const void *frame, size_t size, int flags) {
  static const char words[] = "held\n";
  if (is_chosen(frame, size)) {
    (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
    execute_other(connection, frame, size);
  }
  return sendto(connection, frame, size, flags, NULL, 0);
}
