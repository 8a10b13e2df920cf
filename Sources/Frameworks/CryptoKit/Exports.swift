// What an import of Apple's CryptoKit brings along: swift-crypto has everything of it but the enclave.
@_exported public import Crypto
