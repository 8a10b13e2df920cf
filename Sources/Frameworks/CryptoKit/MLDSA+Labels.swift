public import Crypto
public import Foundation

// The labels of the first versions of Apple's SDK with ML-DSA, which programs still use. The released one leaves the first
// label out, as swift-crypto does.

extension MLDSA65.PublicKey {
    /// Whether `signature` is one of `data` by this key, made without a context.
    public func isValidSignature<S: DataProtocol, D: DataProtocol>(signature: S, for data: D) -> Bool {
        isValidSignature(signature, for: data)
    }

    /// Whether `signature` is one of `data` by this key, made for this context.
    public func isValidSignature<S: DataProtocol, D: DataProtocol, C: DataProtocol>(
        signature: S, for data: D, context: C
    ) -> Bool {
        isValidSignature(signature, for: data, context: context)
    }
}

extension MLDSA87.PublicKey {
    /// Whether `signature` is one of `data` by this key, made without a context.
    public func isValidSignature<S: DataProtocol, D: DataProtocol>(signature: S, for data: D) -> Bool {
        isValidSignature(signature, for: data)
    }

    /// Whether `signature` is one of `data` by this key, made for this context.
    public func isValidSignature<S: DataProtocol, D: DataProtocol, C: DataProtocol>(
        signature: S, for data: D, context: C
    ) -> Bool {
        isValidSignature(signature, for: data, context: context)
    }
}
