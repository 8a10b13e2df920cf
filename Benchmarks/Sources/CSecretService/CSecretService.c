#include "CSecretService.h"

#include <libsecret/secret.h>
#include <stdio.h>
#include <string.h>

static const SecretSchema schema = {
    "org.ostiary.benchmark", SECRET_SCHEMA_NONE,
    {{"service", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"account", SECRET_SCHEMA_ATTRIBUTE_STRING}, {NULL, 0}}};

static int failed(GError *error) {
    if (error == NULL) return 0;
    fprintf(stderr, "libsecret: %s\n", error->message);
    g_error_free(error);
    return 1;
}

int benchmark_secret_store(const char *service, const char *account, const char *password) {
    GError *error = NULL;
    secret_password_store_sync(
        &schema, SECRET_COLLECTION_DEFAULT, "benchmark", password, NULL, &error, "service", service, "account", account, NULL);
    return failed(error);
}

long benchmark_secret_find(const char *service, const char *account) {
    GError *error = NULL;
    gchar *password = secret_password_lookup_sync(&schema, NULL, &error, "service", service, "account", account, NULL);
    if (failed(error) || password == NULL) return -1;
    long count = (long)strlen(password);
    secret_password_free(password);
    return count;
}
