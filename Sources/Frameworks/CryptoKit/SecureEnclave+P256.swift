public import Crypto
public import Foundation
import KeyAlgorithms
import OstiaryClient
import SecretMemory
public import Security

extension SecureEnclave {
    /// Keys on the curve P-256.
    public enum P256 {
        public enum Signing {}
        public enum KeyAgreement {}
    }
}

extension SecureEnclave.P256.Signing {
    /// A private key that signs (ECDSA).
    public struct PrivateKey: Sendable {
        private let holder: EnclaveKeyHolder

        /// The public half, which verifies without the enclave.
        public let publicKey: Crypto.P256.Signing.PublicKey

        /// Makes a key.
        ///
        /// - Parameters:
        ///   - compactRepresentable: has no effect here; every key of the enclave has the same form.
        ///   - accessControl: what using the key asks for.
        ///   - authenticationContext: under which the key is used; without one every use asks by itself.
        public init(
            compactRepresentable: Bool = true, accessControl: SecAccessControl = SecureEnclave.standardAccessControl,
            authenticationContext: (any AuthenticationContextProtocol)? = nil
        ) throws {
            try self.init(EnclaveKeyMaker.make(.p256, accessControl, authenticationContext))
        }

        /// Opens a key again that this enclave made.
        public init(dataRepresentation: Data, authenticationContext: (any AuthenticationContextProtocol)? = nil) throws
        {
            try self.init(EnclaveKeyMaker.open(.p256, dataRepresentation, authenticationContext))
        }

        private init(_ holder: EnclaveKeyHolder) throws {
            self.holder = holder
            publicKey = try Crypto.P256.Signing.PublicKey(x963Representation: holder.key.publicKey)
        }

        /// A handle that opens the key again, on this machine only. It is not the key and may be stored anywhere.
        public var dataRepresentation: Data { holder.dataRepresentation }

        /// Signs a digest.
        public func signature<D: Digest>(for digest: D) throws -> Crypto.P256.Signing.ECDSASignature {
            let signature = try holder.sign(Data(digest), algorithm: "algid:sign:ECDSA:digest-RFC4754")
            return try Crypto.P256.Signing.ECDSASignature(rawRepresentation: signature)
        }

        /// Signs the SHA-256 of a message.
        public func signature<D: DataProtocol>(for data: D) throws -> Crypto.P256.Signing.ECDSASignature {
            try signature(for: SHA256.hash(data: data))
        }
    }
}

extension SecureEnclave.P256.KeyAgreement {
    /// A private key that agrees on secrets with others (ECDH), and opens messages that are sealed to its public half
    /// (HPKE).
    public struct PrivateKey: HPKEDiffieHellmanPrivateKey {
        private let holder: EnclaveKeyHolder

        /// The public half.
        public let publicKey: Crypto.P256.KeyAgreement.PublicKey

        /// Makes a key; the parameters are those of the signing key.
        public init(
            compactRepresentable: Bool = true, accessControl: SecAccessControl = SecureEnclave.standardAccessControl,
            authenticationContext: (any AuthenticationContextProtocol)? = nil
        ) throws {
            try self.init(EnclaveKeyMaker.make(.p256, accessControl, authenticationContext))
        }

        /// Opens a key again that this enclave made.
        public init(dataRepresentation: Data, authenticationContext: (any AuthenticationContextProtocol)? = nil) throws
        {
            try self.init(EnclaveKeyMaker.open(.p256, dataRepresentation, authenticationContext))
        }

        private init(_ holder: EnclaveKeyHolder) throws {
            self.holder = holder
            publicKey = try Crypto.P256.KeyAgreement.PublicKey(x963Representation: holder.key.publicKey)
        }

        /// A handle that opens the key again, on this machine only. It is not the key and may be stored anywhere.
        public var dataRepresentation: Data { holder.dataRepresentation }

        /// The secret that this key and the holder of the other one share.
        public func sharedSecretFromKeyAgreement(
            with publicKeyShare: Crypto.P256.KeyAgreement.PublicKey
        ) throws -> SharedSecret {
            let secret = try holder.exchange(
                with: publicKeyShare.x963Representation, algorithm: "algid:keyexchange:ECDH")
            return try SharedSecret(ofPointWithX: secret)
        }
    }
}
