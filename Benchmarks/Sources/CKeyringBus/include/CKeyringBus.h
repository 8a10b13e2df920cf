// The Secret Service (org.freedesktop.secrets) on sd-bus itself: a client that does no more than it must, and a service that does nothing.
// Each of a client's calls waits for its answer. Where one fails, standard error says why.
#pragma once

#include <stddef.h>

typedef struct benchmark_keyring benchmark_keyring;

/// Connects to the bus at an address, waits until the name is there, and opens a session of the algorithm plain. NULL when that fails.
benchmark_keyring *benchmark_keyring_open(const char *address, const char *name);

void benchmark_keyring_close(benchmark_keyring *keyring);

/// Makes an item in the collection login; 0 on success.
int benchmark_keyring_create(benchmark_keyring *keyring, const char *service, const char *account, const char *secret);

/// Searches for the item in all collections, and copies its path; 0 when there is one, and it is unlocked.
int benchmark_keyring_search(benchmark_keyring *keyring, const char *service, const char *account, char *path, size_t size);

/// Gets the secret of an item; 0 when it is the expected one.
int benchmark_keyring_get(benchmark_keyring *keyring, const char *item, const char *expected);

/// Locks the collection login; 0 on success.
int benchmark_keyring_lock(benchmark_keyring *keyring);

/// Has the person asked to unlock it; 0 when the question is under way.
int benchmark_keyring_ask(benchmark_keyring *keyring);

/// Dismisses that question; 0 when the service has taken it.
int benchmark_keyring_dismiss(benchmark_keyring *keyring);

/// Takes the name, and answers OpenSession, GetSecret (with this secret) and CreateItem at once, whatever they ask for. Returns when the bus
/// has ended.
void benchmark_keyring_echo(const char *address, const char *name, const char *secret);
