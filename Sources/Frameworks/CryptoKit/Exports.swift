// An import of Apple's CryptoKit also imports these. swift-crypto has all of CryptoKit except the enclave. Security is
// exported because a program that makes an access control for an enclave key gets it through Foundation on Apple's
// systems.
@_exported public import Crypto
@_exported public import Security
