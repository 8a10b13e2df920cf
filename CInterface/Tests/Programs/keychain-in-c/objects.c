/* What the scenarios make objects with, and print them. */
#include "program.h"

#include <stdio.h>
#include <string.h>

CFStringRef string(const char *text)
{
    return CFStringCreateWithCString(kCFAllocatorDefault, text, kCFStringEncodingUTF8);
}

CFDataRef data(const char *text)
{
    return CFDataCreate(kCFAllocatorDefault, (const uint8_t *)text, (CFIndex)strlen(text));
}

CFDataRef hexadecimal(const char *digits)
{
    static uint8_t bytes[4096];
    CFIndex length = 0;
    for (unsigned byte; length < (CFIndex)sizeof bytes && sscanf(digits + 2 * length, "%2x", &byte) == 1; length++)
        bytes[length] = (uint8_t)byte;
    return CFDataCreate(kCFAllocatorDefault, bytes, length);
}

CFNumberRef number(int value)
{
    return CFNumberCreate(kCFAllocatorDefault, kCFNumberIntType, &value);
}

CFMutableDictionaryRef dictionary(void)
{
    return CFDictionaryCreateMutable(
        kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
}

void set(CFMutableDictionaryRef dictionary, CFStringRef key, CFTypeRef value)
{
    CFDictionarySetValue(dictionary, key, value);
    CFRelease(value);
}

void status(const char *name, OSStatus status)
{
    printf("%s: %d\n", name, (int)status);
}

void truth(const char *name, int value)
{
    printf("%s: %s\n", name, value ? "yes" : "no");
}

void text(const char *name, CFTypeRef value)
{
    char text[128];
    if (CFGetTypeID(value) == CFDataGetTypeID())
        printf("%s: %.*s\n", name, (int)CFDataGetLength(value), (const char *)CFDataGetBytePtr(value));
    else if (CFStringGetCString(value, text, sizeof text, kCFStringEncodingUTF8))
        printf("%s: %s\n", name, text);
    else
        printf("%s: neither data nor text\n", name);
}

void failure(const char *name, CFErrorRef *error)
{
    char domain[64];
    if (CFStringGetCString(CFErrorGetDomain(*error), domain, sizeof domain, kCFStringEncodingUTF8))
        printf("%s: %s %ld\n", name, domain, CFErrorGetCode(*error));
    else
        printf("%s: nothing\n", name);
    CFRelease(*error);
    *error = NULL;
}

void refused(const char *name, CFTypeRef result, CFErrorRef *error)
{
    if (result)
        printf("%s: something\n", name);
    else
        failure(name, error);
    CFRelease(result);
}

void objects(void)
{
    CFStringRef one = string("text"), same = string("text");
    CFDateRef date = CFDateCreate(kCFAllocatorDefault, 86400.5);
    printf("date: %.1f\n", CFDateGetAbsoluteTime(date));
    CFDateRef later = CFDateCreate(kCFAllocatorDefault, 86500);
    printf(
        "order of dates: %ld %ld %ld %ld\n", CFDateCompare(date, later, NULL), CFDateCompare(later, date, NULL),
        CFDateCompare(date, date, NULL), CFDateCompare((CFDateRef)one, date, NULL));
    printf(
        "between them: %.1f %.1f\n", CFDateGetTimeIntervalSinceDate(later, date),
        CFDateGetTimeIntervalSinceDate(later, (CFDateRef)one));
    CFRelease(later);
    const void *values[] = {one, date, kCFNull};
    CFArrayRef array = CFArrayCreate(kCFAllocatorDefault, values, 3, &kCFTypeArrayCallBacks);
    values[0] = same;
    CFArrayRef same_array = CFArrayCreate(kCFAllocatorDefault, values, 3, &kCFTypeArrayCallBacks);
    CFRelease(date);
    printf("array: %ld\n", CFArrayGetCount(array));
    truth("date in it", CFGetTypeID(CFArrayGetValueAtIndex(array, 1)) == CFDateGetTypeID());
    truth("null in it", CFGetTypeID(CFArrayGetValueAtIndex(array, 2)) == CFNullGetTypeID());
    truth("texts are equal", CFEqual(one, same) && CFHash(one) == CFHash(same));
    truth("arrays are equal", CFEqual(array, same_array) && CFHash(array) == CFHash(same_array));
    truth("text equals array", CFEqual(one, array));
    truth("text equals another", CFEqual(one, kSecClass));

    CFMutableDictionaryRef first = dictionary(), second = dictionary();
    CFDictionarySetValue(first, one, array);
    truth("unlike dictionaries are equal", CFEqual(first, second));
    CFDictionarySetValue(second, same, same_array);
    truth("dictionaries are equal", CFEqual(first, second) && CFHash(first) == CFHash(second));
    CFDictionarySetValue(first, first, first);
    CFDictionarySetValue(second, one, first);
    CFDictionarySetValue(first, one, second);
    truth("loops are equal", CFEqual(first, second));
    truth("a loop equals itself", CFEqual(first, first) && CFHash(first) == CFHash(first));
    truth("a loop is described", CFCopyDescription(first) != NULL);
    CFDictionaryRemoveValue(first, one);
    CFDictionaryRemoveValue(first, first);

    CFStringRef description = CFCopyDescription(one);
    text("description", description);
    CFRelease(description);
    CFStringRef kind = CFCopyTypeIDDescription(CFGetTypeID(one)), above = string("Text");
    text("kind", kind);
    truth("no kind", CFCopyTypeIDDescription(0) || CFCopyTypeIDDescription(1000));
    printf(
        "order: %ld %ld %ld %ld %ld\n", CFStringCompare(one, same, 0), CFStringCompare(one, above, 0),
        CFStringCompare(above, one, 0), CFStringCompare(one, above, kCFCompareCaseInsensitive),
        CFStringCompare(NULL, (CFStringRef)array, 0));
    CFRelease(above);
    CFRelease(kind);
    uint8_t bytes[] = {1, 2, 3};
    CFDataRef copy = CFDataCreateWithBytesNoCopy(kCFAllocatorDefault, bytes, 3, kCFAllocatorNull);
    bytes[0] = 9;
    truth("copied", CFDataGetLength(copy) == 3 && CFDataGetBytePtr(copy)[0] == 1);
    truth(
        "copied from nowhere", CFDataCreateWithBytesNoCopy(NULL, NULL, 1, NULL)
            || CFDataCreateWithBytesNoCopy(NULL, bytes, -1, NULL));
    CFRelease(copy);
    const void *missing[] = {one, NULL};
    truth(
        "refused", !CFArrayCreate(NULL, missing, 2, NULL) && !CFArrayCreate(NULL, NULL, 1, NULL)
            && !CFArrayCreate(NULL, missing, -1, NULL) && CFDateGetAbsoluteTime((CFDateRef)one) == 0
            && CFDateGetAbsoluteTime(NULL) == 0 && !CFEqual(one, NULL) && !CFEqual(NULL, one) && CFHash(NULL) == 0
            && !CFCopyDescription(NULL));
    CFRelease(second);
    CFRelease(first);
    CFRelease(same_array);
    CFRelease(array);
    CFRelease(same);
    CFRelease(one);
}

void containers(void)
{
    CFStringRef account = CFSTR("acct"), composed = CFSTR("\xc3\xa9"), decomposed = CFSTR("e\xcc\x81");
    truth("one object for a literal", account == CFSTR("ac" "ct") && account != CFSTR("svce"));
    truth("a literal is its text", CFEqual(account, kSecAttrAccount));
    truth("each spelling is its own", composed != decomposed && CFStringGetLength(decomposed) == 2);
    truth("no text", CFSTR("\xff") != NULL);

    CFStringRef value = string("value");
    const void *keys[] = {account, kSecAttrService, kSecAttrAccount}, *values[] = {value, kCFBooleanTrue, kCFNull};
    CFDictionaryRef dictionary = CFDictionaryCreate(
        kCFAllocatorDefault, keys, values, 3, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFRelease(value);
    printf("entries: %ld\n", CFDictionaryGetCount(dictionary));
    text("first of equal keys", CFDictionaryGetValue(dictionary, kSecAttrAccount));
    CFDictionarySetValue((CFMutableDictionaryRef)dictionary, account, kCFNull);
    CFDictionaryAddValue((CFMutableDictionaryRef)dictionary, kSecClass, kCFNull);
    CFDictionaryRemoveValue((CFMutableDictionaryRef)dictionary, account);
    truth("stays", CFDictionaryGetValue(dictionary, account) == value && CFDictionaryGetCount(dictionary) == 2);
    CFDictionaryRef empty = CFDictionaryCreate(NULL, NULL, NULL, 0, NULL, NULL);
    printf("empty: %ld\n", CFDictionaryGetCount(empty));

    CFMutableDictionaryRef filled = CFDictionaryCreateMutable(NULL, 0, NULL, NULL);
    CFDictionaryAddValue(filled, account, kCFBooleanTrue);
    CFDictionaryAddValue(filled, kSecAttrAccount, kCFBooleanFalse);
    truth("the first value stays", CFBooleanGetValue(CFDictionaryGetValue(filled, account)));

    CFMutableArrayRef array = CFArrayCreateMutable(kCFAllocatorDefault, 1, &kCFTypeArrayCallBacks);
    CFArrayAppendValue(array, dictionary);
    CFArrayAppendValue(array, account);
    const void *same_values[] = {dictionary, account};
    CFArrayRef same = CFArrayCreate(NULL, same_values, 2, NULL);
    CFArrayAppendValue((CFMutableArrayRef)same, account);
    truth("arrays are equal", CFArrayGetCount(same) == 2 && CFEqual(array, same));
    truth("lends", CFArrayGetValueAtIndex(array, 0) == dictionary);
    CFArrayAppendValue(array, array);
    truth("a loop of arrays is described", CFCopyDescription(array) != NULL);

    const void *missing[] = {account, NULL};
    truth(
        "refused", !CFDictionaryCreate(NULL, missing, keys, 2, NULL, NULL)
            && !CFDictionaryCreate(NULL, keys, missing, 2, NULL, NULL)
            && !CFDictionaryCreate(NULL, keys, NULL, 1, NULL, NULL)
            && !CFDictionaryCreate(NULL, NULL, keys, 1, NULL, NULL)
            && !CFDictionaryCreate(NULL, keys, values, -1, NULL, NULL) && !ostiary_constant_string(NULL));
    CFDictionaryAddValue(NULL, account, account);
    CFDictionaryAddValue(filled, NULL, account);
    CFDictionaryAddValue(filled, kSecClass, NULL);
    CFDictionaryAddValue((CFMutableDictionaryRef)array, account, account);
    CFArrayAppendValue(NULL, account);
    CFArrayAppendValue(array, NULL);
    CFArrayAppendValue((CFMutableArrayRef)filled, account);
    printf("harmless: %ld %ld\n", CFDictionaryGetCount(filled), CFArrayGetCount(array));
    CFRelease(same);
    CFRelease(filled);
    CFRelease(empty);
    CFRelease(dictionary);
}

void errors(void)
{
    CFErrorRef error = NULL;
    SecKeyCreateRandomKey(NULL, &error);
    truth("is an error", CFGetTypeID(error) == CFErrorGetTypeID());
    CFErrorDomain domain = CFErrorGetDomain(error);
    truth("domain is lent", domain == CFErrorGetDomain(error) && CFEqual(domain, kCFErrorDomainOSStatus));
    CFStringRef description = CFErrorCopyDescription(error);
    CFDictionaryRef info = CFErrorCopyUserInfo(error);
    truth("description is told", CFEqual(description, CFDictionaryGetValue(info, kCFErrorLocalizedDescriptionKey)));
    truth("and for developers", CFDictionaryGetValue(info, kCFErrorDescriptionKey) != NULL);
    truth("reason", CFErrorCopyFailureReason(error) != NULL);
    CFRelease(info);
    text("description", description);
    CFRelease(description);

    CFMutableDictionaryRef own_info = dictionary();
    set(own_info, kCFErrorLocalizedDescriptionKey, string("It did not work."));
    set(own_info, kCFErrorLocalizedFailureReasonKey, string("It was off."));
    CFDictionarySetValue(own_info, kCFErrorUnderlyingErrorKey, error);
    set(own_info, kCFErrorLocalizedRecoverySuggestionKey, string("Turn it on."));
    CFErrorRef own = CFErrorCreate(kCFAllocatorDefault, kCFErrorDomainPOSIX, 2, own_info);
    CFRelease(own_info);
    text("own domain", CFErrorGetDomain(own));
    printf("own code: %ld\n", CFErrorGetCode(own));
    description = CFErrorCopyDescription(own);
    text("own description", description);
    CFRelease(description);
    description = CFErrorCopyFailureReason(own);
    text("own reason", description);
    CFRelease(description);
    description = CFErrorCopyRecoverySuggestion(own);
    text("own advice", description);
    CFRelease(description);
    info = CFErrorCopyUserInfo(own);
    truth("cause", CFEqual(CFDictionaryGetValue(info, kCFErrorUnderlyingErrorKey), error));
    CFRelease(info);
    failure("own", &own);

    /* Entries of a wrong kind, and keys that are no text. */
    own_info = dictionary();
    set(own_info, kCFErrorLocalizedDescriptionKey, number(1));
    set(own_info, kCFErrorLocalizedFailureReasonKey, number(2));
    set(own_info, kCFErrorLocalizedRecoverySuggestionKey, number(3));
    own = CFErrorCreate(NULL, kCFErrorDomainCocoa, 7, own_info);
    CFDictionarySetValue(own_info, own, own);
    description = CFErrorCopyDescription(own);
    truth("description of a number", description != NULL);
    truth("reason of a number", CFErrorCopyFailureReason(own) != NULL);
    truth("advice of a number", CFErrorCopyRecoverySuggestion(own) != NULL);
    CFRelease(description);
    failure("odd", &own);
    own = CFErrorCreate(NULL, kCFErrorDomainCocoa, 8, own_info);
    failure("odder", &own);
    CFRelease(own_info);

    CFStringRef wrong = string("wrong");
    truth(
        "refused", CFErrorGetCode(NULL) == 0 && CFErrorGetCode((CFErrorRef)wrong) == 0 && !CFErrorGetDomain(NULL)
            && !CFErrorGetDomain((CFErrorRef)wrong) && !CFErrorCopyDescription(NULL)
            && !CFErrorCopyDescription((CFErrorRef)wrong) && !CFErrorCopyFailureReason((CFErrorRef)wrong)
            && !CFErrorCopyRecoverySuggestion((CFErrorRef)wrong) && !CFErrorCopyRecoverySuggestion(NULL)
            && !CFErrorCopyUserInfo((CFErrorRef)wrong) && !CFErrorCreate(NULL, NULL, 1, NULL)
            && !CFErrorCreate(NULL, wrong, 1, (CFDictionaryRef)wrong));
    CFRelease(wrong);
    failure("error", &error);
}
