// Texts below /proc.
#ifndef OSTIARY_TEXT_H
#define OSTIARY_TEXT_H

#include <stddef.h>
#include <sys/types.h>

enum {
  MAXIMUM_TEXT = 65536,  // of a file below /proc
};

// The text of a file with a NUL behind it. -1 with errno; if it does not fit, that is EFBIG, and the text is its beginning.
ssize_t read_text(int folder, const char *name, char *text, size_t capacity);

#endif
