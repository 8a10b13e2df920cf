public import Crypto
public import Foundation
import OstiaryClient
import SecretMemory
public import Security

extension SecureEnclave {
    /// Keys of ML-KEM-768 (FIPS 203).
    public enum MLKEM768 {
        /// A private key that opens encapsulated keys.
        public struct PrivateKey: KEMPrivateKey {
            private let holder: EnclaveKeyHolder

            /// The public half, which encapsulates.
            public let publicKey: Crypto.MLKEM768.PublicKey

            /// Makes a key that anybody in the program can use.
            public static func generate() throws -> Self { try Self() }

            /// Makes a key. `errSecParam` (`NSOSStatusErrorDomain`) from an enclave that has no ML-KEM.
            public init(
                accessControl: SecAccessControl = SecureEnclave.standardAccessControl,
                authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.make(.mlKEM768, accessControl, authenticationContext))
            }

            /// Opens a key again that this enclave made.
            public init<D: DataProtocol>(
                dataRepresentation: D, authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.open(.mlKEM768, dataRepresentation, authenticationContext))
            }

            private init(_ holder: EnclaveKeyHolder) throws {
                self.holder = holder
                publicKey = try Crypto.MLKEM768.PublicKey(rawRepresentation: holder.key.publicKey)
            }

            /// A handle that opens the key again, on this machine only. It is not the key and may be stored anywhere.
            public var dataRepresentation: Data { holder.dataRepresentation }

            /// The key that was encapsulated to the public half.
            public func decapsulate<D: DataProtocol>(_ encapsulated: D) throws -> SymmetricKey {
                SymmetricKey(try holder.decapsulate(Data(encapsulated)))
            }
        }
    }

    /// Keys of ML-KEM-1024 (FIPS 203).
    public enum MLKEM1024 {
        /// A private key that opens encapsulated keys.
        public struct PrivateKey: KEMPrivateKey {
            private let holder: EnclaveKeyHolder

            /// The public half, which encapsulates.
            public let publicKey: Crypto.MLKEM1024.PublicKey

            /// Makes a key that anybody in the program can use.
            public static func generate() throws -> Self { try Self() }

            /// Makes a key. `errSecParam` (`NSOSStatusErrorDomain`) from an enclave that has no ML-KEM.
            public init(
                accessControl: SecAccessControl = SecureEnclave.standardAccessControl,
                authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.make(.mlKEM1024, accessControl, authenticationContext))
            }

            /// Opens a key again that this enclave made.
            public init<D: DataProtocol>(
                dataRepresentation: D, authenticationContext: (any AuthenticationContextProtocol)? = nil
            ) throws {
                try self.init(EnclaveKeyMaker.open(.mlKEM1024, dataRepresentation, authenticationContext))
            }

            private init(_ holder: EnclaveKeyHolder) throws {
                self.holder = holder
                publicKey = try Crypto.MLKEM1024.PublicKey(rawRepresentation: holder.key.publicKey)
            }

            /// A handle that opens the key again, on this machine only. It is not the key and may be stored anywhere.
            public var dataRepresentation: Data { holder.dataRepresentation }

            /// The key that was encapsulated to the public half.
            public func decapsulate<D: DataProtocol>(_ encapsulated: D) throws -> SymmetricKey {
                SymmetricKey(try holder.decapsulate(Data(encapsulated)))
            }
        }
    }
}
