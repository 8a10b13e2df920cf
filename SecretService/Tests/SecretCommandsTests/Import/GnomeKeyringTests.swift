import MessageBus
import SecretItems
import Testing

@testable import SecretCommands

/// An import from a real gnome-keyring.
@Suite(
    "Importing from gnome-keyring", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: PrivateGnomeKeyring.isInstalled, "gnome-keyring is not installed"))
struct GnomeKeyringTests {
    private static func source(_ gnome: PrivateGnomeKeyring) throws -> BusKeyring {
        let bus = try SessionBus(.address(gnome.address))
        let owner = try ImportCommand.keyring(named: KeyringSetup.service, on: bus)
        return try BusKeyring(bus.bus, of: owner.connection)
    }

    private static func run(_ gnome: PrivateGnomeKeyring, to keyring: PlayedKeyring) throws -> ImportReport {
        let source = try source(gnome)
        #expect(source.isEncrypted)
        let work = Import(from: source, to: keyring, reason: "test")
        try work.run()
        return work.report
    }

    /// What is stored, without the schema that gnome-keyring adds to items some time after they were made.
    private static func stored(_ keyring: PlayedKeyring) -> Set<PlayedKeyring.StoredText> {
        Set(
            keyring.stored.map { item in
                PlayedKeyring.StoredText(
                    item.label, item.collection, SourceSchema.removed(from: item.attributes), item.secret)
            })
    }

    private static func expectation(_ count: Int) -> Set<PlayedKeyring.StoredText> {
        Set(
            (0..<count).map {
                PlayedKeyring.StoredText("Label \($0)", "login", ["number": "\($0)"], "secret \($0)")
            })
    }

    @Test func `1,000 items come once each, however often the import was interrupted, and none goes there`() throws {
        let gnome = try PrivateGnomeKeyring()
        try gnome.fill(1_000)
        let before = try gnome.contents()
        #expect(before.count == 1_000)
        let keyring = PlayedKeyring()
        for (additions, losesAnswer) in [(0, false), (137, false), (250, true), (611, false)] {
            keyring.additionsLeft = additions
            keyring.losesAnswers = losesAnswer
            #expect(throws: SecretsFailure.self) { try Self.run(gnome, to: keyring) }
        }
        keyring.additionsLeft = nil
        let report = try Self.run(gnome, to: keyring)
        #expect(report.present == 137 + 251 + 611 && report.brought == 1 && report.left.isEmpty)
        #expect(keyring.items.count == 1_000 && Self.stored(keyring) == Self.expectation(1_000))
        #expect(try gnome.contents() == before)
        #expect(try Self.run(gnome, to: keyring) == ImportReport(present: 1_000))
    }

    @Test func `a keyring that ends in the middle is gone on with when it is back`() throws {
        let gnome = try PrivateGnomeKeyring()
        try gnome.fill(40)
        let keyring = PlayedKeyring()
        keyring.added = { count in if count == 15 { gnome.end() } }
        let failure = #expect(throws: SecretsFailure.self) { try Self.run(gnome, to: keyring) }
        #expect(failure?.code == -135)
        #expect(keyring.items.count == 15)
        keyring.added = { _ in }
        let missing = #expect(throws: SecretsFailure.self) { try Self.run(gnome, to: keyring) }
        #expect(missing?.code == -134)
        try gnome.start()
        #expect(try Self.run(gnome, to: keyring) == ImportReport(brought: 25, present: 15))
        #expect(keyring.items.count == 40 && Self.stored(keyring) == Self.expectation(40))
    }

    @Test func `a keyring that stays locked is named, and no digest is taken for an attribute`() throws {
        let gnome = try PrivateGnomeKeyring()
        try gnome.fill(3)
        gnome.end()
        try gnome.start(isUnlocked: false)
        let keyring = PlayedKeyring()
        let report = try Self.run(gnome, to: keyring)
        #expect(report.left.map(\.collection) == ["Login"] && report.left.first?.label == nil)
        #expect(report.brought == 0 && keyring.items.isEmpty)
        // As if it had been locked after it was asked for its items.
        let source = try Self.source(gnome)
        let path = try #require(try gnome.contents().keys.first)
        let failure = #expect(throws: SourceFailure.self) { try source.item(path) }
        #expect(failure == .refused("It is locked, and was not unlocked there."))
        #expect(throws: SourceFailure.refused("It is locked, and was not unlocked there.")) {
            try source.secret(of: path)
        }
        gnome.end()
        try gnome.start()
        #expect(try Self.run(gnome, to: keyring).brought == 3)
    }

    @Test func `an owner is named by its program, and a name that nobody has is none`() throws {
        let gnome = try PrivateGnomeKeyring()
        let bus = try SessionBus(.address(gnome.address))
        let owner = try #require(try bus.owner(of: KeyringSetup.service))
        #expect(owner.program == "gnome-keyring-daemon" && owner.processID != nil && !owner.isOurs)
        #expect(try bus.owner(of: "org.example.nobody") == nil)
        #expect(bus.reloadConfiguration() && bus.unitState("x.service") == nil)
        let failure = #expect(throws: SecretsFailure.self) {
            try ImportCommand.keyring(named: "org.example.nobody", on: bus)
        }
        #expect(failure?.code == -134 && failure?.status == 1)
    }
}

/// Which program an import asks.
@Suite struct ImportSourceTests {
    @Test func `our own service is no source, and the person learns what to do`() throws {
        let bus = PlayedBus()
        bus.owners[KeyringSetup.service] = NameOwner(connection: ":1.2", processID: 41, program: "ostiary-secrets")
        let failure = #expect(throws: SecretsFailure.self) {
            try ImportCommand.keyring(named: KeyringSetup.service, on: bus)
        }
        #expect(failure?.code == -134 && failure?.description.contains("--from-bus") == true)
    }

    @Test func `a bus that is not there is said to be missing`() {
        let failure = #expect(throws: SecretsFailure.self) { try SessionBus(.address("unix:path=/nonexistent/bus")) }
        #expect(failure?.code == -133)
        let other = #expect(throws: SecretsFailure.self) { try SessionBus(.address("tcp:host=localhost,port=1")) }
        #expect(other?.code == -133)
    }
}
