// What an import of Apple's CryptoKit brings along: swift-crypto has everything of it but the enclave. Security comes
// along because a program that makes an access control for an enclave key gets it from Foundation on Apple's systems.
@_exported public import Crypto
@_exported public import Security
