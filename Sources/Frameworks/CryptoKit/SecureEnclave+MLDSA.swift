public import Crypto
public import Foundation
import OstiaryClient
public import Security

extension SecureEnclave {
    /// Keys of ML-DSA-65 (FIPS 204).
    public enum MLDSA65 {
        /// A private key that signs.
        public struct PrivateKey: Sendable {
            private let holder: EnclaveKeyHolder

            /// The public half, which verifies without the enclave.
            public let publicKey: Crypto.MLDSA65.PublicKey

            /// Makes a key that anybody in the program can use.
            public static func generate() throws -> Self { try Self() }

            /// Makes a key. `errSecParam` (`NSOSStatusErrorDomain`) from an enclave that has no ML-DSA.
            public init(
                accessControl: SecAccessControl = SecureEnclave.standardAccessControl,
                authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.make(.mlDSA65, accessControl, authenticationContext))
            }

            /// Opens a key again that this enclave made.
            public init<D: DataProtocol>(
                dataRepresentation: D, authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.open(.mlDSA65, dataRepresentation, authenticationContext))
            }

            private init(_ holder: EnclaveKeyHolder) throws {
                self.holder = holder
                publicKey = try Crypto.MLDSA65.PublicKey(rawRepresentation: holder.key.publicKey)
            }

            /// A handle that opens the key again, on this machine only. It is not the key and may be stored anywhere.
            public var dataRepresentation: Data { holder.dataRepresentation }

            /// Signs a message of at most 1 MiB, which the enclave needs whole.
            public func signature<D: DataProtocol>(for data: D) throws -> Data {
                try holder.sign(Data(data), algorithm: "algid:sign:ML-DSA:message")
            }

            /// Signs a message of at most 1 MiB for a context of at most 255 bytes, without which the signature does not
            /// verify. A longer context is `errSecParam` (`NSOSStatusErrorDomain`); an empty one is none.
            public func signature<D: DataProtocol, C: DataProtocol>(for data: D, context: C) throws -> Data {
                try holder.sign(Data(data), for: Data(context))
            }
        }
    }

    /// Keys of ML-DSA-87 (FIPS 204).
    public enum MLDSA87 {
        /// A private key that signs.
        public struct PrivateKey: Sendable {
            private let holder: EnclaveKeyHolder

            /// The public half, which verifies without the enclave.
            public let publicKey: Crypto.MLDSA87.PublicKey

            /// Makes a key that anybody in the program can use.
            public static func generate() throws -> Self { try Self() }

            /// Makes a key. `errSecParam` (`NSOSStatusErrorDomain`) from an enclave that has no ML-DSA.
            public init(
                accessControl: SecAccessControl = SecureEnclave.standardAccessControl,
                authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.make(.mlDSA87, accessControl, authenticationContext))
            }

            /// Opens a key again that this enclave made.
            public init<D: DataProtocol>(
                dataRepresentation: D, authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.open(.mlDSA87, dataRepresentation, authenticationContext))
            }

            private init(_ holder: EnclaveKeyHolder) throws {
                self.holder = holder
                publicKey = try Crypto.MLDSA87.PublicKey(rawRepresentation: holder.key.publicKey)
            }

            /// A handle that opens the key again, on this machine only. It is not the key and may be stored anywhere.
            public var dataRepresentation: Data { holder.dataRepresentation }

            /// Signs a message of at most 1 MiB, which the enclave needs whole.
            public func signature<D: DataProtocol>(for data: D) throws -> Data {
                try holder.sign(Data(data), algorithm: "algid:sign:ML-DSA:message")
            }

            /// Signs a message of at most 1 MiB for a context of at most 255 bytes, without which the signature does not
            /// verify. A longer context is `errSecParam` (`NSOSStatusErrorDomain`); an empty one is none.
            public func signature<D: DataProtocol, C: DataProtocol>(for data: D, context: C) throws -> Data {
                try holder.sign(Data(data), for: Data(context))
            }
        }
    }
}
