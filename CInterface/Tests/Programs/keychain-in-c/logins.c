/* The calls that a helper for logins on macOS makes, such as git's: with its headers, and with what it does to keep and erase. */
#include "program.h"

#include <CoreFoundation/CoreFoundation.h>
#include <Security/Security.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CFMutableDictionaryRef login(void)
{
    CFMutableDictionaryRef query = dictionary();
    UInt16 number = 8443;
    CFDictionarySetValue(query, kSecClass, kSecClassInternetPassword);
    set(query, kSecAttrServer, string("git.example.org"));
    set(query, kSecAttrAccount, string("me"));
    set(query, kSecAttrPort, CFNumberCreate(kCFAllocatorDefault, kCFNumberShortType, &number));
    CFDictionarySetValue(query, kSecAttrProtocol, kSecAttrProtocolHTTPS);
    CFDictionarySetValue(query, kSecAttrAuthenticationType, kSecAttrAuthenticationTypeDefault);
    return query;
}

static void get(void)
{
    CFMutableDictionaryRef query = login();
    CFDictionarySetValue(query, kSecMatchLimit, kSecMatchLimitOne);
    CFDictionarySetValue(query, kSecReturnAttributes, kCFBooleanTrue);
    CFDictionarySetValue(query, kSecReturnData, kCFBooleanTrue);
    CFDictionaryRef item = NULL;
    OSStatus found = SecItemCopyMatching(query, (CFTypeRef *)&item);
    status("get", found);
    if (found == errSecSuccess) {
        text("account", CFDictionaryGetValue(item, kSecAttrAccount));
        text("password", CFDictionaryGetValue(item, kSecValueData));
    }
    CFRelease(item);
    CFRelease(query);
}

static void keep(const char *password)
{
    CFDataRef bytes = data(password);
    CFMutableDataRef value = CFDataCreateMutableCopy(kCFAllocatorDefault, 0, bytes);
    CFMutableDictionaryRef query = login(), item = login();
    CFDictionarySetValue(item, kSecValueData, value);
    OSStatus added = SecItemAdd(item, NULL);
    status("store", added == errSecDuplicateItem ? SecItemUpdate(query, item) : added);
    CFRelease(item);
    CFRelease(query);
    CFRelease(value);
    CFRelease(bytes);
}

/* Erases the item if it has the password. */
static OSStatus erase_item(CFTypeRef item, CFDataRef password)
{
    CFArrayRef list = CFArrayCreate(kCFAllocatorDefault, &item, 1, &kCFTypeArrayCallBacks);
    CFMutableDictionaryRef query = dictionary();
    CFDictionarySetValue(query, kSecClass, kSecClassInternetPassword);
    set(query, kSecMatchItemList, list);
    CFMutableDictionaryRef search = CFDictionaryCreateMutableCopy(kCFAllocatorDefault, 0, query);
    CFDictionarySetValue(search, kSecReturnData, kCFBooleanTrue);
    CFDataRef found = NULL;
    OSStatus result = SecItemCopyMatching(search, (CFTypeRef *)&found);
    if (result == errSecSuccess && CFEqual(found, password))
        result = SecItemDelete(query);
    CFRelease(found);
    CFRelease(search);
    CFRelease(query);
    return result;
}

static void erase(const char *name, const char *password)
{
    CFMutableDictionaryRef query = login();
    CFDataRef bytes = data(password);
    CFDictionarySetValue(query, kSecMatchLimit, kSecMatchLimitAll);
    CFDictionarySetValue(query, kSecReturnRef, kCFBooleanTrue);
    CFArrayRef items = NULL;
    OSStatus result = SecItemCopyMatching(query, (CFTypeRef *)&items);
    for (CFIndex index = 0; result == errSecSuccess && index < CFArrayGetCount(items); index++)
        result = erase_item(CFArrayGetValueAtIndex(items, index), bytes);
    status(name, result);
    CFRelease(items);
    CFRelease(bytes);
    CFRelease(query);
}

void logins(void)
{
    get();
    keep("first");
    get();
    keep("second");
    get();
    erase("erase another", "first");
    get();
    erase("erase", "second");
    get();
}

void copies(void)
{
    CFMutableDataRef bytes = CFDataCreateMutable(kCFAllocatorDefault, 0);
    CFDataAppendBytes(bytes, (const UInt8 *)"abc", 3);
    CFDataRef copy = CFDataCreateCopy(NULL, bytes);
    CFDataGetMutableBytePtr(bytes)[0] = 'x';
    truth("filled", CFDataGetLength(bytes) == 3 && memcmp(CFDataGetBytePtr(copy), "abc", 3) == 0);
    CFDataSetLength(bytes, 1);
    CFDataAppendBytes((CFMutableDataRef)copy, (const UInt8 *)"d", 1);
    truth("cut", CFDataGetLength(bytes) == 1 && CFDataGetLength(copy) == 3);

    CFMutableDictionaryRef entries = dictionary();
    set(entries, kSecAttrAccount, string("me"));
    CFMutableDictionaryRef more = CFDictionaryCreateMutableCopy(NULL, 0, entries);
    CFDictionaryRef same = CFDictionaryCreateCopy(NULL, entries);
    set(more, kSecAttrServer, string("here"));
    CFArrayRef array = CFArrayCreate(NULL, (const void **)&same, 1, NULL), same_array = CFArrayCreateCopy(NULL, array);
    CFMutableArrayRef longer = CFArrayCreateMutableCopy(NULL, 0, array);
    CFArrayAppendValue(longer, kCFNull);
    truth(
        "of its own", CFDictionaryGetCount(entries) == 1 && CFDictionaryGetCount(same) == 1
            && CFArrayGetCount(same_array) == 1 && CFArrayGetCount(longer) == 2);
    printf("entries: %ld\n", CFDictionaryGetCount(more));
    const void *keys[2] = {0}, *values[2] = {0}, *value = NULL;
    CFDictionaryGetKeysAndValues(more, keys, values);
    truth(
        "each once", keys[0] != keys[1] && CFDictionaryGetValue(more, keys[0]) == values[0]
            && CFDictionaryGetValue(more, keys[1]) == values[1]);
    CFDictionaryGetKeysAndValues(more, NULL, NULL);
    truth("present", CFDictionaryGetValueIfPresent(more, kSecAttrServer, &value) && value != NULL);
    truth("absent", CFDictionaryContainsKey(more, kSecAttrPath));
    CFStringRef server = CFStringCreateCopy(NULL, value);
    truth("no pointer", CFStringGetCStringPtr(server, kCFStringEncodingUTF8) == NULL && CFEqual(server, value));
    truth(
        "refused", !CFDataCreateMutable(NULL, -1) && !CFDataCreateMutableCopy(NULL, 0, NULL)
            && !CFDictionaryCreateMutableCopy(NULL, -1, more) && !CFDictionaryCreateCopy(NULL, (CFDictionaryRef)array)
            && !CFArrayCreateMutableCopy(NULL, -1, array) && !CFArrayCreateCopy(NULL, (CFArrayRef)more)
            && !CFStringCreateCopy(NULL, (CFStringRef)more) && !CFDataGetMutableBytePtr((CFMutableDataRef)more)
            && !CFDictionaryGetValueIfPresent(NULL, kSecAttrServer, &value));
    CFDictionaryGetKeysAndValues(NULL, keys, values);
    CFDataSetLength(NULL, 1);
    truth("now", CFAbsoluteTimeGetCurrent() > 700000000);
    CFRelease(server);
    CFRelease(longer);
    CFRelease(same_array);
    CFRelease(array);
    CFRelease(same);
    CFRelease(more);
    CFRelease(entries);
    CFRelease(copy);
    CFRelease(bytes);
}
