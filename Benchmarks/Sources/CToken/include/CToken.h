// A host of a PKCS #11 module that does no more than it must. Where a call fails, standard error says why.
#pragma once

#include <stdint.h>

typedef struct benchmark_token benchmark_token;

/// Loads a module, opens a session with the token of this label, and finds its private key of this label; NULL when that fails. A module that
/// looks into the environment does so now.
///
/// - pin: NULL for a token that needs none.
benchmark_token *benchmark_token_open(const char *module, const char *label, const char *pin, const char *key);

void benchmark_token_close(benchmark_token *token);

/// Signs a digest by CKM_ECDSA: C_SignInit and C_Sign. `r ‖ s`; 0 on success.
int benchmark_token_sign(benchmark_token *token, const uint8_t digest[32], uint8_t signature[64]);
