#define _GNU_SOURCE
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t read_text(int folder, const char *name, char *text, size_t capacity) {
  int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  size_t length = 0;
  ssize_t count = 0;
  while (length < capacity && (count = read(file, text + length, capacity - length)) > 0) length += (size_t)count;
  int code = count < 0 ? errno : EFBIG;
  close(file);
  if (count < 0 || length == capacity) {
    text[length == capacity ? length - 1 : length] = 0;
    errno = code;
    return -1;
  }
  text[length] = 0;
  return (ssize_t)length;
}
