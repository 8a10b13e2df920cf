// A library that somebody has a program load: says in the program's name that it is there.
#include <unistd.h>

__attribute__((constructor)) static void say(void) {
  static const char words[] = "injected\n";
  (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
}
