#include <winscard.h>

/* Swift imports no macro that casts. */
enum {
    OSTIARY_SCARD_READER_NAMES = PCSCLITE_MAX_READERS_CONTEXTS * MAX_READERNAME + 1,
    OSTIARY_SCARD_ANSWER = MAX_BUFFER_SIZE_EXTENDED,
};

static const LONG ostiary_scard_sharing_violation = SCARD_E_SHARING_VIOLATION;
