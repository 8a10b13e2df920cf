public import Crypto
public import Foundation

/// A point of a curve that was checked to lie on it.
public struct ECPublicKey<Curve: EllipticCurve>: Hashable, Sendable {
    /// Length of ``x963``.
    public static var byteCount: Int { Curve.pointByteCount }

    /// `04 ‖ X ‖ Y`, both coordinates big-endian and as long as the field: ANSI X9.63, uncompressed; Apple's external
    /// representation. 65 bytes on P-256.
    public let x963: Data

    let verificationKey: Curve.VerificationKey

    /// Reads exactly the uncompressed form. Compressed and hybrid points, infinity and points off the curve are refused
    /// with ``KeyAlgorithmError/Parameter/publicKey``.
    public init(x963: Data) throws(KeyAlgorithmError) {
        // Said here, not left to the library, which may come to read the other forms.
        guard x963.count == Self.byteCount, x963.first == 0x04 else { throw .invalidParameter(.publicKey) }
        try self.init { try Curve.VerificationKey(x963Representation: x963) }
    }

    /// Reads a DER SubjectPublicKeyInfo of the named curve (RFC 5480), as `openssl pkey -pubout -outform DER` writes it.
    /// The point is uncompressed there too.
    public init(der: Data) throws(KeyAlgorithmError) {
        guard der.count <= KeyAlgorithmLimits.encodedPublicKey else { throw .invalidParameter(.publicKey) }
        try self.init { try Curve.VerificationKey(derRepresentation: der) }
    }

    /// Reads a PEM SubjectPublicKeyInfo, label `PUBLIC KEY`, as `openssl pkey -pubout` writes it.
    public init(pem: String) throws(KeyAlgorithmError) {
        guard pem.utf8.count <= KeyAlgorithmLimits.encodedPublicKey else { throw .invalidParameter(.publicKey) }
        try self.init { try Curve.VerificationKey(pemRepresentation: pem) }
    }

    /// The key of swift-crypto, which exists only for points of the curve.
    public init(_ key: Curve.VerificationKey) {
        x963 = key.x963Representation
        verificationKey = key
    }

    private init(parsing parse: () throws -> Curve.VerificationKey) throws(KeyAlgorithmError) {
        do {
            self.init(try parse())
        } catch {
            throw .invalidParameter(.publicKey)
        }
    }

    /// DER SubjectPublicKeyInfo; 91 bytes on P-256.
    public var der: Data { verificationKey.derRepresentation }

    /// PEM SubjectPublicKeyInfo with a final newline, for `openssl` and files.
    public var pem: String { verificationKey.pemRepresentation + "\n" }

    public static func == (first: ECPublicKey, second: ECPublicKey) -> Bool {
        first.x963 == second.x963
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(x963)
    }
}

/// A public key of the enclave's curve.
public typealias P256PublicKey = ECPublicKey<P256>
