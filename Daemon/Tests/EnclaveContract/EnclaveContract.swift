public import Enclave
public import Foundation
import SecretMemory
public import Testing

/// What every enclave must do. The tests of an implementation run each of ``checks`` against it:
///
///     @Test(arguments: EnclaveContract.checks)
///     func `it keeps the contract of an enclave`(check: EnclaveContract.Check) throws {
///         try check(EnclaveContract(open: …, openOther: …, session: …))
///     }
public struct EnclaveContract: Sendable {
    /// One sentence of the contract.
    public struct Check: Sendable, CustomTestStringConvertible {
        public let testDescription: String
        private let body: @Sendable (EnclaveContract) throws -> Void

        init(_ sentence: String, _ body: @escaping @Sendable (EnclaveContract) throws -> Void) {
            testDescription = sentence
            self.body = body
        }

        /// Runs the check; failures are recorded as issues of the running test.
        public func callAsFunction(_ contract: EnclaveContract) throws { try body(contract) }
    }

    public static let checks = keyChecks + typeChecks + usageChecks + approvalChecks + sealingChecks

    /// Opens the enclave under test; each call is like a new start of the program, always of the same store.
    let open: @Sendable () throws -> any Enclave
    /// Opens an enclave of the same kind on another device or for another store.
    let openOther: @Sendable () throws -> any Enclave
    private let makeSession: @Sendable (_ owner: Data) throws -> any PasscodeSession

    /// - Parameter session: proves the passcode of the user with this id to the enclave under test.
    public init(
        open: @escaping @Sendable () throws -> any Enclave, openOther: @escaping @Sendable () throws -> any Enclave,
        session: @escaping @Sendable (_ owner: Data) throws -> any PasscodeSession
    ) {
        self.open = open
        self.openOther = openOther
        makeSession = session
    }

    /// A session in which the passcode of `owner` was proved.
    func session(of owner: Data = Self.owner) throws -> any PasscodeSession { try makeSession(owner) }

    // MARK: material

    /// A 32-byte secret that depends on `seed` alone.
    static func secret(_ seed: UInt8) -> SecretBytes {
        var bytes = Data(repeating: seed, count: 32)
        return SecretBytes(taking: &bytes)
    }

    /// A copy to compare: tests hold no real secrets.
    static func bytes(_ secret: borrowing SecretBytes) -> Data { secret.withUnsafeBytes { Data($0) } }

    static var none: SecretBytes { SecretBytes(zeroed: 0) }

    static let owner = Data(repeating: 0xa0, count: 16)
    static let otherOwner = Data(repeating: 0xb0, count: 16)

    static let binding = KeyBinding(owner: owner, outsideInfo: Data("rule of the key".utf8), requiresPasscode: true)

    /// `key` with `change` applied to a copy of its parts.
    static func altered(
        _ key: WrappedKey, kind: EnclaveKind? = nil, type: EnclaveKeyType? = nil, publicKey: Data? = nil,
        blob: Data? = nil
    ) -> WrappedKey {
        WrappedKey(
            kind: kind ?? key.kind, type: type ?? key.type, publicKey: publicKey ?? key.publicKey,
            blob: blob ?? key.blob)
    }

    static func expect(
        _ error: EnclaveError, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        from body: () throws -> Void
    ) {
        #expect(throws: error, comment, sourceLocation: sourceLocation, performing: body)
    }

    /// Every copy of `bytes` that lacks its end or has one bit flipped, with what was done to it.
    static func damaged(_ bytes: Data) -> [(what: String, bytes: Data)] {
        let truncated = [0, 1, 2, 3, bytes.count / 2, bytes.count - 1].map { ("cut to \($0)", bytes.prefix($0)) }
        let flipped = bytes.indices.map { index in
            var copy = bytes
            copy[index] ^= 1 << UInt8(index % 8)
            return ("bit of byte \(index)", copy)
        }
        return truncated + flipped + [("one byte more", bytes + [0])]
    }
}
