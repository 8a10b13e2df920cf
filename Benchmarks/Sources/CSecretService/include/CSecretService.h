// The desktop's Secret Service through libsecret, as programs on Linux use it today. One connection for the process, at
// DBUS_SESSION_BUS_ADDRESS; its variadic calls cannot be made from Swift.
#pragma once

/// Stores a password without asking anybody; 0 on success.
int benchmark_secret_store(const char *service, const char *account, const char *password);

/// Searches for the password and gets it. Its length in bytes, -1 when there is none.
long benchmark_secret_find(const char *service, const char *account);
