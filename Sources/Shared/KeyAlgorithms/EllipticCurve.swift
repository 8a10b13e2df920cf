public import Crypto
public import Foundation

/// A curve of NIST that keys are made on, as swift-crypto has it: `P256`, `P384` and `P521`. Keys in the enclave are P-256;
/// the other curves are for keys that programs hold themselves.
public protocol EllipticCurve: Sendable {
    associatedtype VerificationKey: CurveVerificationKey
    associatedtype SigningKey: CurveSigningKey where SigningKey.VerificationKey == VerificationKey
    associatedtype AgreementKey: CurveAgreementKey where AgreementKey.Curve == Self
    /// Size of a coordinate and of a private key.
    static var bitCount: Int { get }
}

extension EllipticCurve {
    /// Length in bytes of a coordinate, and of a number of the group.
    public static var fieldByteCount: Int { (bitCount + 7) / 8 }

    /// Length in bytes of `04 ‖ X ‖ Y`.
    public static var pointByteCount: Int { 1 + 2 * fieldByteCount }
}

/// A public key of swift-crypto that checks signatures.
public protocol CurveVerificationKey: Sendable {
    associatedtype Signature: CurveSignature
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    init<Bytes: RandomAccessCollection>(derRepresentation: Bytes) throws where Bytes.Element == UInt8
    init(pemRepresentation: String) throws
    var x963Representation: Data { get }
    var derRepresentation: Data { get }
    var pemRepresentation: String { get }
    func isValidSignature<D: Digest>(_ signature: Signature, for digest: D) -> Bool
}

/// A signature of swift-crypto: two numbers of the group.
public protocol CurveSignature: Sendable {
    init<Bytes: DataProtocol>(rawRepresentation: Bytes) throws
    init<Bytes: DataProtocol>(derRepresentation: Bytes) throws
    var rawRepresentation: Data { get }
    var derRepresentation: Data { get }
}

/// A private key of swift-crypto that signs. Its X9.63 form is `04 ‖ X ‖ Y ‖ K`.
public protocol CurveSigningKey: Sendable {
    associatedtype VerificationKey: CurveVerificationKey
    init(compactRepresentable: Bool)
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    var x963Representation: Data { get }
    var publicKey: VerificationKey { get }
    func signature<D: Digest>(for digest: D) throws -> VerificationKey.Signature
}

/// A private key of swift-crypto that exchanges keys.
public protocol CurveAgreementKey: Sendable {
    associatedtype Curve: EllipticCurve
    associatedtype PeerKey: CurveAgreementPublicKey
    init(compactRepresentable: Bool)
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    var publicKey: PeerKey { get }
    func sharedSecretFromKeyAgreement(with publicKeyShare: PeerKey) throws -> SharedSecret
}

/// A public key of swift-crypto that keys are exchanged with.
public protocol CurveAgreementPublicKey: Sendable {
    init<Bytes: ContiguousBytes>(x963Representation: Bytes) throws
    var x963Representation: Data { get }
}

// The same for each curve, since every conformance has to be declared for itself.

extension P256: EllipticCurve {
    public typealias VerificationKey = Signing.PublicKey
    public typealias SigningKey = Signing.PrivateKey
    public typealias AgreementKey = KeyAgreement.PrivateKey
    public static var bitCount: Int { 256 }
}
extension P256.Signing.PrivateKey: CurveSigningKey { public typealias VerificationKey = P256.Signing.PublicKey }
extension P256.Signing.PublicKey: CurveVerificationKey { public typealias Signature = P256.Signing.ECDSASignature }
extension P256.Signing.ECDSASignature: CurveSignature {}
extension P256.KeyAgreement.PrivateKey: CurveAgreementKey { public typealias Curve = P256 }
extension P256.KeyAgreement.PublicKey: CurveAgreementPublicKey {}

extension P384: EllipticCurve {
    public typealias VerificationKey = Signing.PublicKey
    public typealias SigningKey = Signing.PrivateKey
    public typealias AgreementKey = KeyAgreement.PrivateKey
    public static var bitCount: Int { 384 }
}
extension P384.Signing.PrivateKey: CurveSigningKey { public typealias VerificationKey = P384.Signing.PublicKey }
extension P384.Signing.PublicKey: CurveVerificationKey { public typealias Signature = P384.Signing.ECDSASignature }
extension P384.Signing.ECDSASignature: CurveSignature {}
extension P384.KeyAgreement.PrivateKey: CurveAgreementKey { public typealias Curve = P384 }
extension P384.KeyAgreement.PublicKey: CurveAgreementPublicKey {}

extension P521: EllipticCurve {
    public typealias VerificationKey = Signing.PublicKey
    public typealias SigningKey = Signing.PrivateKey
    public typealias AgreementKey = KeyAgreement.PrivateKey
    public static var bitCount: Int { 521 }
}
extension P521.Signing.PrivateKey: CurveSigningKey { public typealias VerificationKey = P521.Signing.PublicKey }
extension P521.Signing.PublicKey: CurveVerificationKey { public typealias Signature = P521.Signing.ECDSASignature }
extension P521.Signing.ECDSASignature: CurveSignature {}
extension P521.KeyAgreement.PrivateKey: CurveAgreementKey { public typealias Curve = P521 }
extension P521.KeyAgreement.PublicKey: CurveAgreementPublicKey {}
