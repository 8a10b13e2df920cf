package import Foundation
package import KeyAlgorithms

/// What is to be signed.
package struct SignedInput: Equatable, Sendable {
    package let mechanism: SignatureMechanism
    /// The message, if the mechanism hashes it and it was short enough to be kept.
    package let message: Data?
    /// The digest of the message; what the host gave where the mechanism hashes nothing.
    package let bytes: Data

    /// The digest and its hash, which is nil where the host gave a digest without a name; all of the data for Ed25519.
    ///
    /// - Throws: ``TokenRefusal/dataInvalid``, ``TokenRefusal/dataLength``.
    package func digest() throws(TokenRefusal) -> (bytes: Data, hash: HashAlgorithm?) {
        switch mechanism {
        case .ecdsa(nil):
            // From SHA-1 to SHA-512. A shorter one is none.
            guard (20...64).contains(bytes.count) else { throw .dataLength }
            return (bytes, nil)
        case .pkcs1(nil):
            guard let info = DigestInfo.read(bytes) else { throw .dataInvalid }
            return (info.digest, info.hash)
        case .ecdsa(let hash?), .pkcs1(let hash?), .pss(let hash, _):
            guard bytes.count == hash.byteCount else { throw .dataLength }
            return (bytes, hash)
        case .ed25519: return (bytes, nil)
        }
    }
}

/// The data of an operation that comes in parts.
package struct OperationData: Sendable {
    package let wireMechanism: WireMechanism
    private let mechanism: SignatureMechanism
    private var hash: StreamingHash?
    private var kept = Data()
    private var byteCount = 0

    /// - Throws: what ``WireMechanism/signature()`` throws.
    package init(_ mechanism: WireMechanism) throws(TokenRefusal) {
        wireMechanism = mechanism
        self.mechanism = try mechanism.signature()
        hash = self.mechanism.messageHash.map { StreamingHash($0) }
    }

    package mutating func add(_ data: Data) {
        byteCount += data.count
        hash?.update(data)
        if byteCount <= PKCS11Limits.keptByteCount { kept += data }
    }

    /// - Throws: ``TokenRefusal/dataLength`` for more data than the mechanism takes.
    package func finished() throws(TokenRefusal) -> SignedInput {
        let isWhole = byteCount <= PKCS11Limits.keptByteCount
        if let hash {
            return SignedInput(mechanism: mechanism, message: isWhole ? kept : nil, bytes: hash.finalize())
        }
        guard isWhole else { throw .dataLength }
        return SignedInput(mechanism: mechanism, message: nil, bytes: kept)
    }
}

/// The other side's key of an agreement on P-256.
package enum PeerPoint {
    /// Reads a point of the curve, bare or in a DER OCTET STRING, as hosts of both kinds give it. The daemon reads it only after its question,
    /// and nobody is to be asked for what cannot be done.
    ///
    /// - Throws: ``TokenRefusal/mechanismParameterInvalid``.
    package static func read(_ bytes: Data) throws(TokenRefusal) -> Data {
        let head: [UInt8] = [0x04, 65]
        let point = bytes.count == 67 && bytes.starts(with: head) ? Data(bytes.dropFirst(2)) : bytes
        do throws(KeyAlgorithmError) { return try P256PublicKey(x963: point).x963 } catch {
            throw .mechanismParameterInvalid
        }
    }
}
