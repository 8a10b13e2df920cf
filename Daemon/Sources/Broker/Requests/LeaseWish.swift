import AccessControl
import Callers
import ExactNames
import Foundation
import OstiaryMessages
import PromptProtocol
import ProtectedObjects
import Refusals
import UnixSocket
import Vault

/// The terms of the lease that a request asks for, checked.
struct LeaseWish {
    let objectIDs: [VaultID]
    /// Nil where the objects are named.
    let group: ExactName?
    let program: ExactName
    let door: LeaseScope.Door
    /// Empty for all that the objects permit.
    let operations: Set<AccessControl.Operation>
    /// As ``LeaseScope/destinations``.
    let destinations: Set<ExactName>?
    let purpose: String
    let limits: GrantLimits
    let endsOnLock: Bool

    /// No lease is longer than a day: beyond that it would be a rule.
    private static let longestSeconds: UInt32 = 86_400
    private static let leasable: [AccessControl.Operation] = [.read, .sign, .decrypt, .keyExchange]

    init(_ body: WireGrantLeaseRequest) throws {
        guard body.objectIDs.isEmpty != body.accessGroup.isEmpty,
            body.objectIDs.count <= WireLimits.leaseObjectCount, Set(body.objectIDs).count == body.objectIDs.count
        else {
            throw Self.refusal(
                "A lease names 1 to \(WireLimits.leaseObjectCount) objects once each, or a group", "objects")
        }
        objectIDs = try body.objectIDs.map { bytes in
            guard let id = VaultID(bytes: bytes) else { throw RightStore.unknownID }
            return id
        }
        group = body.accessGroup.isEmpty ? nil : ExactName(body.accessGroup)
        program = try Self.program(body.program)
        door = try Self.door(body.through)
        operations = try Set(
            body.operations.map { name in
                guard let operation = Self.leasable.first(where: { $0.name == name }) else {
                    throw Self.refusal(
                        "A lease is for the operations sign, decrypt, key-exchange and read", "operation")
                }
                return operation
            })
        destinations = try Self.destinations(body.destinations)
        guard body.purpose.utf8.count <= WireLimits.leaseTextByteCount else {
            throw Self.refusal("The purpose is too long", "purpose")
        }
        purpose = body.purpose
        guard (1...Self.longestSeconds).contains(body.hardSeconds) else {
            throw Self.refusal("A lease lasts 1 second to 1 day", "limits")
        }
        do {
            limits = try GrantLimits(
                idleSeconds: body.idleSeconds, hardSeconds: body.hardSeconds, uses: body.uses)
        } catch { throw Self.refusal("The limits cannot be used: \(error)", "limits") }
        endsOnLock = body.endsOnLock
    }

    static func refusal(_ what: String, _ part: String) -> Refusal {
        Refusal(.invalidParameter, "\(what). Nothing was asked.", cause: "lease.\(part)")
    }

    /// A program of which the daemon knows the name when it asks.
    private static func program(_ name: String) throws(Refusal) -> ExactName {
        guard !name.isEmpty, name.utf8.count <= WireLimits.leaseTextByteCount,
            PathName.isAbsolute(name) || NameDefect(name) == nil
        else {
            throw refusal("A lease is for a program: the absolute path of its file, or its application id", "program")
        }
        guard !PathName.isAbsolute(name) || !CallerProgram.isInterpreter(name) else {
            throw refusal(
                "The program runs scripts, which nobody can tell apart. Lease to a program of its own", "program")
        }
        return ExactName(name)
    }

    private static func door(_ through: WireLeaseDoor) throws(Refusal) -> LeaseScope.Door {
        guard !through.isAny else {
            guard through.door.isEmpty else { throw refusal("A lease is for one door or for any", "door") }
            return .any
        }
        return through.door.isEmpty ? .none : .named(try program(through.door))
    }

    private static func destinations(_ names: [String]) throws(Refusal) -> Set<ExactName>? {
        guard !names.isEmpty else { return nil }
        guard names.count <= WireLimits.leaseDestinationCount,
            names.allSatisfy({ !$0.isEmpty && $0.utf8.count <= WireLimits.leaseDestinationByteCount })
        else { throw refusal("A lease names at most \(WireLimits.leaseDestinationCount) destinations", "destination") }
        return Set(names.map { ExactName($0) })
    }

    func scope(of objects: LeaseObjects) -> LeaseScope {
        LeaseScope(
            program: program, door: door, objects: Set(objects.ids), operations: objects.operations,
            destinations: destinations, session: nil)
    }
}

extension LeaseWish {
    /// For whom, through whom, for what and until when. Each name is quoted, and none can end its quotation.
    ///
    /// - Parameter hasKeyForSSH: whether a key for SSH is among the objects. A lease without destinations is then said to be for any.
    func words(for operations: Set<AccessControl.Operation>, hasKeyForSSH: Bool) -> String {
        let through =
            switch door {
            case .none: ""
            case .named(let name): ", through \(Self.quoted(name))"
            case .any: ", through any door"
            }
        let anywhere = hasKeyForSSH ? ", for any host and namespace" : ""
        let only = destinations.map { ", only for \($0.sorted().map(Self.quoted).joined(separator: ", "))" }
        let verbs = operations.sorted().map(\.name).joined(separator: ", ")
        return "For \(Self.quoted(program))\(through): \(verbs)\(only ?? anywhere). It ends \(ends)."
    }

    private static func quoted(_ name: ExactName) -> String { "“\(DisplayText(fact: name.text))”" }

    private var ends: String {
        let parts = [
            limits.hardSeconds.map { "after \(Self.words($0))" }, limits.uses.map { "after \($0) uses" },
            limits.idleSeconds.map { "after \(Self.words($0)) without a use" }, endsOnLock ? "with a lock" : nil,
        ].compactMap(\.self)
        return parts.joined(separator: ", ")
    }

    private static func words(_ seconds: UInt32) -> String {
        seconds.isMultiple(of: 60) ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
