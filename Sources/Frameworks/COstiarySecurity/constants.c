/* The constants of ostiary-security.h: objects, made when the library is loaded and never freed. */
#define OSTIARY_CONSTANT
#include "ostiary-security.h"

/* In Swift: an object that the caller owns. */
extern CFBooleanRef ostiary_boolean_create(Boolean value);

#define DEFINE(name, text) CFStringRef name;
OSTIARY_ITEM_CONSTANTS(DEFINE)
OSTIARY_KEY_ALGORITHMS(DEFINE)

CFBooleanRef kCFBooleanTrue;
CFBooleanRef kCFBooleanFalse;
const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks = {0};
const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks = {0};

__attribute__((constructor)) static void make_constants(void)
{
    kCFBooleanTrue = ostiary_boolean_create(1);
    kCFBooleanFalse = ostiary_boolean_create(0);
#define MAKE(name, text) name = CFStringCreateWithCString(NULL, text, kCFStringEncodingUTF8);
    OSTIARY_ITEM_CONSTANTS(MAKE)
    OSTIARY_KEY_ALGORITHMS(MAKE)
}
