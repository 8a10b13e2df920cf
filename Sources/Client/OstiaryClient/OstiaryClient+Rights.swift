public import AccessControl
public import Cancellations
public import Foundation
import OstiaryMessages
public import SecretMemory

/// A right that the daemon stores.
public struct StoredRight: Sendable, Equatable {
    /// 16 bytes that name the right; a right that is replaced gets others.
    public let id: Data
    public let identifier: String
    public let accessControl: AccessControl
    /// X9.63 uncompressed point, 65 bytes.
    public let publicKey: Data
    public let hasSecret: Bool
    public let createdAt: Date
    /// The kind of enclave that holds the key: `software` or `tpm`.
    public let enclaveKind: String
    /// The program that created it, as the daemon saw it.
    public let application: String
    /// The limits of a right that signs for SSH alone; nil for another right.
    public let sshConstraints: SSHKeyConstraints?
}

/// A row of a list: a right, or a row that the daemon refuses to show because it does not verify.
public enum ListedRight: Sendable, Equatable {
    case intact(StoredRight)
    case unreadable(id: Data, reason: String)
}

extension OstiaryClient {
    /// Stores a right: makes its key and seals the secret. Asks nobody, except for a new application password when the rule
    /// has one.
    ///
    /// - Parameters:
    ///   - accessGroup: one of the program's groups. All programs of the group may use the right; nil for this program alone.
    ///   - sshConstraints: makes a right that signs for SSH alone, within these limits; it keeps no secret.
    ///   - replacing: an existing right of that name is destroyed in the same step; otherwise it is kept and the
    ///     call throws `duplicate`.
    public func createRight(
        _ identifier: String, accessControl: AccessControl, accessGroup: String? = nil,
        sshConstraints: SSHKeyConstraints? = nil, secret: borrowing SecretBytes? = nil, replacing: Bool = false,
        interaction: Interaction? = nil, cancellation: Cancellation? = nil
    ) throws -> StoredRight {
        var request = WireCreateRightRequest.with {
            $0.identifier = identifier
            $0.accessControl = Data(accessControl.canonicalBytes)
            $0.replace = replacing
            $0.accessGroup = accessGroup ?? ""
            $0.sshConstraints = Data(sshConstraints?.canonicalBytes ?? [])
            if let interaction { $0.question = interaction.question }
        }
        switch secret {
        case .some(let secret):
            request.hasSecret_p = true
            return try right(
                call(
                    .createRight(request), tail: secret, terminal: interaction?.terminal, cancellation: cancellation))
        case .none:
            return try right(
                call(.createRight(request), terminal: interaction?.terminal, cancellation: cancellation))
        }
    }

    /// The right that this program, or one of the access group, stored under `identifier`; throws `notFound`, or `itemUnreadable`
    /// when its row does not verify.
    public func right(_ identifier: String, accessGroup: String? = nil) throws -> StoredRight {
        try right(
            call(.findRight(.with { ($0.identifier, $0.accessGroup) = (identifier, accessGroup ?? "") })))
    }

    /// The rights of this program, of one of its access groups, or of all programs of the user, by name; then those that do not
    /// verify.
    public func rights(ofAllApplications: Bool = false, accessGroup: String? = nil) throws -> [ListedRight] {
        var (rights, cursor): ([WireRight], Data) = ([], Data())
        repeat {
            let request = WireListRightsRequest.with {
                ($0.ofAllApplications, $0.cursor, $0.accessGroup) = (ofAllApplications, cursor, accessGroup ?? "")
            }
            guard case .rights(let page) = try call(.listRights(request)).body else { throw Self.unexpected() }
            rights += page.rights
            cursor = page.next
        } while !cursor.isEmpty
        return try
            (rights.filter(\.unreadableBecause.isEmpty).sorted { Self.place(of: $0) < Self.place(of: $1) }
            + rights.filter { !$0.unreadableBecause.isEmpty }).map(ListedRight.init)
    }

    private static func place(of right: WireRight) -> (String, String) {
        (right.identifier, right.application)
    }

    /// Destroys a right with its key and secret. A row that does not verify is destroyed whichever program made it.
    public func removeRight(id: Data) throws {
        _ = try call(.removeRight(.with { $0.which = .rightID(id) }))
    }

    /// Destroys the right that this program, or one of the access group, stored under `identifier`; throws `notFound`. An
    /// unreadable row is destroyed too.
    public func removeRight(_ identifier: String, accessGroup: String? = nil) throws {
        _ = try call(
            .removeRight(.with { ($0.which, $0.accessGroup) = (.identifier(identifier), accessGroup ?? "") }))
    }

    /// Destroys all rights of this program; returns how many there were.
    @discardableResult
    public func removeAllRights() throws -> Int {
        let answer = try call(.removeAllRights(WireRemoveAllRightsRequest()))
        guard case .done(let done) = answer.body else { throw Self.unexpected() }
        return Int(done.count)
    }

    private func right(_ answer: consuming DaemonAnswer) throws -> StoredRight {
        guard case .right(let right) = answer.body else { throw Self.unexpected() }
        return try StoredRight(right)
    }
}

extension ListedRight {
    init(_ right: WireRight) throws {
        self =
            if right.unreadableBecause.isEmpty { .intact(try StoredRight(right)) } else {
                .unreadable(id: right.rightID, reason: right.unreadableBecause)
            }
    }
}

extension StoredRight {
    init(_ right: WireRight) throws {
        id = right.rightID
        identifier = right.identifier
        do { accessControl = try AccessControl(canonicalBytes: Array(right.accessControl)) } catch {
            throw OstiaryClient.unexpected()
        }
        publicKey = right.publicKey
        hasSecret = right.hasSecret_p
        createdAt = Date(timeIntervalSince1970: right.createdAt)
        enclaveKind = right.enclaveKind
        application = right.application
        sshConstraints = try SSHKeyConstraints(answered: right.sshConstraints)
    }
}
