/* For sources that include Apple's Core Foundation by this name. */
#include "../ostiary-security.h"
