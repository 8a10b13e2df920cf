#include "CKeyringBus.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define ROOT "/org/freedesktop/secrets"
#define LOGIN ROOT "/collection/login"
#define SERVICE "org.freedesktop.Secret.Service"
#define COLLECTION "org.freedesktop.Secret.Collection"
#define ITEM "org.freedesktop.Secret.Item"
#define PROMPT "org.freedesktop.Secret.Prompt"

struct benchmark_keyring {
  sd_bus *bus;
  char name[256];
  char session[256];
  char prompt[256];
};

static int failed(const char *call, int result, sd_bus_error *error) {
  if (result >= 0) return 0;
  fprintf(stderr, "%s: %s\n", call, error && error->message ? error->message : strerror(-result));
  return 1;
}

static int keep(char *place, size_t size, const char *text) {
  int length = snprintf(place, size, "%s", text);
  return length > 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

static int connect_to(const char *address, sd_bus **made) {
  sd_bus *bus = NULL;
  int result = sd_bus_new(&bus);
  if (result >= 0) result = sd_bus_set_address(bus, address);
  if (result >= 0) result = sd_bus_set_bus_client(bus, 1);
  if (result >= 0) result = sd_bus_start(bus);
  if (result >= 0) {
    *made = bus;
  } else {
    sd_bus_unref(bus);
  }
  return result;
}

// MARK: the client

// The bus would start another service where the name is not there yet.
static int wait_for_name(sd_bus *bus, const char *name) {
  enum { LOOKS = 3000, MICROSECONDS_BETWEEN = 10000 };
  for (int look = 0; look < LOOKS; look++) {
    int result = sd_bus_get_name_creds(bus, name, 0, NULL);
    if (result != -ENXIO) return result;
    usleep(MICROSECONDS_BETWEEN);
  }
  return -ETIMEDOUT;
}

static int open_session(benchmark_keyring *keyring) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *reply = NULL;
  const char *path = NULL;
  int result = sd_bus_call_method(keyring->bus, keyring->name, ROOT, SERVICE, "OpenSession", &error, &reply, "sv", "plain", "s", "");
  if (result >= 0) result = sd_bus_message_skip(reply, "v");
  if (result >= 0) result = sd_bus_message_read_basic(reply, 'o', &path);
  if (result >= 0) result = keep(keyring->session, sizeof keyring->session, path);
  int has_failed = failed("OpenSession", result, &error);
  sd_bus_message_unref(reply);
  sd_bus_error_free(&error);
  return has_failed;
}

benchmark_keyring *benchmark_keyring_open(const char *address, const char *name) {
  benchmark_keyring *keyring = calloc(1, sizeof *keyring);
  if (!keyring) return NULL;
  int result = keep(keyring->name, sizeof keyring->name, name);
  if (result >= 0) result = connect_to(address, &keyring->bus);
  if (result >= 0) result = wait_for_name(keyring->bus, name);
  if (!failed(name, result, NULL) && !open_session(keyring)) return keyring;
  benchmark_keyring_close(keyring);
  return NULL;
}

void benchmark_keyring_close(benchmark_keyring *keyring) {
  sd_bus_flush_close_unref(keyring->bus);
  free(keyring);
}

// As libsecret names the schema of an item.
#define ATTRIBUTES 3, "service", service, "account", account, "xdg:schema", "org.ostiary.benchmark"

static int new_creation(
    benchmark_keyring *keyring, const char *service, const char *account, const char *secret, sd_bus_message **made) {
  int result = sd_bus_message_new_method_call(keyring->bus, made, keyring->name, LOGIN, COLLECTION, "CreateItem");
  sd_bus_message *message = *made;
  if (result >= 0) {
    result = sd_bus_message_append(message, "a{sv}", 2, ITEM ".Label", "s", account, ITEM ".Attributes", "a{ss}", ATTRIBUTES);
  }
  if (result >= 0) result = sd_bus_message_open_container(message, 'r', "oayays");
  if (result >= 0) result = sd_bus_message_append_basic(message, 'o', keyring->session);
  if (result >= 0) result = sd_bus_message_append_array(message, 'y', NULL, 0);
  if (result >= 0) result = sd_bus_message_append_array(message, 'y', secret, strlen(secret));
  if (result >= 0) result = sd_bus_message_append_basic(message, 's', "text/plain");
  if (result >= 0) result = sd_bus_message_close_container(message);
  return result >= 0 ? sd_bus_message_append(message, "b", 0) : result;
}

int benchmark_keyring_create(benchmark_keyring *keyring, const char *service, const char *account, const char *secret) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *message = NULL, *reply = NULL;
  const char *item = NULL;
  int result = new_creation(keyring, service, account, secret, &message);
  if (result >= 0) result = sd_bus_call(keyring->bus, message, 0, &error, &reply);
  if (result >= 0) result = sd_bus_message_read_basic(reply, 'o', &item);
  // A service that wants to ask the person names no item.
  if (result >= 0 && !strcmp(item, "/")) result = -EACCES;
  int has_failed = failed("CreateItem", result, &error);
  sd_bus_message_unref(message);
  sd_bus_message_unref(reply);
  sd_bus_error_free(&error);
  return has_failed;
}

static int read_only_path(sd_bus_message *reply, char *path, size_t size) {
  const char *found = NULL, *other = NULL;
  int result = sd_bus_message_enter_container(reply, 'a', "o");
  if (result >= 0) result = sd_bus_message_read_basic(reply, 'o', &found);
  if (result == 0) return -ENOENT;
  if (result > 0) result = sd_bus_message_read_basic(reply, 'o', &other);
  if (result > 0) return -ENOTUNIQ;
  return result == 0 ? keep(path, size, found) : result;
}

int benchmark_keyring_search(benchmark_keyring *keyring, const char *service, const char *account, char *path, size_t size) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *reply = NULL;
  int result =
      sd_bus_call_method(keyring->bus, keyring->name, ROOT, SERVICE, "SearchItems", &error, &reply, "a{ss}", ATTRIBUTES);
  if (result >= 0) result = read_only_path(reply, path, size);
  int has_failed = failed("SearchItems", result, &error);
  sd_bus_message_unref(reply);
  sd_bus_error_free(&error);
  return has_failed;
}

static int read_secret(sd_bus_message *reply, const char *expected) {
  const void *parameters = NULL, *value = NULL;
  size_t parameters_size = 0, size = 0;
  int result = sd_bus_message_enter_container(reply, 'r', "oayays");
  if (result >= 0) result = sd_bus_message_skip(reply, "o");
  if (result >= 0) result = sd_bus_message_read_array(reply, 'y', &parameters, &parameters_size);
  if (result >= 0) result = sd_bus_message_read_array(reply, 'y', &value, &size);
  if (result < 0) return result;
  return size == strlen(expected) && !memcmp(value, expected, size) ? 0 : -EBADMSG;
}

int benchmark_keyring_get(benchmark_keyring *keyring, const char *item, const char *expected) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *reply = NULL;
  int result = sd_bus_call_method(keyring->bus, keyring->name, item, ITEM, "GetSecret", &error, &reply, "o", keyring->session);
  if (result >= 0) result = read_secret(reply, expected);
  int has_failed = failed("GetSecret", result, &error);
  sd_bus_message_unref(reply);
  sd_bus_error_free(&error);
  return has_failed;
}

// MARK: questions

int benchmark_keyring_lock(benchmark_keyring *keyring) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  int result = sd_bus_call_method(keyring->bus, keyring->name, ROOT, SERVICE, "Lock", &error, NULL, "ao", 1, LOGIN);
  int has_failed = failed("Lock", result, &error);
  sd_bus_error_free(&error);
  return has_failed;
}

static int make_prompt(benchmark_keyring *keyring) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *reply = NULL;
  const char *path = NULL;
  int result = sd_bus_call_method(keyring->bus, keyring->name, ROOT, SERVICE, "Unlock", &error, &reply, "ao", 1, LOGIN);
  if (result >= 0) result = sd_bus_message_skip(reply, "ao");
  if (result >= 0) result = sd_bus_message_read_basic(reply, 'o', &path);
  if (result >= 0) result = keep(keyring->prompt, sizeof keyring->prompt, path);
  int has_failed = failed("Unlock", result, &error);
  sd_bus_message_unref(reply);
  sd_bus_error_free(&error);
  return has_failed;
}

int benchmark_keyring_ask(benchmark_keyring *keyring) {
  if (make_prompt(keyring)) return 1;
  sd_bus_error error = SD_BUS_ERROR_NULL;
  int result = sd_bus_call_method(keyring->bus, keyring->name, keyring->prompt, PROMPT, "Prompt", &error, NULL, "s", "");
  int has_failed = failed("Prompt", result, &error);
  sd_bus_error_free(&error);
  return has_failed;
}

int benchmark_keyring_dismiss(benchmark_keyring *keyring) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  int result = sd_bus_call_method(keyring->bus, keyring->name, keyring->prompt, PROMPT, "Dismiss", &error, NULL, NULL);
  int has_failed = failed("Dismiss", result, &error);
  sd_bus_error_free(&error);
  // Signals of former prompts.
  do result = sd_bus_process(keyring->bus, NULL);
  while (result > 0);
  return has_failed;
}

// MARK: the service that does nothing

static int answer_session(sd_bus_message *call, void *unused, sd_bus_error *error) {
  (void)unused, (void)error;
  return sd_bus_reply_method_return(call, "vo", "s", "", ROOT "/session/1");
}

static int answer_creation(sd_bus_message *call, void *unused, sd_bus_error *error) {
  (void)unused, (void)error;
  return sd_bus_reply_method_return(call, "oo", LOGIN "/00000000000000000000000000000000", "/");
}

static int answer_secret(sd_bus_message *call, void *secret, sd_bus_error *error) {
  (void)error;
  sd_bus_message *reply = NULL;
  int result = sd_bus_message_new_method_return(call, &reply);
  if (result >= 0) result = sd_bus_message_open_container(reply, 'r', "oayays");
  if (result >= 0) result = sd_bus_message_append_basic(reply, 'o', ROOT "/session/1");
  if (result >= 0) result = sd_bus_message_append_array(reply, 'y', NULL, 0);
  if (result >= 0) result = sd_bus_message_append_array(reply, 'y', secret, strlen(secret));
  if (result >= 0) result = sd_bus_message_append_basic(reply, 's', "text/plain");
  if (result >= 0) result = sd_bus_message_close_container(reply);
  if (result >= 0) result = sd_bus_send(NULL, reply, NULL);
  sd_bus_message_unref(reply);
  return result;
}

static const sd_bus_vtable service_methods[] = {
    SD_BUS_VTABLE_START(0), SD_BUS_METHOD("OpenSession", "sv", "vo", answer_session, SD_BUS_VTABLE_UNPRIVILEGED), SD_BUS_VTABLE_END};
static const sd_bus_vtable collection_methods[] = {
    SD_BUS_VTABLE_START(0), SD_BUS_METHOD("CreateItem", "a{sv}(oayays)b", "oo", answer_creation, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END};
static const sd_bus_vtable item_methods[] = {
    SD_BUS_VTABLE_START(0), SD_BUS_METHOD("GetSecret", "o", "(oayays)", answer_secret, SD_BUS_VTABLE_UNPRIVILEGED), SD_BUS_VTABLE_END};

// Each path below the root is an object of each interface.
static int find_object(
    sd_bus *bus, const char *path, const char *interface, void *userdata, void **found, sd_bus_error *error) {
  (void)bus, (void)path, (void)interface, (void)error;
  *found = userdata;
  return 1;
}

static int serve(sd_bus *bus, const char *name, const char *secret) {
  void *userdata = (void *)(uintptr_t)secret;
  int result = sd_bus_add_fallback_vtable(bus, NULL, ROOT, SERVICE, service_methods, find_object, userdata);
  if (result >= 0) result = sd_bus_add_fallback_vtable(bus, NULL, ROOT, COLLECTION, collection_methods, find_object, userdata);
  if (result >= 0) result = sd_bus_add_fallback_vtable(bus, NULL, ROOT, ITEM, item_methods, find_object, userdata);
  if (result >= 0) result = sd_bus_request_name(bus, name, 0);
  while (result >= 0) {
    result = sd_bus_process(bus, NULL);
    if (result == 0) result = sd_bus_wait(bus, UINT64_MAX);
  }
  return result;
}

void benchmark_keyring_echo(const char *address, const char *name, const char *secret) {
  sd_bus *bus = NULL;
  int result = connect_to(address, &bus);
  if (result >= 0) result = serve(bus, name, secret);
  if (result != -ENOTCONN && result != -ECONNRESET) failed(name, result, NULL);
  sd_bus_unref(bus);
}
