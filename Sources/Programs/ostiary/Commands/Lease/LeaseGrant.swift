import ArgumentParser
import Foundation
import Glibc
import OstiaryClient
import OstiaryMessages
import UnixSocket

struct LeaseGrant: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Grant a lease; asks you once, by the rules of the objects.",
        discussion: """
            An object is the name of a right, the label of a key, or an id: of a right, a key or an item, as the lists show it.

            A destination is the fingerprint of an SSH host's key (SHA256:…; `ssh-keygen -lF HOST` shows it), a namespace of \
            SSH signatures (namespace:git), or the server of a password (github.com). Without --host the lease is for any. It \
            then serves no signature for SSH that another host asks for, or may, over a forwarded agent, and none that goes \
            nobody knows where.

            A program that other programs can start does for them what the lease permits. Programs that run scripts get no \
            lease.

            Examples:
              ostiary lease grant work --for ssh-keygen --through any --uses 20
              ostiary lease grant deploy --for /usr/local/bin/deploy --for-time 2h
              ostiary lease grant --group org.example.backup --for backup
            """)

    @Argument(help: "The objects: names of rights, labels of keys, ids.", transform: Self.checked)
    var objects: [String] = []

    @Option(help: ArgumentHelp("All objects that this access group has now.", valueName: "group")) var group: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("The program: a path, a name in PATH, or an application id.", valueName: "program"),
        completion: .file())
    var program: String

    @Option(
        help: ArgumentHelp(
            "The door through which the program asks: a path, a name in PATH or an application id; any for each door.",
            valueName: "door"))
    var through: String?

    @Option(
        help: ArgumentHelp(
            "An operation: sign, decrypt, key-exchange, read; use for all (default).", valueName: "operation"),
        completion: .list(Self.operations))
    var operation: [String] = []

    @Option(help: ArgumentHelp("A destination; more than one may be given.", valueName: "destination"))
    var host: [String] = []

    @Option(help: ArgumentHelp("What it is for; the question and the list show it.", valueName: "text"))
    var purpose: String?

    @Option(help: ArgumentHelp("How long it lasts at most, up to 24h (default: 10m).", valueName: "time"))
    var forTime: LeaseTime?

    @Option(help: ArgumentHelp("End it after this time without a use.", valueName: "time")) var idle: LeaseTime?

    @Option(help: ArgumentHelp("End it after so many uses.", valueName: "count")) var uses: UInt32?

    @Flag(
        inversion: .prefixedNo,
        help: "End it when you lock. It can outlast a lock only if all objects can be used then, too.")
    var endsOnLock = true

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    private static let operations = ["sign", "decrypt", "key-exchange", "read", "use"]
    private static let usualSeconds: UInt32 = 600

    func validate() throws {
        guard objects.isEmpty == (group != nil) else { throw ValidationError("Name objects, or give --group.") }
        guard operation.allSatisfy(Self.operations.contains) else {
            throw ValidationError("An operation is one of \(Self.operations.joined(separator: ", ")).")
        }
        if let purpose { _ = try ReasonOption.checkedReason(purpose) }
    }

    func run() throws {
        let named: LeaseRequest.Objects = try group.map { .group($0) } ?? .ids(objects.map(LeasedObjectName.id))
        var request = LeaseRequest(
            named, for: try LeasedProgram.resolved(program), through: try door(),
            hardSeconds: forTime?.seconds ?? Self.usualSeconds)
        request.operations = operation.contains("use") ? [] : operation
        request.destinations = host
        request.purpose = purpose ?? ""
        (request.idleSeconds, request.uses, request.endsOnLock) = (idle?.seconds, uses, endsOnLock)
        let lease = try OstiaryClient.shared.grantLease(
            request, interaction: reason.interaction(otherwise: purpose ?? "grant a lease"))
        let document = LeaseDocument(lease)
        if json.isGiven { return try JSONOutput.print(document) }
        StandardError.line("Granted \(document.summary).".visibleLine)
    }

    private func door() throws -> LeaseDoor {
        switch through {
        case nil: .none
        case "any": .any
        case let name?: .door(try LeasedProgram.resolved(name))
        }
    }

    private static func checked(_ text: String) throws -> String {
        guard !text.isEmpty, text.utf8.count <= WireLimits.identifierByteCount else {
            throw ValidationError("An object has a name of 1 to \(WireLimits.identifierByteCount) bytes, or an id.")
        }
        return text
    }
}

/// The object that a command line names.
enum LeasedObjectName {
    static func id(_ name: String) throws -> Data {
        if let id = try? RightRemove.checkedID(name) { return id }
        let rights = try OstiaryClient.shared.rights(ofAllApplications: true).compactMap { right -> Data? in
            guard case .intact(let right) = right, right.identifier.utf8.elementsEqual(name.utf8) else { return nil }
            return right.id
        }
        let keys = try KeyItems.matching(["labl": .text(name)]).compactMap(\.keyID)
        let ids = Set(rights + keys)
        guard ids.count <= 1 else {
            throw OstiaryError(
                .init(.invalidParameter), "Several objects are called \(name.quotedName); name one by its id.")
        }
        guard let id = ids.first else {
            throw OstiaryError(.init(.notFound), "There is no right or key called \(name.quotedName).")
        }
        return id
    }
}

/// The program that a command line names, as the daemon sees it: a path without symbolic links, or an application id.
enum LeasedProgram {
    static func resolved(_ name: String) throws -> String {
        guard !name.contains("/") else { return try ProgramPath.resolved(name) }
        let folders = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
        for folder in folders.split(separator: ":") where PathName.isAbsolute(String(folder)) {
            let path = "\(folder)/\(name)"
            if unsafe access(path, X_OK) == 0 { return try ProgramPath.resolved(path) }
        }
        return name
    }
}
