/*
 * The keychain and its keys for C: the functions of Apple's Security framework that libostiary-security.so has, and
 * as much of Core Foundation as is needed to call them.
 *
 * Objects are handles. A function with Create or Copy in its name returns one that the caller owns and gives back
 * with CFRelease. A function with Get in its name returns one that lives as long as the object that it was got from.
 * Containers retain what they hold.
 *
 * NULL and handles of a wrong kind are refused: with errSecParam where there is a status or an error, else with
 * NULL, 0 or no effect. A handle that was released too often, or never was one, is undefined behaviour, as
 * everywhere in C.
 *
 * Handles that nobody changes can be used from several threads. Calls of items and keys block until the daemon has
 * answered, which is as long as a person is asked.
 *
 * To the linker the Core Foundation names are ostiary_CF…: the Swift runtime brings a Core Foundation of its own
 * into the same process, whose symbols must not be replaced. Handles of the two do not mix.
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
typedef struct OstiaryData *CFMutableDataRef;
typedef const struct OstiaryNumber *CFNumberRef;
typedef const struct OstiaryBoolean *CFBooleanRef;
typedef const struct OstiaryDate *CFDateRef;
typedef const struct OstiaryNull *CFNullRef;
typedef const struct OstiaryArray *CFArrayRef;
typedef struct OstiaryArray *CFMutableArrayRef;
typedef const struct OstiaryDictionary *CFDictionaryRef;
typedef struct OstiaryDictionary *CFMutableDictionaryRef;
typedef struct OstiaryError *CFErrorRef;
typedef struct OstiaryAccessControl *SecAccessControlRef;
typedef struct OstiaryKey *SecKeyRef;
typedef struct OstiaryCertificate *SecCertificateRef;
typedef struct OstiaryIdentity *SecIdentityRef;
typedef struct OstiaryTask *SecTaskRef;
typedef struct OstiaryKeychainItem *SecKeychainItemRef;
typedef struct OstiaryPolicy *SecPolicyRef;
typedef struct OstiaryTrust *SecTrustRef;
typedef const struct OstiaryRandom *SecRandomRef;

typedef uint8_t UInt8;
typedef int8_t SInt8;
typedef uint16_t UInt16;
typedef int16_t SInt16;
typedef uint32_t UInt32;
typedef int32_t SInt32;
typedef uint64_t UInt64;
typedef int64_t SInt64;
typedef UInt32 FourCharCode;
typedef FourCharCode OSType;
typedef unsigned char Boolean;
typedef long CFIndex;
typedef unsigned long CFTypeID;
typedef unsigned long CFHashCode;
typedef unsigned long CFOptionFlags;
typedef int32_t OSStatus;
typedef double CFTimeInterval;
typedef CFTimeInterval CFAbsoluteTime;
typedef CFStringRef CFErrorDomain;
typedef CFStringRef SecKeyAlgorithm;
typedef CFStringRef SecKeyKeyExchangeParameter;
typedef CFOptionFlags SecAccessControlCreateFlags;

/* There is one allocator and one generator of random numbers, and parameters of these types are ignored. */
#define kCFAllocatorDefault ((CFAllocatorRef)NULL)
#define kCFAllocatorNull ((CFAllocatorRef)NULL)
#define kSecRandomDefault ((SecRandomRef)NULL)

/* ---- Every object ---- */

/* One owner more; returns the handle. */
CFTypeRef CFRetain(CFTypeRef object) OSTIARY_SYMBOL(CFRetain);
/* One owner less; the last one frees the object. */
void CFRelease(CFTypeRef object) OSTIARY_SYMBOL(CFRelease);
/* Whether two objects are of one kind and content: two keys that are the same half of the same key are. NULL is equal
 * to NULL alone. */
Boolean CFEqual(CFTypeRef first, CFTypeRef second) OSTIARY_SYMBOL(CFEqual);
/* A number that equal objects share; 0 for NULL. */
CFHashCode CFHash(CFTypeRef object) OSTIARY_SYMBOL(CFHash);
/* Words for a developer: of data its bytes, of a key never the key itself. */
CFStringRef CFCopyDescription(CFTypeRef object) OSTIARY_SYMBOL(CFCopyDescription);
/* The kind of an object, to be compared with those below; 0 for NULL. */
CFTypeID CFGetTypeID(CFTypeRef object) OSTIARY_SYMBOL(CFGetTypeID);
/* The name of a kind, such as CFString; NULL for a number that is none. */
CFStringRef CFCopyTypeIDDescription(CFTypeID typeID) OSTIARY_SYMBOL(CFCopyTypeIDDescription);
CFTypeID CFStringGetTypeID(void) OSTIARY_SYMBOL(CFStringGetTypeID);
CFTypeID CFDataGetTypeID(void) OSTIARY_SYMBOL(CFDataGetTypeID);
CFTypeID CFNumberGetTypeID(void) OSTIARY_SYMBOL(CFNumberGetTypeID);
CFTypeID CFBooleanGetTypeID(void) OSTIARY_SYMBOL(CFBooleanGetTypeID);
CFTypeID CFDateGetTypeID(void) OSTIARY_SYMBOL(CFDateGetTypeID);
CFTypeID CFArrayGetTypeID(void) OSTIARY_SYMBOL(CFArrayGetTypeID);
CFTypeID CFDictionaryGetTypeID(void) OSTIARY_SYMBOL(CFDictionaryGetTypeID);
CFTypeID CFErrorGetTypeID(void) OSTIARY_SYMBOL(CFErrorGetTypeID);
CFTypeID CFNullGetTypeID(void) OSTIARY_SYMBOL(CFNullGetTypeID);
CFTypeID SecAccessControlGetTypeID(void);
CFTypeID SecKeyGetTypeID(void);
CFTypeID SecCertificateGetTypeID(void);
CFTypeID SecIdentityGetTypeID(void);
CFTypeID SecTaskGetTypeID(void);
CFTypeID SecKeychainItemGetTypeID(void);
CFTypeID SecPolicyGetTypeID(void);
CFTypeID SecTrustGetTypeID(void);

/* The null object, a value that is not there (not NULL). */
extern CFNullRef OSTIARY_CONSTANT kCFNull OSTIARY_SYMBOL(kCFNull);

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
/* NULL, as it may be for any text on Apple's systems; use CFStringGetCString then. */
const char *CFStringGetCStringPtr(CFStringRef string, CFStringEncoding encoding) OSTIARY_SYMBOL(CFStringGetCStringPtr);
CFStringRef CFStringCreateCopy(CFAllocatorRef allocator, CFStringRef string) OSTIARY_SYMBOL(CFStringCreateCopy);
/* The length in UTF-16 units. */
CFIndex CFStringGetLength(CFStringRef string) OSTIARY_SYMBOL(CFStringGetLength);
/* The most bytes that so many UTF-16 units take, without the zero byte; -1 for an unknown encoding. */
CFIndex CFStringGetMaximumSizeForEncoding(CFIndex length, CFStringEncoding encoding)
    OSTIARY_SYMBOL(CFStringGetMaximumSizeForEncoding);

/* The text of a literal in UTF-8, as an expression: one object for each text, which lives as long as the process and
 * belongs to nobody. Not for the initial value of a static variable, where C wants a constant. */
#define CFSTR(literal) ostiary_constant_string("" literal "")
CFStringRef ostiary_constant_string(const char *text);

typedef CFIndex CFComparisonResult;
enum { kCFCompareLessThan = -1, kCFCompareEqualTo = 0, kCFCompareGreaterThan = 1 };

typedef CFOptionFlags CFStringCompareFlags;
enum {
    kCFCompareCaseInsensitive = 1,
    kCFCompareBackwards = 4, /* For searching only, as the next one; without effect here. */
    kCFCompareAnchored = 8,
    kCFCompareNonliteral = 16,
    kCFCompareLocalized = 32,
    kCFCompareNumerically = 64,
    kCFCompareDiacriticInsensitive = 128,
    kCFCompareWidthInsensitive = 256,
    kCFCompareForcedOrdering = 512
};

/* The order of two texts. NULL, and what is no text, comes first. */
CFComparisonResult CFStringCompare(CFStringRef first, CFStringRef second, CFStringCompareFlags compareOptions)
    OSTIARY_SYMBOL(CFStringCompare);

/* ---- Bytes ---- */

/* A copy of the bytes. */
CFDataRef CFDataCreate(CFAllocatorRef allocator, const uint8_t *bytes, CFIndex length) OSTIARY_SYMBOL(CFDataCreate);
/* As CFDataCreate: copies, unlike Apple's, and leaves the bytes to the caller whatever the deallocator is. */
CFDataRef CFDataCreateWithBytesNoCopy(
    CFAllocatorRef allocator, const uint8_t *bytes, CFIndex length, CFAllocatorRef bytesDeallocator)
    OSTIARY_SYMBOL(CFDataCreateWithBytesNoCopy);
CFIndex CFDataGetLength(CFDataRef data) OSTIARY_SYMBOL(CFDataGetLength);
/* The bytes inside; they live as long as the object. */
const uint8_t *CFDataGetBytePtr(CFDataRef data) OSTIARY_SYMBOL(CFDataGetBytePtr);
CFDataRef CFDataCreateCopy(CFAllocatorRef allocator, CFDataRef data) OSTIARY_SYMBOL(CFDataCreateCopy);
/* Empty data to be filled; the capacity is ignored. */
CFMutableDataRef CFDataCreateMutable(CFAllocatorRef allocator, CFIndex capacity) OSTIARY_SYMBOL(CFDataCreateMutable);
/* A copy that can be changed; the capacity is ignored. */
CFMutableDataRef CFDataCreateMutableCopy(CFAllocatorRef allocator, CFIndex capacity, CFDataRef data)
    OSTIARY_SYMBOL(CFDataCreateMutableCopy);
/* These change what the two functions above made, and nothing else. Pointers into the data end with a change of its length. */
void CFDataAppendBytes(CFMutableDataRef data, const uint8_t *bytes, CFIndex length) OSTIARY_SYMBOL(CFDataAppendBytes);
void CFDataSetLength(CFMutableDataRef data, CFIndex length) OSTIARY_SYMBOL(CFDataSetLength);
uint8_t *CFDataGetMutableBytePtr(CFMutableDataRef data) OSTIARY_SYMBOL(CFDataGetMutableBytePtr);

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
    kCFNumberCFIndexType = 14,
    kCFNumberNSIntegerType = 15,
    kCFNumberCGFloatType = 16
};

/* The number at `value`, which is of the C type that `type` names. */
CFNumberRef CFNumberCreate(CFAllocatorRef allocator, CFNumberType type, const void *value)
    OSTIARY_SYMBOL(CFNumberCreate);
/* Writes the number as `type`; false, and nothing written, if it is none of that type's values. */
Boolean CFNumberGetValue(CFNumberRef number, CFNumberType type, void *value) OSTIARY_SYMBOL(CFNumberGetValue);

extern CFBooleanRef OSTIARY_CONSTANT kCFBooleanTrue OSTIARY_SYMBOL(kCFBooleanTrue);
extern CFBooleanRef OSTIARY_CONSTANT kCFBooleanFalse OSTIARY_SYMBOL(kCFBooleanFalse);
Boolean CFBooleanGetValue(CFBooleanRef boolean) OSTIARY_SYMBOL(CFBooleanGetValue);

/* ---- Dates ---- */

/* A moment, as seconds since 2001-01-01 00:00:00 UTC. */
CFDateRef CFDateCreate(CFAllocatorRef allocator, CFAbsoluteTime time) OSTIARY_SYMBOL(CFDateCreate);
CFAbsoluteTime CFAbsoluteTimeGetCurrent(void) OSTIARY_SYMBOL(CFAbsoluteTimeGetCurrent);
CFAbsoluteTime CFDateGetAbsoluteTime(CFDateRef date) OSTIARY_SYMBOL(CFDateGetAbsoluteTime);
/* The seconds from `other` to `date`. */
CFTimeInterval CFDateGetTimeIntervalSinceDate(CFDateRef date, CFDateRef other)
    OSTIARY_SYMBOL(CFDateGetTimeIntervalSinceDate);
/* The order of two moments. NULL, and what is no date, comes first; the context is ignored. */
CFComparisonResult CFDateCompare(CFDateRef first, CFDateRef second, void *context) OSTIARY_SYMBOL(CFDateCompare);

/* ---- Dictionaries and arrays ---- */

/* Every container retains what it holds, and a dictionary compares its keys by content, whichever of these is given. */
typedef struct { CFIndex version; } CFDictionaryKeyCallBacks;
typedef struct { CFIndex version; } CFDictionaryValueCallBacks;
typedef struct { CFIndex version; } CFArrayCallBacks;
extern const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks OSTIARY_SYMBOL(kCFTypeDictionaryKeyCallBacks);
extern const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks OSTIARY_SYMBOL(kCFTypeDictionaryValueCallBacks);
extern const CFArrayCallBacks kCFTypeArrayCallBacks OSTIARY_SYMBOL(kCFTypeArrayCallBacks);

/* An empty dictionary; the capacity is ignored. */
CFMutableDictionaryRef CFDictionaryCreateMutable(
    CFAllocatorRef allocator, CFIndex capacity, const CFDictionaryKeyCallBacks *keys,
    const CFDictionaryValueCallBacks *values) OSTIARY_SYMBOL(CFDictionaryCreateMutable);
/* A dictionary of the pairs at `keys` and `values`, which stays as it is; of equal keys the first counts. NULL if one of
 * them is. */
CFDictionaryRef CFDictionaryCreate(
    CFAllocatorRef allocator, const void **keys, const void **values, CFIndex count,
    const CFDictionaryKeyCallBacks *keyCallBacks, const CFDictionaryValueCallBacks *valueCallBacks)
    OSTIARY_SYMBOL(CFDictionaryCreate);
/* Sets a value, unless the key has one. */
void CFDictionaryAddValue(CFMutableDictionaryRef dictionary, const void *key, const void *value)
    OSTIARY_SYMBOL(CFDictionaryAddValue);
/* Sets or replaces a value. What a call returned, and what CFDictionaryCreate made, does not change. */
void CFDictionarySetValue(CFMutableDictionaryRef dictionary, const void *key, const void *value)
    OSTIARY_SYMBOL(CFDictionarySetValue);
void CFDictionaryRemoveValue(CFMutableDictionaryRef dictionary, const void *key)
    OSTIARY_SYMBOL(CFDictionaryRemoveValue);
/* The value, which the dictionary keeps; NULL if there is none. */
const void *CFDictionaryGetValue(CFDictionaryRef dictionary, const void *key) OSTIARY_SYMBOL(CFDictionaryGetValue);
CFIndex CFDictionaryGetCount(CFDictionaryRef dictionary) OSTIARY_SYMBOL(CFDictionaryGetCount);
Boolean CFDictionaryContainsKey(CFDictionaryRef dictionary, const void *key) OSTIARY_SYMBOL(CFDictionaryContainsKey);
/* Whether there is a value; puts it into `value`, unless that is NULL. */
Boolean CFDictionaryGetValueIfPresent(CFDictionaryRef dictionary, const void *key, const void **value)
    OSTIARY_SYMBOL(CFDictionaryGetValueIfPresent);
/* Puts all keys and their values, which the dictionary keeps, into arrays with room for CFDictionaryGetCount of them; either
 * may be NULL. */
void CFDictionaryGetKeysAndValues(CFDictionaryRef dictionary, const void **keys, const void **values)
    OSTIARY_SYMBOL(CFDictionaryGetKeysAndValues);
/* Copies, the second of which can be changed; its capacity is ignored. */
CFDictionaryRef CFDictionaryCreateCopy(CFAllocatorRef allocator, CFDictionaryRef dictionary)
    OSTIARY_SYMBOL(CFDictionaryCreateCopy);
CFMutableDictionaryRef CFDictionaryCreateMutableCopy(CFAllocatorRef allocator, CFIndex capacity, CFDictionaryRef dictionary)
    OSTIARY_SYMBOL(CFDictionaryCreateMutableCopy);

/* The objects at `values`; NULL if one of them is. Containers that lie more than eight deep in one another are refused
 * by the functions that read them. */
CFArrayRef CFArrayCreate(
    CFAllocatorRef allocator, const void **values, CFIndex count, const CFArrayCallBacks *callBacks)
    OSTIARY_SYMBOL(CFArrayCreate);
/* An empty array; the capacity is ignored. */
CFMutableArrayRef CFArrayCreateMutable(CFAllocatorRef allocator, CFIndex capacity, const CFArrayCallBacks *callBacks)
    OSTIARY_SYMBOL(CFArrayCreateMutable);
/* Adds a value at the end. What a call returned, and what CFArrayCreate made, does not change. */
void CFArrayAppendValue(CFMutableArrayRef array, const void *value) OSTIARY_SYMBOL(CFArrayAppendValue);
CFIndex CFArrayGetCount(CFArrayRef array) OSTIARY_SYMBOL(CFArrayGetCount);
/* Copies, the second of which can be changed; its capacity is ignored. */
CFArrayRef CFArrayCreateCopy(CFAllocatorRef allocator, CFArrayRef array) OSTIARY_SYMBOL(CFArrayCreateCopy);
CFMutableArrayRef CFArrayCreateMutableCopy(CFAllocatorRef allocator, CFIndex capacity, CFArrayRef array)
    OSTIARY_SYMBOL(CFArrayCreateMutableCopy);
/* The value, which the array keeps; NULL outside of it. */
const void *CFArrayGetValueAtIndex(CFArrayRef array, CFIndex index) OSTIARY_SYMBOL(CFArrayGetValueAtIndex);

/* ---- Errors ---- */

/* Functions with an error parameter put an error that the caller owns there when they fail, unless it is NULL. */
CFIndex CFErrorGetCode(CFErrorRef error) OSTIARY_SYMBOL(CFErrorGetCode);
/* What the code is one of, which the error keeps: kCFErrorDomainOSStatus for status codes,
 * com.apple.LocalAuthentication for what concerns the person. */
CFErrorDomain CFErrorGetDomain(CFErrorRef error) OSTIARY_SYMBOL(CFErrorGetDomain);
/* What happened, in words. */
CFStringRef CFErrorCopyDescription(CFErrorRef error) OSTIARY_SYMBOL(CFErrorCopyDescription);
/* Why it happened, in words; NULL if the error does not say. */
CFStringRef CFErrorCopyFailureReason(CFErrorRef error) OSTIARY_SYMBOL(CFErrorCopyFailureReason);
/* What a person can do about it, in words; NULL if the error does not say. */
CFStringRef CFErrorCopyRecoverySuggestion(CFErrorRef error) OSTIARY_SYMBOL(CFErrorCopyRecoverySuggestion);
/* Everything that the error says, under kCFError…Key. */
CFDictionaryRef CFErrorCopyUserInfo(CFErrorRef error) OSTIARY_SYMBOL(CFErrorCopyUserInfo);
/* An error of the program's own; `userInfo` may be NULL. */
CFErrorRef CFErrorCreate(CFAllocatorRef allocator, CFErrorDomain domain, CFIndex code, CFDictionaryRef userInfo)
    OSTIARY_SYMBOL(CFErrorCreate);
/* What a status means, in words. */
CFStringRef SecCopyErrorMessageString(OSStatus status, void *reserved);

/* ---- String constants ---- */

#define OSTIARY_DECLARE(name, text) extern CFStringRef OSTIARY_CONSTANT name;
OSTIARY_ITEM_CONSTANTS(OSTIARY_DECLARE)
OSTIARY_KEY_CONSTANTS(OSTIARY_DECLARE)
#undef OSTIARY_DECLARE
#define OSTIARY_DECLARE(name, text) extern CFStringRef OSTIARY_CONSTANT name OSTIARY_SYMBOL(name);
OSTIARY_ERROR_CONSTANTS(OSTIARY_DECLARE)
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
/* Older names. */
#define kSecAccessControlTouchIDAny kSecAccessControlBiometryAny
#define kSecAccessControlTouchIDCurrentSet kSecAccessControlBiometryCurrentSet
#define kSecAccessControlWatch kSecAccessControlCompanion

/* The conditions on an item or key: `protection` is one of kSecAttrAccessible…, `flags` what a person is asked for. */
SecAccessControlRef SecAccessControlCreateWithFlags(
    CFAllocatorRef allocator, CFTypeRef protection, SecAccessControlCreateFlags flags, CFErrorRef *error);

/* Not of Apple: the same conditions, and how long a proof counts for the object, without a use and in any case, and for how
 * many uses; 0 for no such limit. At least one is needed. */
SecAccessControlRef SecAccessControlCreateWithGrantLimits(
    CFAllocatorRef allocator, SecAccessControlRef accessControl, uint32_t idleSeconds, uint32_t hardSeconds, uint32_t uses,
    CFErrorRef *error);

/* ---- Items ---- */

OSStatus SecItemAdd(CFDictionaryRef attributes, CFTypeRef *result);
OSStatus SecItemCopyMatching(CFDictionaryRef query, CFTypeRef *result);
OSStatus SecItemUpdate(CFDictionaryRef query, CFDictionaryRef attributesToUpdate);
OSStatus SecItemDelete(CFDictionaryRef query);
/* Opens a PKCS #12 file of at most 1 MiB: `items` gets an array of dictionaries with the keys kSecImportItem…, NULL if the
   call fails. */
OSStatus SecPKCS12Import(CFDataRef pkcs12_data, CFDictionaryRef options, CFArrayRef *items);

/* ---- Keys ---- */

/* Makes a key pair, here or with kSecAttrTokenIDSecureEnclave in the enclave, and returns its private half. */
SecKeyRef SecKeyCreateRandomKey(CFDictionaryRef parameters, CFErrorRef *error);
/* Reads a key from what SecKeyCopyExternalRepresentation returns; `attributes` say of which type and half it is. */
SecKeyRef SecKeyCreateWithData(CFDataRef keyData, CFDictionaryRef attributes, CFErrorRef *error);
/* The public half; of a public key, the key itself. */
SecKeyRef SecKeyCopyPublicKey(SecKeyRef key);
/* ANSI X9.63 on a curve, PKCS #1 for RSA; errSecUnimplemented for a key that does not leave the enclave. */
CFDataRef SecKeyCopyExternalRepresentation(SecKeyRef key, CFErrorRef *error);
/* What the key is, as kSecAttr… entries. That of a private key in this process holds its bytes too. */
CFDictionaryRef SecKeyCopyAttributes(SecKeyRef key);
/* The bytes of a number of the curve's group, or of the modulus; 0 for another object. */
size_t SecKeyGetBlockSize(SecKeyRef key);

typedef CFIndex SecKeyOperationType;
enum {
    kSecKeyOperationTypeSign = 0,
    kSecKeyOperationTypeVerify = 1,
    kSecKeyOperationTypeEncrypt = 2,
    kSecKeyOperationTypeDecrypt = 3,
    kSecKeyOperationTypeKeyExchange = 4
};

/* Whether the key does that with that algorithm. Private keys sign, decrypt and exchange; public ones verify and
 * encrypt. */
Boolean SecKeyIsAlgorithmSupported(SecKeyRef key, SecKeyOperationType operation, SecKeyAlgorithm algorithm);

/* What the private half does may ask the person if the key is in the enclave. An algorithm that the key does not
 * support is errSecParam, as is a ciphertext that is not one for the key; a wrong signature is errSecVerifyFailed. */
CFDataRef SecKeyCreateSignature(SecKeyRef key, SecKeyAlgorithm algorithm, CFDataRef dataToSign, CFErrorRef *error);
Boolean SecKeyVerifySignature(
    SecKeyRef key, SecKeyAlgorithm algorithm, CFDataRef signedData, CFDataRef signature, CFErrorRef *error);
CFDataRef SecKeyCreateEncryptedData(SecKeyRef key, SecKeyAlgorithm algorithm, CFDataRef plaintext, CFErrorRef *error);
CFDataRef SecKeyCreateDecryptedData(SecKeyRef key, SecKeyAlgorithm algorithm, CFDataRef ciphertext, CFErrorRef *error);
/* The parameters are kSecKeyKeyExchangeParameter…; algorithms with key derivation need a requested size, the others
 * take an empty dictionary. */
CFDataRef SecKeyCopyKeyExchangeResult(
    SecKeyRef privateKey, SecKeyAlgorithm algorithm, SecKeyRef publicKey, CFDictionaryRef parameters,
    CFErrorRef *error);

/* ---- Older calls of keys ---- */

typedef uint32_t SecPadding;
enum {
    kSecPaddingNone = 0,
    kSecPaddingPKCS1 = 1,
    kSecPaddingOAEP = 2,
    kSecPaddingSigRaw = 0x4000,
    kSecPaddingPKCS1MD2 = 0x8000,
    kSecPaddingPKCS1MD5 = 0x8001,
    kSecPaddingPKCS1SHA1 = 0x8002,
    kSecPaddingPKCS1SHA224 = 0x8003,
    kSecPaddingPKCS1SHA256 = 0x8004,
    kSecPaddingPKCS1SHA384 = 0x8005,
    kSecPaddingPKCS1SHA512 = 0x8006
};

/* As SecKeyCreateRandomKey; either half may be left out with NULL. */
OSStatus SecKeyGeneratePair(CFDictionaryRef parameters, SecKeyRef *publicKey, SecKeyRef *privateKey);
/* These sign and verify digests, and encrypt and decrypt with RSA. Where they write, the length says how much room
 * there is, and afterwards how much was written; errSecBufferTooSmall, and nothing written, if that is not enough. */
OSStatus SecKeyRawSign(
    SecKeyRef key, SecPadding padding, const uint8_t *dataToSign, size_t dataToSignLen, uint8_t *sig, size_t *sigLen);
OSStatus SecKeyRawVerify(
    SecKeyRef key, SecPadding padding, const uint8_t *signedData, size_t signedDataLen, const uint8_t *sig,
    size_t sigLen);
OSStatus SecKeyEncrypt(
    SecKeyRef key, SecPadding padding, const uint8_t *plainText, size_t plainTextLen, uint8_t *cipherText,
    size_t *cipherTextLen);
OSStatus SecKeyDecrypt(
    SecKeyRef key, SecPadding padding, const uint8_t *cipherText, size_t cipherTextLen, uint8_t *plainText,
    size_t *plainTextLen);

/* ---- Certificates and identities ---- */

/* A certificate in DER; NULL for anything else. Nothing here says whether it is trusted. */
SecCertificateRef SecCertificateCreateWithData(CFAllocatorRef allocator, CFDataRef data);
CFDataRef SecCertificateCopyData(SecCertificateRef certificate);
/* A short name for a person. */
CFStringRef SecCertificateCopySubjectSummary(SecCertificateRef certificate);
/* The common name of the subject; NULL there if it has none. */
OSStatus SecCertificateCopyCommonName(SecCertificateRef certificate, CFStringRef *commonName);
/* The addresses of electronic mail that the subject has: an array, which may be empty. */
OSStatus SecCertificateCopyEmailAddresses(SecCertificateRef certificate, CFArrayRef *emailAddresses);
/* Issuer and subject as items have them: the Name in DER, as it stands in the certificate. */
CFDataRef SecCertificateCopyNormalizedIssuerSequence(SecCertificateRef certificate);
CFDataRef SecCertificateCopyNormalizedSubjectSequence(SecCertificateRef certificate);
/* The public key; NULL if it is of a kind that there are no keys of here. */
SecKeyRef SecCertificateCopyKey(SecCertificateRef certificate);
/* The serial number, big-endian, as it is encoded. */
CFDataRef SecCertificateCopySerialNumberData(SecCertificateRef certificate, CFErrorRef *error);

/* A certificate and the private key of its public key; NULL if they do not belong together. */
SecIdentityRef SecIdentityCreate(CFAllocatorRef allocator, SecCertificateRef certificate, SecKeyRef privateKey);
OSStatus SecIdentityCopyCertificate(SecIdentityRef identityRef, SecCertificateRef *certificateRef);
OSStatus SecIdentityCopyPrivateKey(SecIdentityRef identityRef, SecKeyRef *privateKeyRef);

/* ---- Trust ---- */

/* What a certificate is trusted for: the rules of X.509 alone, or those of TLS for the certificate of a server (and its host,
 * unless that is NULL) or of a client. */
SecPolicyRef SecPolicyCreateBasicX509(void);
SecPolicyRef SecPolicyCreateSSL(Boolean server, CFStringRef hostname);
/* By kSecPolicyApple… and the properties kSecPolicyName and kSecPolicyClient; NULL for what does not exist here. */
SecPolicyRef SecPolicyCreateWithProperties(CFTypeRef policyIdentifier, CFDictionaryRef properties);
CFDictionaryRef SecPolicyCopyProperties(SecPolicyRef policy);
/* NULL: nobody is asked whether a certificate was revoked. */
SecPolicyRef SecPolicyCreateRevocation(CFOptionFlags revocationFlags);

typedef uint32_t SecTrustResultType;
enum {
    kSecTrustResultInvalid = 0,
    kSecTrustResultProceed = 1,
    kSecTrustResultDeny = 3,
    kSecTrustResultUnspecified = 4, /* Trusted. */
    kSecTrustResultRecoverableTrustFailure = 5,
    kSecTrustResultFatalTrustFailure = 6,
    kSecTrustResultOtherError = 7
};

/* A question about a certificate, or about the first one of an array, whose others may stand above it. The policies are one or
 * an array; NULL for the rules of X.509. */
OSStatus SecTrustCreateWithCertificates(CFTypeRef certificates, CFTypeRef policies, SecTrustRef *trust);
OSStatus SecTrustSetPolicies(SecTrustRef trust, CFTypeRef policies);
OSStatus SecTrustCopyPolicies(SecTrustRef trust, CFArrayRef *policies);
/* Certificates that are trusted instead of those of the system; NULL takes them back. */
OSStatus SecTrustSetAnchorCertificates(SecTrustRef trust, CFArrayRef anchorCertificates);
/* Whether those of the system stay left out. */
OSStatus SecTrustSetAnchorCertificatesOnly(SecTrustRef trust, Boolean anchorCertificatesOnly);
OSStatus SecTrustCopyCustomAnchorCertificates(SecTrustRef trust, CFArrayRef *anchors);
/* Those of the system. */
OSStatus SecTrustCopyAnchorCertificates(CFArrayRef *anchors);
OSStatus SecTrustSetVerifyDate(SecTrustRef trust, CFDateRef verifyDate);
CFAbsoluteTime SecTrustGetVerifyTime(SecTrustRef trust);
/* Kept, without effect: nothing is fetched. */
OSStatus SecTrustSetNetworkFetchAllowed(SecTrustRef trust, Boolean allowFetch);
OSStatus SecTrustGetNetworkFetchAllowed(SecTrustRef trust, Boolean *allowFetch);
/* errSecUnimplemented; no failure is passed over either. */
OSStatus SecTrustSetOCSPResponse(SecTrustRef trust, CFTypeRef responseData);
OSStatus SecTrustSetSignedCertificateTimestamps(SecTrustRef trust, CFArrayRef sctArray);
CFDataRef SecTrustCopyExceptions(SecTrustRef trust);
Boolean SecTrustSetExceptions(SecTrustRef trust, CFDataRef exceptions);

/* Whether the certificate is trusted; the error says why not. */
Boolean SecTrustEvaluateWithError(SecTrustRef trust, CFErrorRef *error);
OSStatus SecTrustEvaluate(SecTrustRef trust, SecTrustResultType *result);
/* What the last evaluation found. */
OSStatus SecTrustGetTrustResult(SecTrustRef trust, SecTrustResultType *result);
CFDictionaryRef SecTrustCopyResult(SecTrustRef trust);
/* The key of the certificate, whether it is trusted or not. */
SecKeyRef SecTrustCopyKey(SecTrustRef trust);
SecKeyRef SecTrustCopyPublicKey(SecTrustRef trust);
/* The certificates up to an anchor, as far as they were found. */
CFArrayRef SecTrustCopyCertificateChain(SecTrustRef trust);
CFIndex SecTrustGetCertificateCount(SecTrustRef trust);
/* One of them, which the trust keeps; NULL beyond the chain. */
SecCertificateRef SecTrustGetCertificateAtIndex(SecTrustRef trust, CFIndex index);

/* ---- Tasks ---- */

/* This process, which has no entitlements and no code signature on Linux: what is asked for is not there, and that is
 * no error. */
SecTaskRef SecTaskCreateFromSelf(CFAllocatorRef allocator);
CFTypeRef SecTaskCopyValueForEntitlement(SecTaskRef task, CFStringRef entitlement, CFErrorRef *error);
CFDictionaryRef SecTaskCopyValuesForEntitlements(SecTaskRef task, CFArrayRef entitlements, CFErrorRef *error);
CFStringRef SecTaskCopySigningIdentifier(SecTaskRef task, CFErrorRef *error);
uint32_t SecTaskGetCodeSignStatus(SecTaskRef task);

/* ---- Random numbers ---- */

/* Fills `count` bytes with the kernel's cryptographic randomness. */
int SecRandomCopyBytes(SecRandomRef generator, size_t count, void *bytes);

#ifdef __cplusplus
}
#endif

#endif
