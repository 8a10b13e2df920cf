/*
 * The keychain and its keys for C: the functions of Apple's Security framework that libostiary-security.so has, and as much of
 * Core Foundation as is needed to call them.
 *
 * Objects are handles. A function with Create or Copy in its name returns one that the caller owns and gives back with
 * CFRelease. A function with Get in its name returns one that lives as long as the object that it was got from. Containers
 * retain what they hold.
 *
 * NULL and handles of a wrong kind are refused: with errSecParam where there is a status or an error, else with NULL, 0 or no
 * effect. A handle that was released too often, or never was one, is undefined behaviour, as everywhere in C.
 *
 * Handles that nobody changes can be used from several threads. Calls of items and keys block until the daemon has answered,
 * which is as long as a person is asked.
 *
 * To the linker the Core Foundation names are ostiary_CF…: the Swift runtime brings a Core Foundation of its
 * own into the same process, whose symbols must not be replaced. Handles of the two do not mix.
 */
#ifndef OSTIARY_SECURITY_H
#define OSTIARY_SECURITY_H

#include <stddef.h>
#include <stdint.h>

#include "ostiary-security-constants.h"
#include "ostiary-security-status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The symbol of a Core Foundation name. */
#define OSTIARY_SYMBOL(name) __asm__("ostiary_" #name)

/* Constants are set once, when the library is loaded. */
#ifndef OSTIARY_CONSTANT
#define OSTIARY_CONSTANT const
#endif

/* ---- Types ---- */

typedef const void *CFTypeRef;
typedef const struct OstiaryAllocator *CFAllocatorRef;
typedef const struct OstiaryString *CFStringRef;
typedef const struct OstiaryData *CFDataRef;
typedef const struct OstiaryNumber *CFNumberRef;
typedef const struct OstiaryBoolean *CFBooleanRef;
typedef const struct OstiaryArray *CFArrayRef;
typedef const struct OstiaryDictionary *CFDictionaryRef;
typedef struct OstiaryDictionary *CFMutableDictionaryRef;
typedef struct OstiaryError *CFErrorRef;
typedef struct OstiaryAccessControl *SecAccessControlRef;
typedef struct OstiaryKey *SecKeyRef;
typedef const struct OstiaryRandom *SecRandomRef;

typedef unsigned char Boolean;
typedef long CFIndex;
typedef unsigned long CFTypeID;
typedef unsigned long CFOptionFlags;
typedef int32_t OSStatus;
typedef CFStringRef SecKeyAlgorithm;
typedef CFOptionFlags SecAccessControlCreateFlags;

/* There is one allocator and one generator of random numbers, and parameters of these types are ignored. */
#define kCFAllocatorDefault ((CFAllocatorRef)NULL)
#define kSecRandomDefault ((SecRandomRef)NULL)

/* ---- Every object ---- */

/* One owner more; returns the handle. */
CFTypeRef CFRetain(CFTypeRef object) OSTIARY_SYMBOL(CFRetain);
/* One owner less; the last one frees the object. */
void CFRelease(CFTypeRef object) OSTIARY_SYMBOL(CFRelease);
/* The kind of an object, to be compared with those below; 0 for NULL. */
CFTypeID CFGetTypeID(CFTypeRef object) OSTIARY_SYMBOL(CFGetTypeID);
CFTypeID CFStringGetTypeID(void) OSTIARY_SYMBOL(CFStringGetTypeID);
CFTypeID CFDataGetTypeID(void) OSTIARY_SYMBOL(CFDataGetTypeID);
CFTypeID CFNumberGetTypeID(void) OSTIARY_SYMBOL(CFNumberGetTypeID);
CFTypeID CFBooleanGetTypeID(void) OSTIARY_SYMBOL(CFBooleanGetTypeID);
CFTypeID CFDateGetTypeID(void) OSTIARY_SYMBOL(CFDateGetTypeID);
CFTypeID CFArrayGetTypeID(void) OSTIARY_SYMBOL(CFArrayGetTypeID);
CFTypeID CFDictionaryGetTypeID(void) OSTIARY_SYMBOL(CFDictionaryGetTypeID);
CFTypeID SecAccessControlGetTypeID(void);
CFTypeID SecKeyGetTypeID(void);

/* ---- Text ---- */

typedef uint32_t CFStringEncoding;
#define kCFStringEncodingASCII ((CFStringEncoding)0x0600)
#define kCFStringEncodingUTF8 ((CFStringEncoding)0x08000100)

/* NULL for bytes that are no text in the encoding; UTF-8 and ASCII are known. */
CFStringRef CFStringCreateWithCString(CFAllocatorRef allocator, const char *text, CFStringEncoding encoding)
    OSTIARY_SYMBOL(CFStringCreateWithCString);
/* Writes the text and a zero byte; false, and nothing written, if they do not fit into `size` bytes. */
Boolean CFStringGetCString(CFStringRef string, char *buffer, CFIndex size, CFStringEncoding encoding)
    OSTIARY_SYMBOL(CFStringGetCString);
/* The length in UTF-16 units. */
CFIndex CFStringGetLength(CFStringRef string) OSTIARY_SYMBOL(CFStringGetLength);
/* The most bytes that so many UTF-16 units take, without the zero byte; -1 for an unknown encoding. */
CFIndex CFStringGetMaximumSizeForEncoding(CFIndex length, CFStringEncoding encoding)
    OSTIARY_SYMBOL(CFStringGetMaximumSizeForEncoding);

/* ---- Bytes ---- */

/* A copy of the bytes. */
CFDataRef CFDataCreate(CFAllocatorRef allocator, const uint8_t *bytes, CFIndex length) OSTIARY_SYMBOL(CFDataCreate);
CFIndex CFDataGetLength(CFDataRef data) OSTIARY_SYMBOL(CFDataGetLength);
/* The bytes inside; they live as long as the object. */
const uint8_t *CFDataGetBytePtr(CFDataRef data) OSTIARY_SYMBOL(CFDataGetBytePtr);

/* ---- Numbers and truth values ---- */

typedef CFIndex CFNumberType;
enum {
    kCFNumberSInt8Type = 1,
    kCFNumberSInt16Type = 2,
    kCFNumberSInt32Type = 3,
    kCFNumberSInt64Type = 4,
    kCFNumberFloat32Type = 5,
    kCFNumberFloat64Type = 6,
    kCFNumberCharType = 7,
    kCFNumberShortType = 8,
    kCFNumberIntType = 9,
    kCFNumberLongType = 10,
    kCFNumberLongLongType = 11,
    kCFNumberFloatType = 12,
    kCFNumberDoubleType = 13,
    kCFNumberCFIndexType = 14
};

/* The number at `value`, which is of the C type that `type` names. */
CFNumberRef CFNumberCreate(CFAllocatorRef allocator, CFNumberType type, const void *value) OSTIARY_SYMBOL(CFNumberCreate);
/* Writes the number as `type`; false, and nothing written, if it is none of that type's values. */
Boolean CFNumberGetValue(CFNumberRef number, CFNumberType type, void *value) OSTIARY_SYMBOL(CFNumberGetValue);

extern CFBooleanRef OSTIARY_CONSTANT kCFBooleanTrue OSTIARY_SYMBOL(kCFBooleanTrue);
extern CFBooleanRef OSTIARY_CONSTANT kCFBooleanFalse OSTIARY_SYMBOL(kCFBooleanFalse);
Boolean CFBooleanGetValue(CFBooleanRef boolean) OSTIARY_SYMBOL(CFBooleanGetValue);

/* ---- Dictionaries and arrays ---- */

/* Every dictionary retains its keys and values and compares keys by content, whichever of these is given. */
typedef struct { CFIndex version; } CFDictionaryKeyCallBacks;
typedef struct { CFIndex version; } CFDictionaryValueCallBacks;
extern const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks OSTIARY_SYMBOL(kCFTypeDictionaryKeyCallBacks);
extern const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks OSTIARY_SYMBOL(kCFTypeDictionaryValueCallBacks);

/* An empty dictionary; the capacity is ignored. */
CFMutableDictionaryRef CFDictionaryCreateMutable(
    CFAllocatorRef allocator, CFIndex capacity, const CFDictionaryKeyCallBacks *keys,
    const CFDictionaryValueCallBacks *values) OSTIARY_SYMBOL(CFDictionaryCreateMutable);
/* Sets or replaces a value. What a call returned does not change. */
void CFDictionarySetValue(CFMutableDictionaryRef dictionary, const void *key, const void *value)
    OSTIARY_SYMBOL(CFDictionarySetValue);
void CFDictionaryRemoveValue(CFMutableDictionaryRef dictionary, const void *key) OSTIARY_SYMBOL(CFDictionaryRemoveValue);
/* The value, which the dictionary keeps; NULL if there is none. */
const void *CFDictionaryGetValue(CFDictionaryRef dictionary, const void *key) OSTIARY_SYMBOL(CFDictionaryGetValue);
CFIndex CFDictionaryGetCount(CFDictionaryRef dictionary) OSTIARY_SYMBOL(CFDictionaryGetCount);

CFIndex CFArrayGetCount(CFArrayRef array) OSTIARY_SYMBOL(CFArrayGetCount);
/* The value, which the array keeps; NULL outside of it. */
const void *CFArrayGetValueAtIndex(CFArrayRef array, CFIndex index) OSTIARY_SYMBOL(CFArrayGetValueAtIndex);

/* ---- Errors ---- */

/* Functions with an error parameter put an error that the caller owns there when they fail, unless it is NULL. */
CFIndex CFErrorGetCode(CFErrorRef error) OSTIARY_SYMBOL(CFErrorGetCode);
/* NSOSStatusErrorDomain for status codes, com.apple.LocalAuthentication for what concerns the person. */
CFStringRef CFErrorCopyDomain(CFErrorRef error) OSTIARY_SYMBOL(CFErrorCopyDomain);
CFStringRef CFErrorCopyDescription(CFErrorRef error) OSTIARY_SYMBOL(CFErrorCopyDescription);
/* What a status means, in words. */
CFStringRef SecCopyErrorMessageString(OSStatus status, void *reserved);

/* ---- String constants ---- */

#define OSTIARY_DECLARE(name, text) extern CFStringRef OSTIARY_CONSTANT name;
OSTIARY_ITEM_CONSTANTS(OSTIARY_DECLARE)
OSTIARY_KEY_ALGORITHMS(OSTIARY_DECLARE)
#undef OSTIARY_DECLARE

/* ---- Access control ---- */

#define kSecAccessControlUserPresence ((CFOptionFlags)1 << 0)
#define kSecAccessControlBiometryAny ((CFOptionFlags)1 << 1)
#define kSecAccessControlBiometryCurrentSet ((CFOptionFlags)1 << 3)
#define kSecAccessControlDevicePasscode ((CFOptionFlags)1 << 4)
#define kSecAccessControlCompanion ((CFOptionFlags)1 << 5)
#define kSecAccessControlOr ((CFOptionFlags)1 << 14)
#define kSecAccessControlAnd ((CFOptionFlags)1 << 15)
#define kSecAccessControlPrivateKeyUsage ((CFOptionFlags)1 << 30)
#define kSecAccessControlApplicationPassword ((CFOptionFlags)1 << 31)

/* The conditions on an item or key: `protection` is one of kSecAttrAccessible…, `flags` what a person is asked for. */
SecAccessControlRef SecAccessControlCreateWithFlags(
    CFAllocatorRef allocator, CFTypeRef protection, SecAccessControlCreateFlags flags, CFErrorRef *error);

/* ---- Items ---- */

OSStatus SecItemAdd(CFDictionaryRef attributes, CFTypeRef *result);
OSStatus SecItemCopyMatching(CFDictionaryRef query, CFTypeRef *result);
OSStatus SecItemUpdate(CFDictionaryRef query, CFDictionaryRef attributesToUpdate);
OSStatus SecItemDelete(CFDictionaryRef query);

/* ---- Keys ---- */

SecKeyRef SecKeyCreateRandomKey(CFDictionaryRef parameters, CFErrorRef *error);
SecKeyRef SecKeyCreateWithData(CFDataRef keyData, CFDictionaryRef attributes, CFErrorRef *error);
SecKeyRef SecKeyCopyPublicKey(SecKeyRef key);
CFDataRef SecKeyCopyExternalRepresentation(SecKeyRef key, CFErrorRef *error);
CFDataRef SecKeyCreateSignature(SecKeyRef key, SecKeyAlgorithm algorithm, CFDataRef dataToSign, CFErrorRef *error);
Boolean SecKeyVerifySignature(
    SecKeyRef key, SecKeyAlgorithm algorithm, CFDataRef signedData, CFDataRef signature, CFErrorRef *error);

/* ---- Random numbers ---- */

/* Fills `count` bytes with the kernel's cryptographic randomness. */
int SecRandomCopyBytes(SecRandomRef generator, size_t count, void *bytes);

#ifdef __cplusplus
}
#endif

#endif
