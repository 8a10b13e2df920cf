// The one slot, the one token, and what it can do.
#pragma once

#include <stdbool.h>

#include "cryptoki.h"

enum { SLOT = 0 };

// NULL for a mechanism that the token does not have.
struct known_mechanism {
  CK_MECHANISM_TYPE type;
  CK_KEY_TYPE key_type;
  CK_MECHANISM_INFO info;
};
const struct known_mechanism *find_mechanism(CK_MECHANISM_TYPE type);

// Writes type and parameters for the door. CKR_MECHANISM_PARAM_INVALID where they are none of this mechanism.
CK_RV describe_mechanism(const CK_MECHANISM *mechanism, unsigned char *description);
