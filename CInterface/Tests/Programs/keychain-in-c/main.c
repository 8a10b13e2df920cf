/* The keychain as a C program uses it: `keychain-in-c SCENARIO` prints what happens as lines of the form
 * `name: outcome`. Two scenarios take arguments more. */
#include "program.h"

#include <stdio.h>
#include <string.h>

static const char account[] = "owner", service[] = "vault of C", secret[] = "a secret from C";

static CFMutableDictionaryRef password(void)
{
    CFMutableDictionaryRef query = dictionary();
    CFDictionarySetValue(query, kSecClass, kSecClassGenericPassword);
    set(query, kSecAttrAccount, string(account));
    set(query, kSecAttrService, string(service));
    return query;
}

/* Adds, under the passcode of the person, what `read` finds. */
static void store(void)
{
    CFErrorRef error = NULL;
    SecAccessControlRef control = SecAccessControlCreateWithFlags(
        kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAccessControlUserPresence, &error);
    CFMutableDictionaryRef item = password();
    set(item, kSecAttrAccessControl, control);
    set(item, kSecAttrLabel, string("Password of C"));
    set(item, kSecValueData, data(secret));
    status("add", SecItemAdd(item, NULL));
    status("add again", SecItemAdd(item, NULL));
    CFRelease(item);
}

static void read_back(void)
{
    CFMutableDictionaryRef query = password();
    CFDictionarySetValue(query, kSecReturnData, kCFBooleanTrue);
    set(query, kSecUseOperationPrompt, string("show the password of C"));
    CFTypeRef result = query;
    OSStatus read = SecItemCopyMatching(query, &result);
    status("read", read);
    if (read == errSecSuccess)
        text("secret", result);
    else
        printf("result: %s\n", result ? "something" : "nothing");
    CFRelease(result);
    CFRelease(query);
}

static void list(void)
{
    CFMutableDictionaryRef query = dictionary(), plain = password();
    set(plain, kSecAttrAccount, string("other"));
    set(plain, kSecValueData, data("other"));
    CFIndex number = 7;
    set(plain, kSecAttrType, CFNumberCreate(kCFAllocatorDefault, kCFNumberCFIndexType, &number));
    status("add other", SecItemAdd(plain, NULL));
    CFDictionarySetValue(query, kSecClass, kSecClassGenericPassword);
    CFDictionarySetValue(query, kSecReturnAttributes, kCFBooleanTrue);
    CFDictionarySetValue(query, kSecMatchLimit, kSecMatchLimitAll);
    CFArrayRef items = NULL;
    status("list", SecItemCopyMatching(query, (CFTypeRef *)&items));
    for (CFIndex index = 0; index < CFArrayGetCount(items); index++) {
        CFDictionaryRef item = CFArrayGetValueAtIndex(items, index);
        text("account", CFDictionaryGetValue(item, kSecAttrAccount));
        if (CFNumberGetValue(CFDictionaryGetValue(item, kSecAttrType), kCFNumberCFIndexType, &number))
            printf("type: %ld\n", number);
        CFTypeRef date = CFDictionaryGetValue(item, kSecAttrCreationDate);
        printf("date: %s\n", CFGetTypeID(date) == CFDateGetTypeID() ? "ok" : "none");
    }
    CFRelease(items);
    CFRelease(plain);
    CFRelease(query);
}

static void change_and_delete(void)
{
    CFMutableDictionaryRef query = password(), changes = dictionary();
    set(changes, kSecAttrLabel, string("Another label"));
    status("update", SecItemUpdate(query, changes));
    status("delete", SecItemDelete(query));
    status("delete again", SecItemDelete(query));
    status("find deleted", SecItemCopyMatching(query, NULL));
    CFRelease(changes);
    CFRelease(query);
}

/* NULL and handles of a wrong kind, everywhere. */
static void refusals(void)
{
    CFStringRef wrong = string("wrong");
    CFTypeRef result = wrong;
    status("add nothing", SecItemAdd(NULL, &result));
    printf("result: %s\n", result ? "something" : "nothing");
    status("find nothing", SecItemCopyMatching(NULL, &result));
    status("update nothing", SecItemUpdate(NULL, NULL));
    status("delete nothing", SecItemDelete(NULL));
    status("find by text", SecItemCopyMatching((CFDictionaryRef)wrong, &result));
    status("delete by text", SecItemDelete((CFDictionaryRef)wrong));

    CFMutableDictionaryRef query = password();
    status("find what is not there", SecItemCopyMatching(query, NULL));
    status("update without changes", SecItemUpdate(query, NULL));
    CFMutableDictionaryRef loop = dictionary();
    CFDictionarySetValue(loop, kSecClass, loop);
    status("find a loop", SecItemCopyMatching(loop, NULL));
    CFDictionaryRemoveValue(loop, kSecClass);
    CFRelease(loop);

    CFErrorRef error = NULL;
    CFDataRef bytes = data("bytes");
    SecKeyAlgorithm algorithm = kSecKeyAlgorithmECDSASignatureMessageX962SHA256;
    SecKeyCreateRandomKey(NULL, &error);
    failure("make a key of nothing", &error);
    SecKeyCreateSignature((SecKeyRef)wrong, algorithm, bytes, &error);
    failure("sign with text", &error);
    SecKeyCreateSignature(NULL, NULL, NULL, NULL);
    printf("verify with text: %d\n", SecKeyVerifySignature((SecKeyRef)wrong, algorithm, bytes, bytes, &error));
    failure("error", &error);
    SecKeyCopyExternalRepresentation(NULL, &error);
    failure("export nothing", &error);
    SecAccessControlCreateWithFlags(NULL, NULL, 0, &error);
    failure("protect with nothing", &error);
    SecAccessControlCreateWithFlags(NULL, wrong, 0, &error);
    failure("protect with text", &error);
    status("random nowhere", SecRandomCopyBytes(kSecRandomDefault, 8, NULL));

    int number = 1;
    char buffer[5];
    printf(
        "harmless: %d\n",
        CFRetain(NULL) == NULL && SecKeyCopyPublicKey(NULL) == NULL && SecKeyCopyPublicKey((SecKeyRef)wrong) == NULL
            && CFGetTypeID(NULL) == 0 && CFDataGetLength(NULL) == 0 && CFDataGetBytePtr((CFDataRef)wrong) == NULL
            && CFDataCreate(NULL, NULL, 1) == NULL && CFDataCreate(NULL, (const uint8_t *)buffer, -1) == NULL
            && CFStringCreateWithCString(NULL, NULL, kCFStringEncodingUTF8) == NULL
            && CFStringCreateWithCString(NULL, "\xff", kCFStringEncodingUTF8) == NULL
            && CFStringCreateWithCString(NULL, "text", 12345) == NULL
            && !CFStringGetCString(wrong, buffer, sizeof buffer, kCFStringEncodingUTF8)
            && !CFStringGetCString(wrong, NULL, 100, kCFStringEncodingUTF8)
            && CFNumberCreate(NULL, 99, &number) == NULL && CFNumberCreate(NULL, kCFNumberIntType, NULL) == NULL
            && !CFNumberGetValue((CFNumberRef)wrong, kCFNumberIntType, &number) && CFDictionaryGetCount(NULL) == 0
            && CFDictionaryGetValue((CFDictionaryRef)wrong, wrong) == NULL && CFDictionaryGetValue(query, NULL) == NULL
            && CFArrayGetCount((CFArrayRef)query) == 0 && CFArrayGetValueAtIndex(NULL, 0) == NULL
            && !CFBooleanGetValue((CFBooleanRef)wrong) && CFErrorGetCode(NULL) == 0 && CFErrorGetDomain(NULL) == NULL);
    CFDictionarySetValue(query, NULL, wrong);
    CFDictionarySetValue(query, wrong, NULL);
    CFDictionarySetValue((CFMutableDictionaryRef)wrong, wrong, wrong);
    CFRelease(NULL);
    printf("count: %ld\n", CFDictionaryGetCount(query));
    CFRelease(bytes);
    CFRelease(query);
    CFRelease(wrong);
}

/* The calls as Objective-C makes them with bridged objects: an item under the person's passcode, and its password. */
static void objective(void)
{
    CFErrorRef error = NULL;
    SecAccessControlRef control = SecAccessControlCreateWithFlags(
        kCFAllocatorDefault, kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAccessControlUserPresence, &error);
    CFMutableDictionaryRef item = dictionary();
    CFDictionarySetValue(item, kSecClass, kSecClassGenericPassword);
    set(item, kSecAttrLabel, string("org.example.password"));
    set(item, kSecAttrAccount, string("An account"));
    set(item, kSecValueData, data("test password"));
    set(item, kSecAttrAccessControl, control);
    status("add", SecItemAdd(item, NULL));
    CFRelease(item);

    CFMutableDictionaryRef query = dictionary();
    CFDictionarySetValue(query, kSecClass, kSecClassGenericPassword);
    CFDictionarySetValue(query, kSecReturnData, kCFBooleanTrue);
    set(query, kSecAttrAccount, string("Another account"));
    set(query, kSecAttrLabel, string("org.example.password"));
    set(query, kSecUseOperationPrompt, string("enter this area"));
    CFTypeRef result = NULL;
    status("find under another account", SecItemCopyMatching(query, &result));
    set(query, kSecAttrAccount, string("An account"));
    OSStatus found = SecItemCopyMatching(query, &result);
    status("find", found);
    if (found == noErr)
        text("password", result);
    CFRelease(result);
    CFRelease(query);
}

static void words(void)
{
    CFStringRef message = SecCopyErrorMessageString(errSecDuplicateItem, NULL);
    printf("message: %s\n", CFStringGetLength(message) > 10 ? "ok" : "none");
    CFRelease(message);
    uint8_t bytes[32] = {0}, zeros[32] = {0};
    status("random", SecRandomCopyBytes(kSecRandomDefault, sizeof bytes, bytes));
    printf("filled: %d\n", memcmp(bytes, zeros, sizeof bytes) != 0);
    /* What is no generator at all: zeros that are not even aligned as one. */
    uint8_t others[32] = {0};
    status("random of a bogus generator", SecRandomCopyBytes((SecRandomRef)(void *)(zeros + 1), sizeof others, others));
    printf("filled by it: %d\n", memcmp(others, zeros, sizeof others) != 0);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"store", store},
        {"read", read_back},
        {"list", list},
        {"change", change_and_delete},
        {"refusals", refusals},
        {"words", words},
        {"objective", objective},
        {"objects", objects},
        {"containers", containers},
        {"errors", errors},
        {"keys", keys},
        {"attributes", attributes},
        {"support", support},
        {"encryption", encryption},
        {"exchange", exchange},
        {"enclave", enclave},
        {"forked", forked},
        {"protected key", protected_key},
        {"older calls", older_calls},
        {"key refusals", key_refusals},
        {"leaks", leaks},
        {"task", task},
        {"logins", logins},
        {"copies", copies},
    };
    if (count == 3 && strcmp(arguments[1], "foreign key") == 0) {
        foreign_key(arguments[2]);
        return 0;
    }
    if (count == 3 && strcmp(arguments[1], "trust") == 0) {
        trust(arguments[2]);
        return 0;
    }
    if (count == 4 && strcmp(arguments[1], "certificates") == 0) {
        certificates(arguments[2], arguments[3]);
        return 0;
    }
    for (size_t index = 0; count == 2 && index < sizeof scenarios / sizeof *scenarios; index++)
        if (strcmp(arguments[1], scenarios[index].name) == 0) {
            scenarios[index].run();
            return 0;
        }
    return 2;
}
