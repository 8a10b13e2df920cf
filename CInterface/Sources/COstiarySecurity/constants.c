/* The constants of ostiary-security.h: objects, made when the library is loaded and never freed. */
#define OSTIARY_CONSTANT
#include "ostiary-security.h"

/* In Swift: objects that the caller owns. */
extern CFBooleanRef ostiary_boolean_create(Boolean value);
extern CFNullRef ostiary_null_create(void);

#define DEFINE(name, text) CFStringRef name;
OSTIARY_ITEM_CONSTANTS(DEFINE)
OSTIARY_KEY_CONSTANTS(DEFINE)
OSTIARY_ERROR_CONSTANTS(DEFINE)

CFBooleanRef kCFBooleanTrue;
CFBooleanRef kCFBooleanFalse;
CFNullRef kCFNull;
const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks = {0};
const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks = {0};
const CFArrayCallBacks kCFTypeArrayCallBacks = {0};

__attribute__((constructor)) static void make_constants(void)
{
    kCFBooleanTrue = ostiary_boolean_create(1);
    kCFBooleanFalse = ostiary_boolean_create(0);
    kCFNull = ostiary_null_create();
#define MAKE(name, text) name = CFStringCreateWithCString(NULL, text, kCFStringEncodingUTF8);
    OSTIARY_ITEM_CONSTANTS(MAKE)
    OSTIARY_KEY_CONSTANTS(MAKE)
    OSTIARY_ERROR_CONSTANTS(MAKE)
}
