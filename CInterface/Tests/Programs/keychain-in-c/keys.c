/* What a program does with keys: in its own process, and in the enclave. */
/* fork(2). */
#define _POSIX_C_SOURCE 200809L
#include "program.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const SecKeyOperationType operations[] = {
    kSecKeyOperationTypeSign, kSecKeyOperationTypeVerify, kSecKeyOperationTypeEncrypt, kSecKeyOperationTypeDecrypt,
    kSecKeyOperationTypeKeyExchange,
};

static SecKeyRef make_key(CFStringRef type, int size)
{
    CFMutableDictionaryRef parameters = dictionary();
    CFDictionarySetValue(parameters, kSecAttrKeyType, type);
    set(parameters, kSecAttrKeySizeInBits, number(size));
    SecKeyRef key = SecKeyCreateRandomKey(parameters, NULL);
    CFRelease(parameters);
    return key;
}

/* A key of the enclave that nothing is asked for, or the passcode; it is not in the keychain. */
static SecKeyRef make_enclave_key(SecAccessControlCreateFlags flags)
{
    CFMutableDictionaryRef parameters = dictionary(), private_half = dictionary();
    CFDictionarySetValue(parameters, kSecAttrTokenID, kSecAttrTokenIDSecureEnclave);
    CFDictionarySetValue(parameters, kSecAttrKeyType, kSecAttrKeyTypeECSECPrimeRandom);
    set(parameters, kSecAttrKeySizeInBits, number(256));
    CFDictionarySetValue(private_half, kSecAttrIsPermanent, kCFBooleanFalse);
    set(private_half, kSecAttrAccessControl,
        SecAccessControlCreateWithFlags(
            kCFAllocatorDefault, kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
            kSecAccessControlPrivateKeyUsage | flags, NULL));
    set(parameters, kSecPrivateKeyAttrs, private_half);
    CFErrorRef error = NULL;
    SecKeyRef key = SecKeyCreateRandomKey(parameters, &error);
    if (!key)
        failure("make an enclave key", &error);
    CFRelease(parameters);
    return key;
}

/* What is asked of a key exchange with key derivation. */
static CFMutableDictionaryRef derivation(int size, const char *info)
{
    CFMutableDictionaryRef parameters = dictionary();
    set(parameters, kSecKeyKeyExchangeParameterRequestedSize, number(size));
    set(parameters, kSecKeyKeyExchangeParameterSharedInfo, data(info));
    return parameters;
}

/* A copy with the last byte changed. */
static CFDataRef tampered(CFDataRef original)
{
    uint8_t bytes[1024];
    CFIndex length = CFDataGetLength(original);
    if (length < 1 || length > (CFIndex)sizeof bytes)
        return NULL;
    memcpy(bytes, CFDataGetBytePtr(original), (size_t)length);
    bytes[length - 1] ^= 1;
    return CFDataCreate(kCFAllocatorDefault, bytes, length);
}

void keys(void)
{
    CFErrorRef error = NULL;
    SecKeyRef key = make_key(kSecAttrKeyTypeECSECPrimeRandom, 256), public_key = SecKeyCopyPublicKey(key);
    CFDataRef bytes = SecKeyCopyExternalRepresentation(public_key, &error);
    printf("public key: %ld\n", CFDataGetLength(bytes));
    CFDataRef message = data("message"), other = data("other message");
    SecKeyAlgorithm algorithm = kSecKeyAlgorithmECDSASignatureMessageX962SHA256;
    CFDataRef signature = SecKeyCreateSignature(key, algorithm, message, &error);
    printf("verify: %d\n", SecKeyVerifySignature(public_key, algorithm, message, signature, &error));
    printf("verify other: %d\n", SecKeyVerifySignature(public_key, algorithm, other, signature, &error));
    failure("error", &error);
    refused("sign with public key", SecKeyCreateSignature(public_key, algorithm, message, &error), &error);
    CFRelease(signature);
    CFRelease(other);
    CFRelease(message);
    CFRelease(bytes);
    CFRelease(public_key);
    CFRelease(key);
}

void attributes(void)
{
    SecKeyRef key = make_key(kSecAttrKeyTypeECSECPrimeRandom, 384), public_key = SecKeyCopyPublicKey(key);
    CFDictionaryRef whole = SecKeyCopyAttributes(key), half = SecKeyCopyAttributes(public_key);
    CFIndex size = 0;
    CFNumberGetValue(CFDictionaryGetValue(whole, kSecAttrKeySizeInBits), kCFNumberCFIndexType, &size);
    printf("size: %ld\n", size);
    text("class", CFDictionaryGetValue(whole, kSecAttrKeyClass));
    text("class of the public half", CFDictionaryGetValue(half, kSecAttrKeyClass));
    truth("signs", CFBooleanGetValue(CFDictionaryGetValue(whole, kSecAttrCanSign)));
    truth("public half signs", CFBooleanGetValue(CFDictionaryGetValue(half, kSecAttrCanSign)));
    truth(
        "one label",
        CFEqual(
            CFDictionaryGetValue(whole, kSecAttrApplicationLabel),
            CFDictionaryGetValue(half, kSecAttrApplicationLabel)));
    printf("block size: %zu\n", SecKeyGetBlockSize(key));

    CFErrorRef error = NULL;
    CFDataRef bytes = SecKeyCopyExternalRepresentation(key, &error);
    SecKeyRef same = SecKeyCreateWithData(bytes, whole, &error);
    truth("read back", same != key && CFEqual(same, key) && CFHash(same) == CFHash(key));
    truth("equals its public half", CFEqual(key, public_key));
    CFRelease(same);
    CFRelease(bytes);
    CFRelease(half);
    CFRelease(whole);
    CFRelease(public_key);
    CFRelease(key);
}

/* What a key supports of each operation's number, as digits, under one algorithm. */
static void print_support(const char *name, SecKeyRef key, SecKeyAlgorithm algorithm)
{
    printf("%s: ", name);
    for (size_t index = 0; index < sizeof operations / sizeof *operations; index++)
        printf("%d", SecKeyIsAlgorithmSupported(key, operations[index], algorithm));
    printf("\n");
}

void support(void)
{
    SecKeyRef key = make_key(kSecAttrKeyTypeECSECPrimeRandom, 256), public_key = SecKeyCopyPublicKey(key);
    print_support("signatures", key, kSecKeyAlgorithmECDSASignatureMessageX962SHA256);
    print_support("signatures of the public half", public_key, kSecKeyAlgorithmECDSASignatureMessageX962SHA256);
    print_support("encryption", key, kSecKeyAlgorithmECIESEncryptionStandardVariableIVX963SHA256AESGCM);
    print_support(
        "encryption of the public half", public_key, kSecKeyAlgorithmECIESEncryptionStandardVariableIVX963SHA256AESGCM);
    print_support("exchange", key, kSecKeyAlgorithmECDHKeyExchangeStandardX963SHA256);
    print_support("exchange of the public half", public_key, kSecKeyAlgorithmECDHKeyExchangeStandardX963SHA256);
    print_support("algorithm of another type", key, kSecKeyAlgorithmRSAEncryptionOAEPSHA256);
    print_support("unknown algorithm", key, kSecClass);
    print_support("no algorithm", key, NULL);
    print_support("no key", NULL, kSecKeyAlgorithmECDSASignatureMessageX962SHA256);
    print_support("no key but text", (SecKeyRef)kSecClass, kSecKeyAlgorithmECDSASignatureMessageX962SHA256);
    SecKeyAlgorithm algorithm = kSecKeyAlgorithmECDSASignatureMessageX962SHA256;
    truth(
        "other operations", SecKeyIsAlgorithmSupported(key, -1, algorithm)
            || SecKeyIsAlgorithmSupported(key, 5, algorithm) || SecKeyIsAlgorithmSupported(key, 1L << 40, algorithm));
    CFRelease(public_key);
    CFRelease(key);
}

/* Encrypts for a key, decrypts, and tries what is to fail. */
static void encrypt_and_decrypt(SecKeyRef key, SecKeyAlgorithm algorithm)
{
    CFErrorRef error = NULL;
    SecKeyRef public_key = SecKeyCopyPublicKey(key);
    SecKeyRef stranger = make_key(kSecAttrKeyTypeECSECPrimeRandom, 256);
    CFDataRef plaintext = data("known to two"), nothing = data("");
    CFDataRef ciphertext = SecKeyCreateEncryptedData(public_key, algorithm, plaintext, &error);
    CFDataRef decrypted = SecKeyCreateDecryptedData(key, algorithm, ciphertext, &error);
    text("decrypted", decrypted);
    CFDataRef changed = tampered(ciphertext);
    refused("tampered", SecKeyCreateDecryptedData(key, algorithm, changed, &error), &error);
    refused("empty", SecKeyCreateDecryptedData(key, algorithm, nothing, &error), &error);
    refused("for another key", SecKeyCreateDecryptedData(stranger, algorithm, ciphertext, &error), &error);
    refused(
        "under another algorithm",
        SecKeyCreateDecryptedData(key, kSecKeyAlgorithmECDHKeyExchangeStandard, ciphertext, &error), &error);
    refused(
        "decrypt with the public half", SecKeyCreateDecryptedData(public_key, algorithm, ciphertext, &error), &error);
    refused("encrypt with the private half", SecKeyCreateEncryptedData(key, algorithm, plaintext, &error), &error);
    refused("unknown algorithm", SecKeyCreateEncryptedData(public_key, kSecClass, plaintext, &error), &error);
    CFRelease(changed);
    CFRelease(decrypted);
    CFRelease(ciphertext);
    CFRelease(nothing);
    CFRelease(plaintext);
    CFRelease(stranger);
    CFRelease(public_key);
}

void encryption(void)
{
    SecKeyRef key = make_key(kSecAttrKeyTypeECSECPrimeRandom, 521);
    encrypt_and_decrypt(key, kSecKeyAlgorithmECIESEncryptionStandardVariableIVX963SHA512AESGCM);
    CFRelease(key);
    key = make_key(kSecAttrKeyTypeRSA, 2048);
    encrypt_and_decrypt(key, kSecKeyAlgorithmRSAEncryptionOAEPSHA256);
    CFRelease(key);
}

/* What an exchange with parameters gives, freed; whether it is refused with errSecParam. */
static void refuse_parameters(const char *name, SecKeyRef key, SecKeyRef peer, CFStringRef parameter, CFTypeRef value)
{
    CFErrorRef error = NULL;
    CFMutableDictionaryRef parameters = derivation(32, "info");
    CFDictionaryRemoveValue(parameters, parameter);
    if (value)
        set(parameters, parameter, value);
    SecKeyAlgorithm algorithm = kSecKeyAlgorithmECDHKeyExchangeStandardX963SHA256;
    refused(name, SecKeyCopyKeyExchangeResult(key, algorithm, peer, parameters, &error), &error);
    CFRelease(parameters);
}

/* Exchanges keys in both directions, and tries what is to fail. */
static void exchange_with(SecKeyRef key)
{
    CFErrorRef error = NULL;
    SecKeyRef public_key = SecKeyCopyPublicKey(key), peer = make_key(kSecAttrKeyTypeECSECPrimeRandom, 256);
    SecKeyRef public_peer = SecKeyCopyPublicKey(peer), rsa = make_key(kSecAttrKeyTypeRSA, 2048);
    SecKeyRef longer = make_key(kSecAttrKeyTypeECSECPrimeRandom, 384), public_longer = SecKeyCopyPublicKey(longer);
    CFMutableDictionaryRef parameters = derivation(40, "info"), others = derivation(40, "other info");
    CFMutableDictionaryRef none = dictionary();
    SecKeyAlgorithm raw = kSecKeyAlgorithmECDHKeyExchangeStandard;
    SecKeyAlgorithm derived = kSecKeyAlgorithmECDHKeyExchangeCofactorX963SHA256;

    CFDataRef ours = SecKeyCopyKeyExchangeResult(key, raw, public_peer, none, &error);
    CFDataRef theirs = SecKeyCopyKeyExchangeResult(peer, raw, public_key, none, &error);
    printf("raw: %ld\n", CFDataGetLength(ours));
    truth("raw is one", CFEqual(ours, theirs));
    CFRelease(theirs);
    CFRelease(ours);
    ours = SecKeyCopyKeyExchangeResult(key, derived, public_peer, parameters, &error);
    theirs = SecKeyCopyKeyExchangeResult(peer, derived, public_key, parameters, &error);
    printf("derived: %ld\n", CFDataGetLength(ours));
    truth("derived is one", CFEqual(ours, theirs));
    CFRelease(theirs);
    theirs = SecKeyCopyKeyExchangeResult(peer, derived, public_key, others, &error);
    truth("with another shared info", CFEqual(ours, theirs));
    CFRelease(theirs);
    CFRelease(ours);

    double fraction = 1.5, too_large = 1e300, no_number = NAN;
    refuse_parameters("without a size", key, public_peer, kSecKeyKeyExchangeParameterRequestedSize, NULL);
    refuse_parameters("size of no bytes", key, public_peer, kSecKeyKeyExchangeParameterRequestedSize, number(0));
    refuse_parameters("negative size", key, public_peer, kSecKeyKeyExchangeParameterRequestedSize, number(-1));
    refuse_parameters("size in words", key, public_peer, kSecKeyKeyExchangeParameterRequestedSize, string("32"));
    refuse_parameters(
        "fraction", key, public_peer, kSecKeyKeyExchangeParameterRequestedSize,
        CFNumberCreate(NULL, kCFNumberDoubleType, &fraction));
    refuse_parameters(
        "too large a size", key, public_peer, kSecKeyKeyExchangeParameterRequestedSize,
        CFNumberCreate(NULL, kCFNumberDoubleType, &too_large));
    refuse_parameters(
        "no number", key, public_peer, kSecKeyKeyExchangeParameterRequestedSize,
        CFNumberCreate(NULL, kCFNumberDoubleType, &no_number));
    refuse_parameters("info in words", key, public_peer, kSecKeyKeyExchangeParameterSharedInfo, string("info"));
    refused("peer of another type", SecKeyCopyKeyExchangeResult(key, raw, rsa, none, &error), &error);
    refused("peer of another curve", SecKeyCopyKeyExchangeResult(key, raw, public_longer, none, &error), &error);
    refused("with the public half", SecKeyCopyKeyExchangeResult(public_key, raw, public_peer, none, &error), &error);
    refused(
        "algorithm of signatures",
        SecKeyCopyKeyExchangeResult(key, kSecKeyAlgorithmECDSASignatureDigestX962, public_peer, none, &error), &error);
    CFRelease(none);
    CFRelease(others);
    CFRelease(parameters);
    CFRelease(public_longer);
    CFRelease(longer);
    CFRelease(rsa);
    CFRelease(public_peer);
    CFRelease(peer);
    CFRelease(public_key);
}

void exchange(void)
{
    SecKeyRef key = make_key(kSecAttrKeyTypeECSECPrimeRandom, 256);
    exchange_with(key);
    CFRelease(key);
}

void enclave(void)
{
    CFErrorRef error = NULL;
    SecKeyRef key = make_enclave_key(0);
    CFDictionaryRef own = SecKeyCopyAttributes(key);
    truth("in the enclave", CFEqual(CFDictionaryGetValue(own, kSecAttrTokenID), kSecAttrTokenIDSecureEnclave));
    truth("protected", CFGetTypeID(CFDictionaryGetValue(own, kSecAttrAccessControl)) == SecAccessControlGetTypeID());
    truth("leaves", CFBooleanGetValue(CFDictionaryGetValue(own, kSecAttrIsExtractable)));
    CFRelease(own);
    printf("block size: %zu\n", SecKeyGetBlockSize(key));
    refused("export", SecKeyCopyExternalRepresentation(key, &error), &error);
    print_support("signatures", key, kSecKeyAlgorithmECDSASignatureMessageX962SHA256);
    print_support("encryption", key, kSecKeyAlgorithmECIESEncryptionStandardVariableIVX963SHA256AESGCM);
    print_support("encryption with another type", key, kSecKeyAlgorithmRSAEncryptionOAEPSHA256);
    print_support("exchange", key, kSecKeyAlgorithmECDHKeyExchangeStandardX963SHA256);
    encrypt_and_decrypt(key, kSecKeyAlgorithmECIESEncryptionStandardVariableIVX963SHA256AESGCM);
    exchange_with(key);

    CFMutableDictionaryRef query = dictionary();
    CFDictionarySetValue(query, kSecValueRef, key);
    status("delete", SecItemDelete(query));
    CFDataRef message = data("message");
    refused(
        "sign with what is deleted",
        SecKeyCreateSignature(key, kSecKeyAlgorithmECDSASignatureMessageX962SHA256, message, &error), &error);
    CFRelease(message);
    CFRelease(query);
    CFRelease(key);
}

/* A child makes a connection of its own and leaves its parent's alone. */
void forked(void)
{
    CFErrorRef error = NULL;
    SecKeyRef key = make_enclave_key(0);
    CFMutableDictionaryRef item = dictionary();
    CFDictionarySetValue(item, kSecClass, kSecClassGenericPassword);
    set(item, kSecAttrAccount, string("of the child"));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        status("child adds", SecItemAdd(item, NULL));
        fflush(stdout);
        _exit(0);
    }
    int ending = -1;
    waitpid(child, &ending, 0);
    truth("child ended well", ending == 0);
    status("parent finds", SecItemCopyMatching(item, NULL));
    CFDataRef message = data("message");
    CFDataRef signature =
        SecKeyCreateSignature(key, kSecKeyAlgorithmECDSASignatureMessageX962SHA256, message, &error);
    truth("parent signs", signature != NULL);
    CFRelease(signature);
    CFRelease(message);
    CFRelease(item);
    CFRelease(key);
}

/* Each operation of a key under the passcode asks for it. */
void protected_key(void)
{
    CFErrorRef error = NULL;
    SecKeyRef key = make_enclave_key(kSecAccessControlDevicePasscode), public_key = SecKeyCopyPublicKey(key);
    SecKeyAlgorithm algorithm = kSecKeyAlgorithmECIESEncryptionStandardVariableIVX963SHA256AESGCM;
    CFDataRef plaintext = data("known to two");
    CFDataRef ciphertext = SecKeyCreateEncryptedData(public_key, algorithm, plaintext, &error);
    CFDataRef decrypted = SecKeyCreateDecryptedData(key, algorithm, ciphertext, &error);
    if (decrypted)
        text("decrypted", decrypted);
    else
        failure("decrypt", &error);
    CFRelease(decrypted);
    CFRelease(ciphertext);
    CFRelease(plaintext);
    CFRelease(public_key);
    CFRelease(key);
}

static void sign_and_encrypt_as_of_old(CFStringRef type, int size)
{
    CFMutableDictionaryRef parameters = dictionary();
    CFDictionarySetValue(parameters, kSecAttrKeyType, type);
    set(parameters, kSecAttrKeySizeInBits, number(size));
    SecKeyRef public_key = NULL, key = NULL;
    status("generate", SecKeyGeneratePair(parameters, &public_key, &key));
    CFRelease(parameters);
    const uint8_t digest[32] = {1}, secret[] = "of old";
    uint8_t output[512], plain[512];
    size_t length = 8, plain_length = sizeof plain;
    status("too little room", SecKeyRawSign(key, kSecPaddingPKCS1SHA256, digest, sizeof digest, output, &length));
    length = sizeof output;
    status("sign", SecKeyRawSign(key, kSecPaddingPKCS1SHA256, digest, sizeof digest, output, &length));
    truth("fits", length > 60 && length <= 256);
    status("verify", SecKeyRawVerify(public_key, kSecPaddingPKCS1SHA256, digest, sizeof digest, output, length));
    output[length - 1] ^= 1;
    status("tampered", SecKeyRawVerify(public_key, kSecPaddingPKCS1SHA256, digest, sizeof digest, output, length));
    status("short digest", SecKeyRawSign(key, kSecPaddingPKCS1SHA256, digest, 20, output, &length));
    status("unknown padding", SecKeyRawSign(key, 0x1234, digest, sizeof digest, output, &length));
    length = sizeof output;
    status("encrypt", SecKeyEncrypt(public_key, kSecPaddingOAEP, secret, sizeof secret, output, &length));
    status("decrypt", SecKeyDecrypt(key, kSecPaddingOAEP, output, length, plain, &plain_length));
    truth("same", plain_length == sizeof secret && memcmp(plain, secret, sizeof secret) == 0);

    length = SIZE_MAX;
    status("endless input", SecKeyRawSign(key, kSecPaddingPKCS1, digest, SIZE_MAX, output, &length));
    status("endless signature", SecKeyRawVerify(public_key, kSecPaddingPKCS1, digest, 32, output, SIZE_MAX));
    status("endless plaintext", SecKeyEncrypt(public_key, kSecPaddingPKCS1, secret, SIZE_MAX, output, &length));
    status("endless ciphertext", SecKeyDecrypt(key, kSecPaddingPKCS1, output, SIZE_MAX, plain, &length));
    status("sign nothing", SecKeyRawSign(key, kSecPaddingPKCS1, NULL, 32, output, &length));
    status("sign nowhere", SecKeyRawSign(key, kSecPaddingPKCS1, digest, 32, NULL, &length));
    status("sign without room", SecKeyRawSign(key, kSecPaddingPKCS1, digest, 32, output, NULL));
    status("sign with text", SecKeyRawSign((SecKeyRef)kSecClass, kSecPaddingPKCS1, digest, 32, output, &length));
    status("verify nothing", SecKeyRawVerify(public_key, kSecPaddingPKCS1, digest, 32, NULL, 0));
    status("verify with nothing", SecKeyRawVerify(NULL, kSecPaddingPKCS1, digest, 32, output, 32));
    status("encrypt with nothing", SecKeyEncrypt(NULL, kSecPaddingPKCS1, digest, 32, output, &length));
    status("decrypt with nothing", SecKeyDecrypt(NULL, kSecPaddingPKCS1, digest, 32, output, &length));
    CFRelease(public_key);
    CFRelease(key);
}

void older_calls(void)
{
    sign_and_encrypt_as_of_old(kSecAttrKeyTypeRSA, 2048);
    sign_and_encrypt_as_of_old(kSecAttrKeyTypeECSECPrimeRandom, 256);
    SecKeyRef public_key = (SecKeyRef)kSecClass, key = (SecKeyRef)kSecClass;
    status("generate of nothing", SecKeyGeneratePair(NULL, &public_key, &key));
    truth("something was made", public_key || key);
    status("generate of text", SecKeyGeneratePair((CFDictionaryRef)kSecClass, NULL, NULL));
}

/* NULL and handles of a wrong kind in the place of each argument. */
void key_refusals(void)
{
    CFErrorRef error = NULL;
    SecKeyRef key = make_key(kSecAttrKeyTypeECSECPrimeRandom, 256), public_key = SecKeyCopyPublicKey(key);
    SecKeyRef no_key = (SecKeyRef)kSecClass;
    CFDataRef bytes = data("bytes"), no_data = (CFDataRef)kSecClass;
    CFMutableDictionaryRef none = dictionary();
    SecKeyAlgorithm ecies = kSecKeyAlgorithmECIESEncryptionStandardX963SHA256AESGCM;
    SecKeyAlgorithm raw = kSecKeyAlgorithmECDHKeyExchangeStandard, no_algorithm = (SecKeyAlgorithm)none;

    refused("encrypt with nothing", SecKeyCreateEncryptedData(NULL, ecies, bytes, &error), &error);
    refused("encrypt with text", SecKeyCreateEncryptedData(no_key, ecies, bytes, &error), &error);
    refused("encrypt by nothing", SecKeyCreateEncryptedData(public_key, NULL, bytes, &error), &error);
    refused("encrypt by a dictionary", SecKeyCreateEncryptedData(public_key, no_algorithm, bytes, &error), &error);
    refused("encrypt nothing", SecKeyCreateEncryptedData(public_key, ecies, NULL, &error), &error);
    refused("encrypt text", SecKeyCreateEncryptedData(public_key, ecies, no_data, &error), &error);
    refused("decrypt with nothing", SecKeyCreateDecryptedData(NULL, ecies, bytes, &error), &error);
    refused("decrypt with text", SecKeyCreateDecryptedData(no_key, ecies, bytes, &error), &error);
    refused("decrypt by nothing", SecKeyCreateDecryptedData(key, NULL, bytes, &error), &error);
    refused("decrypt nothing", SecKeyCreateDecryptedData(key, ecies, NULL, &error), &error);
    refused("decrypt text", SecKeyCreateDecryptedData(key, ecies, no_data, &error), &error);
    refused("exchange with nothing", SecKeyCopyKeyExchangeResult(NULL, raw, public_key, none, &error), &error);
    refused("exchange with text", SecKeyCopyKeyExchangeResult(no_key, raw, public_key, none, &error), &error);
    refused("exchange by nothing", SecKeyCopyKeyExchangeResult(key, NULL, public_key, none, &error), &error);
    refused("exchange for nothing", SecKeyCopyKeyExchangeResult(key, raw, NULL, none, &error), &error);
    refused("exchange for text", SecKeyCopyKeyExchangeResult(key, raw, no_key, none, &error), &error);
    refused("without parameters", SecKeyCopyKeyExchangeResult(key, raw, public_key, NULL, &error), &error);
    refused(
        "text as parameters", SecKeyCopyKeyExchangeResult(key, raw, public_key, (CFDictionaryRef)kSecClass, &error),
        &error);
    CFDictionarySetValue(none, none, none);
    refused("parameters without end", SecKeyCopyKeyExchangeResult(key, raw, public_key, none, &error), &error);
    CFDictionaryRemoveValue(none, none);

    /* Whoever wants no error gets none. */
    truth(
        "without an error", SecKeyCreateEncryptedData(NULL, ecies, bytes, NULL)
            || SecKeyCreateDecryptedData(key, ecies, bytes, NULL)
            || SecKeyCopyKeyExchangeResult(key, ecies, public_key, none, NULL));
    truth(
        "of nothing", SecKeyCopyAttributes(NULL) || SecKeyCopyAttributes(no_key) || SecKeyGetBlockSize(NULL)
            || SecKeyGetBlockSize(no_key));
    CFRelease(none);
    CFRelease(bytes);
    CFRelease(public_key);
    CFRelease(key);
}

/* Tries what is the owner's: to open and to delete the enclave key of a handle. */
void foreign_key(const char *handle)
{
    CFMutableDictionaryRef query = dictionary();
    CFDictionarySetValue(query, kSecAttrTokenID, kSecAttrTokenIDSecureEnclave);
    CFStringRef object_id = string("toid");
    set(query, object_id, hexadecimal(handle));
    CFRelease(object_id);
    CFDataRef nothing = data("");
    CFErrorRef error = NULL;
    SecKeyRef key = SecKeyCreateWithData(nothing, query, &error);
    if (key)
        printf("open: ok\n");
    else
        failure("open", &error);
    CFDictionarySetValue(query, kSecClass, kSecClassKey);
    status("delete", SecItemDelete(query));
    CFRelease(nothing);
    CFRelease(query);
}

/* Everything that a call makes, freed; with a key of either kind. */
static void use_and_free(SecKeyRef key)
{
    CFErrorRef error = NULL;
    SecKeyRef public_key = SecKeyCopyPublicKey(key);
    SecKeyAlgorithm ecies = kSecKeyAlgorithmECIESEncryptionStandardVariableIVX963SHA256AESGCM;
    SecKeyAlgorithm ecdh = kSecKeyAlgorithmECDHKeyExchangeStandardX963SHA256;
    CFMutableDictionaryRef parameters = derivation(32, "info");
    CFDataRef plaintext = data("known to two");
    CFDataRef ciphertext = SecKeyCreateEncryptedData(public_key, ecies, plaintext, &error);
    CFRelease(SecKeyCreateDecryptedData(key, ecies, ciphertext, &error));
    CFRelease(SecKeyCopyKeyExchangeResult(key, ecdh, public_key, parameters, &error));
    CFDictionaryRef own = SecKeyCopyAttributes(key);
    SecKeyIsAlgorithmSupported(key, kSecKeyOperationTypeSign, ecies);
    SecKeyCreateDecryptedData(key, ecies, plaintext, NULL);
    SecKeyCreateDecryptedData(key, ecies, plaintext, &error);
    CFErrorGetDomain(error);
    CFRelease(CFErrorCopyUserInfo(error));
    CFRelease(CFErrorCopyDescription(error));
    CFRelease(CFCopyDescription(own));
    CFRelease(error);
    CFRelease(own);
    CFRelease(ciphertext);
    CFRelease(plaintext);
    CFRelease(parameters);
    CFRelease(public_key);
}

/* Whether memory in use grows with how often that is done. A leak grows in each period by at least the smallest object for each time;
 * memory that the libraries and their threads keep once grows in one of them. */
static void watch(const char *name, SecKeyRef key)
{
    enum { periods = 5, times = 100, smallest_object = 16 };
    for (int time = 0; time < times; time++)
        use_and_free(key);
    int grown = 0;
    size_t growth = 0;
    for (int period = 0; period < periods; period++) {
        size_t before = mallinfo2().uordblks;
        for (int time = 0; time < times; time++)
            use_and_free(key);
        size_t after = mallinfo2().uordblks;
        if (after >= before + times * smallest_object) {
            grown++;
            growth += after - before;
        }
    }
    if (grown <= periods / 2)
        printf("%s: none\n", name);
    else
        printf("%s: %zu bytes each time\n", name, growth / grown / times);
}

void leaks(void)
{
    SecKeyRef key = make_key(kSecAttrKeyTypeECSECPrimeRandom, 256);
    watch("leaks", key);
    CFRelease(key);
    key = make_enclave_key(0);
    watch("leaks with the enclave", key);
    CFRelease(key);
}
