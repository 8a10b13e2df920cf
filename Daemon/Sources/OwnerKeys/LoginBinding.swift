import CanonicalEncoding
package import Foundation
package import Vault

/// What an owner's passcode has to do with their login password.
package enum LoginState: Equatable, Sendable {
    /// The owner wants no login to try its password.
    case never
    /// Nobody knows. A login tries its password once. After a wrong one no login tries again before the passcode was entered.
    case trying(failed: Bool)
    /// The owner made them one. A login opens the store, and the passcode follows a change of the login password.
    case following
}

/// Keeps an owner's ``LoginState``, and has logins wait for each other.
///
/// Each login with another password would be a wrong passcode, and a chip looks at no passcode any more after ten. So the state tells
/// which logins may try.
package final class LoginBinding: Sendable {
    /// The key of the row. It is one of the counters of wrong tries, and so under the store's root: an older one is refused.
    package static let subject = Data("login".utf8)

    private let vault: Vault
    private let owner: VaultID
    private let turn = NSLock()

    package init(vault: Vault, owner: VaultID) { (self.vault, self.owner) = (vault, owner) }

    /// Runs `body` while no other login of the owner does anything: of two logins at once one sees what the other one came to.
    package func inTurn<Result>(_ body: () throws -> Result) rethrows -> Result {
        turn.lock()
        defer { turn.unlock() }
        return try body()
    }

    /// - Throws: when the row does not verify or cannot be read; then no login tries anything.
    package func state() throws -> LoginState {
        try vault.read { try state(in: $0) }
    }

    private func state(in reader: VaultReader) throws -> LoginState {
        guard let row = try reader.attempts(owner: owner, subject: Self.subject) else { return .trying(failed: false) }
        return try LoginState(decoding: Array(row.delayState))
    }

    /// On disk when this returns.
    package func set(_ state: LoginState) throws {
        try vault.write("login") { try set(state, in: $0) }
    }

    private func set(_ state: LoginState, in writer: VaultWriter) throws {
        try writer.setAttempts(
            AttemptRecord(owner: owner, subject: Self.subject, failedCount: 0, delayState: Data(state.encoded)))
    }

    /// The right passcode was entered, which forgives a wrong login password: the next login may try.
    ///
    /// It waits for no login's turn, because a login's own try comes here. So the state may be another one by the time it is written: an
    /// owner may have said that no login shall try anything.
    package func passcodeWasEntered() throws {
        guard try state() == .trying(failed: true) else { return }
        try vault.write("login") { writer in
            guard try state(in: writer) == .trying(failed: true) else { return }
            try set(.trying(failed: false), in: writer)
        }
    }
}

extension LoginState {
    private static let version: UInt8 = 1

    /// The bytes of `Documentation/formats/login.md`.
    var encoded: [UInt8] {
        var writer = CanonicalWriter(capacity: 2)
        writer.write(Self.version)
        writer.write(number)
        return writer.takeBytes()
    }

    private var number: UInt8 {
        switch self {
        case .never: 0
        case .trying(failed: false): 1
        case .trying(failed: true): 2
        case .following: 3
        }
    }

    init(decoding bytes: [UInt8]) throws {
        var reader = CanonicalReader(bytes)
        guard try reader.read(UInt8.self) == Self.version else { throw LoginStateError.unknownVersion }
        switch try reader.read(UInt8.self) {
        case 0: self = .never
        case 1: self = .trying(failed: false)
        case 2: self = .trying(failed: true)
        case 3: self = .following
        default: throw LoginStateError.unknownState
        }
        try reader.finish()
    }
}

enum LoginStateError: Error { case unknownVersion, unknownState }
