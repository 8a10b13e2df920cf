/* For sources that include Apple's Security framework by this name. */
#include "../ostiary-security.h"
