/* What the files of this program share. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <ostiary-security.h>

/* Objects that the caller owns. */
CFStringRef string(const char *text);
CFDataRef data(const char *text);
/* From digits in hexadecimal. */
CFDataRef hexadecimal(const char *digits);
CFNumberRef number(int value);
CFMutableDictionaryRef dictionary(void);

/* Sets a value that the caller owned, and gives it up. */
void set(CFMutableDictionaryRef dictionary, CFStringRef key, CFTypeRef value);

/* Each prints a line `name: outcome`. */
void status(const char *name, OSStatus status);
void truth(const char *name, int value);
void text(const char *name, CFTypeRef value);
/* Domain and code of an error, `nothing` if there is none; frees it and sets it to NULL. */
void failure(const char *name, CFErrorRef *error);
/* The error of a call that was to return nothing, `something` if it did not; frees both. */
void refused(const char *name, CFTypeRef result, CFErrorRef *error);

/* Scenarios. */
void keys(void);
void attributes(void);
void support(void);
void encryption(void);
void exchange(void);
void enclave(void);
void forked(void);
void protected_key(void);
void older_calls(void);
void key_refusals(void);
void leaks(void);
void task(void);
void errors(void);
void objects(void);
void containers(void);
void foreign_key(const char *handle);
void certificates(const char *certificate, const char *private_key);
void logins(void);
void copies(void);
void trust(const char *certificate);

#endif
