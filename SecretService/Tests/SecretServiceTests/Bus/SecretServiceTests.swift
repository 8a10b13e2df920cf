import Foundation
import MessageBus
import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService
@testable import SessionCiphers

/// The service on a bus, as programs of the session use it. They are not ours: they speak through sd-bus alone.
@Suite(.timeLimit(.minutes(10))) struct SecretServiceTests {
    private let served: ServedSecrets
    private let program: SecretProgram
    private let session: String

    init() throws {
        served = try ServedSecrets()
        program = try served.program()
        session = try program.openSession()
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    private static let isLocked = "org.freedesktop.Secret.Error.IsLocked"
    private static let noSession = "org.freedesktop.Secret.Error.NoSession"
    private static let noSuchObject = "org.freedesktop.Secret.Error.NoSuchObject"
    private static let invalid = "org.freedesktop.DBus.Error.InvalidArgs"
    private static let tooMuch = "org.freedesktop.DBus.Error.LimitsExceeded"
    private static let denied = "org.freedesktop.DBus.Error.AccessDenied"

    // MARK: the thin whole

    @Test func `a secret that a program stores is found and read again`() throws {
        let item = try program.create(
            "Mail", ["user": "me", "xdg:schema": "org.example"], "a secret", session: session)
        #expect(item.hasPrefix(SecretProgram.login + "/"))
        for part in [[:], ["user": "me"], ["xdg:schema": "org.example"], ["user": "me", "xdg:schema": "org.example"]] {
            #expect(try program.search(part).unlocked == [item])
        }
        for other in [["user": "you"], ["user": "me", "more": ""]] { #expect(try program.search(other).unlocked == []) }
        #expect(try program.secret(item, session: session) == "a secret")
        let empty = try program.create("Empty", [:], "", session: session)
        #expect(try program.secret(empty, session: session) == "")
    }

    @Test func `an encrypted session brings the same secret`() throws {
        let item = try program.create("Mail", [:], "a secret", session: session)
        let opened = try program.call(
            SecretProgram.root, "Service", "OpenSession",
            [.text("dh-ietf1024-sha256-aes128-cbc-pkcs7"), .variant(.bytes([2]))])
        guard case .variant(.bytes(let publicValue)) = opened[0], let path = opened[1].text else {
            Issue.record("the answer has another form: \(opened)")
            return
        }
        #expect(publicValue.count == 128)
        guard case .structure(let parcel) = try program.call(item, "Item", "GetSecret", [.path(path)])[0],
            case .bytes(let parameters) = parcel[1], case .bytes(let value) = parcel[2]
        else {
            Issue.record("the secret has another form")
            return
        }
        // With the number 2 the shared secret is the service's public value itself.
        #expect(parcel[0] == .path(path) && parameters.count == 16 && value.count == 16)
        #expect(value != Array("a secret".utf8))
    }

    @Test func `malformed numbers and unknown algorithms are refused, and others are served`() throws {
        let (zeros, modulus) = ([UInt8](repeating: 0, count: 127), KeyExchange.modulus)
        let beforeModulus = modulus.dropLast() + [0xfe]
        for value in [
            [], [0], [1], zeros + [0], zeros + [1], zeros + [0, 2], [0] + modulus, modulus, Array(beforeModulus),
            [UInt8](repeating: 0xff, count: 128), [UInt8](repeating: 2, count: 4096),
        ] {
            let refused = refusal {
                _ = try program.call(
                    SecretProgram.root, "Service", "OpenSession",
                    [.text("dh-ietf1024-sha256-aes128-cbc-pkcs7"), .variant(.bytes(value))])
            }
            #expect(refused == Self.invalid, "\(value.count) bytes")
        }
        let missing = refusal {
            _ = try program.call(
                SecretProgram.root, "Service", "OpenSession",
                [.text("dh-ietf1024-sha256-aes128-cbc-pkcs7"), .variant(.text(""))])
        }
        let unknown = refusal {
            _ = try program.call(
                SecretProgram.root, "Service", "OpenSession", [.text("rot13"), .variant(.text(""))])
        }
        #expect(missing == Self.invalid && unknown == "org.freedesktop.DBus.Error.NotSupported")
        let greatest = Array(modulus.dropLast() + [0xfd])
        let opened = try served.program().call(
            SecretProgram.root, "Service", "OpenSession",
            [.text("dh-ietf1024-sha256-aes128-cbc-pkcs7"), .variant(.bytes(greatest))])
        #expect(opened[1].text?.hasPrefix(SecretProgram.root + "/session/") == true, "p - 2 is a number of the group")
        #expect(try program.search([:]).unlocked == [])
    }

    @Test func `another connection's session is none`() throws {
        let item = try program.create("Mail", [:], "a secret", session: session)
        let other = try served.program()
        let refused = refusal { _ = try other.secret(item, session: session) }
        let notStored = refusal { _ = try other.create("x", [:], "x", session: session) }
        let notClosed = refusal { _ = try other.call(session, "Session", "Close") }
        #expect([refused, notStored, notClosed] == [Self.noSession, Self.noSession, Self.noSession])
        _ = try program.call(session, "Session", "Close")
        #expect(refusal { _ = try program.secret(item, session: session) } == Self.noSession)
    }

    // MARK: items and collections

    @Test func `a replacement with a part of the attributes leaves the item that has more`() throws {
        let whole = try program.create("Whole", ["a": "1", "b": "2"], "first", session: session)
        let part = try program.create("Part", ["a": "1"], "second", session: session, replacing: true)
        #expect(part != whole)
        #expect(try program.secret(whole, session: session) == "first")
        let again = try program.create("Part", ["a": "1"], "third", session: session, replacing: true)
        #expect(again == part)
        #expect(try program.secret(part, session: session) == "third")
    }

    @Test func `default is an object, also for making items and for unlocking`() throws {
        let alias = SecretProgram.root + "/aliases/default"
        let item = try program.create("Mail", ["a": "1"], "a secret", in: alias, session: session)
        #expect(item.hasPrefix(SecretProgram.login + "/"))
        #expect(try program.unlock([alias]).unlocked == [alias])
        #expect(try program.property(alias, "Collection", "Items").paths == [item])
        let read = try program.call(SecretProgram.root, "Service", "ReadAlias", [.text("default")])
        #expect(read == [.path(SecretProgram.login)])
        let none = try program.call(SecretProgram.root, "Service", "ReadAlias", [.text("nothing")])
        #expect(none == [.path("/")])
        let toNothing = refusal {
            _ = try program.call(SecretProgram.root, "Service", "SetAlias", [.text("default"), .path("/")])
        }
        #expect(toNothing == Self.invalid)
    }

    @Test func `items of the collection in memory are never in the store`() throws {
        for path in [SecretProgram.sessionCollection, SecretProgram.root + "/aliases/session"] {
            let item = try program.create("Share", ["share": path], "a secret", in: path, session: session)
            #expect(item.hasPrefix(SecretProgram.sessionCollection + "/"))
            #expect(try program.secret(item, session: session) == "a secret")
        }
        #expect(try program.search([:]).unlocked.count == 2 && served.store.rows.isEmpty)
        #expect(
            refusal { _ = try program.call(SecretProgram.sessionCollection, "Collection", "Delete") } == Self.denied)
    }

    @Test func `a collection is made, named, and deleted with its items`() throws {
        try program.bus.receiveSignals(of: SecretProgram.service)
        let properties = BusDatum.properties(["org.freedesktop.Secret.Collection.Label": .text("Work")])
        let made = try program.call(
            SecretProgram.root, "Service", "CreateCollection", [properties, .text("work")])
        let path = try #require(made[0].text)
        #expect(made[1] == .path("/"))
        let created = try program.bus.signal { $0.member == "CollectionCreated" }
        #expect(created.path == SecretProgram.root && created.values == [.path(path)])
        #expect(try program.property(path, "Collection", "Label") == .text("Work"))
        let collections = try program.property(SecretProgram.root, "Service", "Collections").paths
        #expect(collections == [SecretProgram.login, SecretProgram.sessionCollection, path])
        let item = try program.create("Mail", [:], "a secret", in: path, session: session)
        #expect(try program.bus.signal { $0.member == "ItemCreated" }.values == [.path(item)])
        #expect(try program.call(path, "Collection", "Delete") == [.path("/")])
        #expect(try program.bus.signal { $0.member == "CollectionDeleted" }.values == [.path(path)])
        #expect(served.store.rows.isEmpty)
        #expect(refusal { _ = try program.secret(item, session: session) } == Self.noSuchObject)
        #expect(refusal { _ = try program.property(path, "Collection", "Label") } == Self.noSuchObject)
        #expect(refusal { _ = try program.call(SecretProgram.login, "Collection", "Delete") } == Self.denied)
    }

    @Test func `properties are read one by one and together, and changed`() throws {
        try program.bus.receiveSignals(of: SecretProgram.service)
        let item = try program.create("Mail", ["a": "1"], "a secret", session: session)
        let all = try program.properties(item, "Item")
        #expect(Set(all.keys) == ["Locked", "Attributes", "Label", "Created", "Modified"])
        #expect(all["Locked"] == .flag(false) && all["Label"] == .text("Mail"))
        #expect(all["Attributes"]?.dictionary == ["a": .text("1")])
        try program.setProperty(item, "Item", "Label", .text("Post"))
        try program.setProperty(item, "Item", "Attributes", .attributes(["b": "2"]))
        #expect(try program.property(item, "Item", "Label") == .text("Post"))
        #expect(try program.property(item, "Item", "Attributes").dictionary == ["b": .text("2")])
        #expect(try program.search(["a": "1"]).unlocked == [] && program.search(["b": "2"]).unlocked == [item])
        #expect(try program.bus.signal { $0.member == "ItemChanged" }.values == [.path(item)])
        try program.setProperty(SecretProgram.login, "Collection", "Label", .text("Mine"))
        let login = try program.properties(SecretProgram.login, "Collection")
        #expect(login["Label"] == .text("Mine") && login["Items"]?.paths == [item] && login["Locked"] == .flag(false))
        #expect(refusal { try program.setProperty(item, "Item", "Locked", .flag(true)) } != nil)
        #expect(refusal { _ = try program.property(item, "Item", "Nothing") } != nil)
    }

    @Test func `a secret is set and deleted`() throws {
        let item = try program.create("Mail", ["a": "1"], "a secret", session: session)
        _ = try program.call(item, "Item", "SetSecret", [SecretProgram.parcel("another", session: session)])
        #expect(try program.secret(item, session: session) == "another")
        #expect(try program.call(item, "Item", "Delete") == [.path("/")])
        #expect(refusal { _ = try program.call(item, "Item", "Delete") } == Self.noSuchObject)
        #expect(refusal { _ = try program.property(item, "Item", "Label") } == Self.noSuchObject)
    }

    @Test func `several secrets are read at once, and paths of nothing are passed over`() throws {
        let one = try program.create("One", [:], "first", session: session)
        let other = try program.create("Other", [:], "second", in: SecretProgram.sessionCollection, session: session)
        let missing = SecretProgram.login + "/00112233445566778899aabbccddeeff"
        let read =
            try program.call(
                SecretProgram.root, "Service", "GetSecrets",
                [.paths([one, missing, "/elsewhere", one, other]), .path(session)])[0].dictionary ?? [:]
        #expect(read.mapValues { SecretProgram.secret($0) } == [one: "first", other: "second"])
    }

    // MARK: limits

    @Test(arguments: [1 << 20, (1 << 20) + 1, 8 << 20])
    func `texts of a mebibyte and more are refused, and others are served`(byteCount: Int) throws {
        let long = String(repeating: "x", count: byteCount)
        let calls: [() throws -> Void] = [
            { _ = try program.create(long, [:], "x", session: session) },
            { _ = try program.create("x", [long: "x"], "x", session: session) },
            { _ = try program.create("x", ["x": long], "x", session: session) },
            { _ = try program.create("x", [:], long, session: session) },
            { _ = try program.search(["x": long]) },
            { _ = try program.call(SecretProgram.root, "Service", "ReadAlias", [.text(long)]) },
            { _ = try program.call(SecretProgram.root, "Service", "OpenSession", [.text(long), .variant(.text(""))]) },
        ]
        for (index, call) in calls.enumerated() { #expect(refusal(call) == Self.tooMuch, "call \(index)") }
        #expect(served.store.rows.isEmpty)
        #expect(try program.create("x", [:], "x", session: session).hasPrefix(SecretProgram.login))
    }

    /// Each value counts with eight bytes more.
    @Test func `the longest text of a call is read, and one byte more is refused`() throws {
        func readAlias(_ byteCount: Int) throws -> [BusDatum] {
            let name = String(repeating: "x", count: byteCount)
            return try program.call(SecretProgram.root, "Service", "ReadAlias", [.text(name)])
        }
        #expect(try readAlias((1 << 20) - 8) == [.path("/")])
        #expect(refusal { _ = try readAlias((1 << 20) - 7) } == Self.tooMuch)
        let item = try program.create("x", [:], "a secret", session: session)
        let contentTypes: [(byteCount: Int, refused: String?)] = [(256, nil), (257, Self.tooMuch)]
        for (byteCount, expected) in contentTypes {
            let parcel = SecretProgram.parcel(
                "x", session: session, contentType: String(repeating: "t", count: byteCount))
            #expect(refusal { _ = try program.call(item, "Item", "SetSecret", [parcel]) } == expected)
        }
        let label = String(repeating: "l", count: 60 * 1024)
        try program.setProperty(item, "Item", "Label", .text(label))
        #expect(refusal { try program.setProperty(item, "Item", "Label", .text(label + "l")) } == Self.tooMuch)
        let value = ["a": String(repeating: "v", count: 60 * 1024 - 1)]
        try program.setProperty(item, "Item", "Attributes", .attributes(value))
        let longer = value.mapValues { $0 + "v" }
        #expect(refusal { try program.setProperty(item, "Item", "Attributes", .attributes(longer)) } == Self.tooMuch)
        #expect(try program.search(value).unlocked == [item])
    }

    @Test func `an item has so many attributes`() throws {
        let most = Dictionary(uniqueKeysWithValues: (0..<56).map { ("name \($0)", "value") })
        let item = try program.create("x", most, "x", session: session)
        #expect(try program.search(most).unlocked == [item])
        let more = most.merging(["one more": ""]) { $1 }
        #expect(refusal { _ = try program.create("x", more, "x", session: session) } == Self.tooMuch)
        #expect(refusal { _ = try program.search(more) } == Self.tooMuch)
        #expect(refusal { try program.setProperty(item, "Item", "Attributes", .attributes(more)) } == Self.tooMuch)
        #expect(refusal { _ = try program.create("x", ["": "x"], "x", session: session) } == Self.invalid)
    }

    @Test func `a program that floods the service waits for itself`() throws {
        served.store.setDelay(microseconds: 20_000)
        let flood = try (0..<400).map { _ in
            try program.send(SecretProgram.root, "Service", "SearchItems", [.attributes([:])])
        }
        // 400 searches take eight seconds, one after the other.
        let begin = ContinuousClock.now
        let other = try ForeignProgram(served.bus, "create", "Mail", "a=1", "a secret")
        #expect(other.lines().first?.hasPrefix(SecretProgram.login) == true)
        let time = ContinuousClock.now - begin
        #expect(served.store.listCount < 400, "the flood still goes on, after \(time)")
        for pending in flood { _ = try program.bus.answer(pending) }
    }

    // MARK: its end

    @Test func `the end of the bus ends the service, once`() throws {
        served.bus.stop()
        try eventually("the service has ended") { !served.endings.all.isEmpty }
        #expect(served.endings.all == [.busEnded])
    }

    @Test func `a second service does not take the names of the first`() throws {
        let second = SecretService(PlayedStore(), now: { 0 }, note: { _ in })
        let refused = #expect(throws: ServiceStartFailure.self) {
            try second.start(on: .address(served.bus.address)) { _ in }
        }
        #expect(refused?.words.hasPrefix("Another program has the name org.freedesktop.secrets.") == true)
        #expect(try program.search([:]).unlocked == [])
    }

    /// The person may have a keyring that the bus starts later.
    @Test func `a service for the portal alone leaves the keyring's name to others`() throws {
        let bus = try TestBus()
        let portal = SecretService(PlayedStore(), now: { 0 }, note: { _ in })
        defer { portal.close() }
        try portal.start(on: .address(bus.address), portalAlone: true) { _ in }
        let other = SecretService(PlayedStore(), now: { 0 }, note: { _ in })
        let refused = #expect(throws: ServiceStartFailure.self) {
            try other.start(on: .address(bus.address), portalAlone: true) { _ in }
        }
        #expect(refused?.words.hasPrefix("Another program has the name org.freedesktop.impl.portal.") == true)
        let keyring = try ServedSecrets(on: bus)
        #expect(try keyring.program().search([:]).unlocked == [])
        #expect(keyring.noted.count == 1 && keyring.noted[0].hasPrefix("The portal's secrets are not served: "))
    }
}
