import Foundation
import MessageBus
import SecretItems
import SecretMemory
import Testing

@testable import SecretService

@Suite struct SessionTableTests {
    private func path(_ number: UInt64) -> String { ServedPath.session(number).text }

    private func holder(_ peer: String, process: Int32 = 7, program: UInt64 = 1) -> Holder {
        Holder(peer: peer, processID: process, program: CallerFile(device: 0, inode: program))
    }

    @Test func `a session is that of the connection that opened it`() throws {
        var table = SessionTable<String>()
        let number = try table.add("one", of: holder(":1.1"))
        #expect(try table.session(path(number), of: ":1.1") == "one")
        #expect(throws: BusFault.noSession) { try table.session(path(number), of: ":1.2") }
        #expect(throws: BusFault.noSession) { try table.session(path(number + 1), of: ":1.1") }
        for wrong in ["/", "/org/freedesktop/secrets/session/", "/org/freedesktop/secrets/session/01"] {
            #expect(throws: BusFault.noSession) { try table.session(wrong, of: ":1.1") }
        }
    }

    @Test func `only its connection closes a session, once`() throws {
        var table = SessionTable<String>()
        let number = try table.add("one", of: holder(":1.1"))
        #expect(throws: BusFault.noSession) { try table.close(path(number), of: ":1.2") }
        #expect(table.contains(number))
        try table.close(path(number), of: ":1.1")
        #expect(!table.contains(number))
        #expect(throws: BusFault.noSession) { try table.close(path(number), of: ":1.1") }
    }

    @Test func `a connection's sessions end with it, and others stay`() throws {
        var table = SessionTable<String>()
        let (one, other) = (try table.add("one", of: holder(":1.1")), try table.add("two", of: holder(":1.2")))
        table.forget(":1.1")
        #expect(!table.contains(one) && table.contains(other))
        #expect(one != other, "numbers are never used again")
    }

    @Test func `a connection has so many sessions, and closing gives the place back`() throws {
        var table = SessionTable<Int>()
        for count in 0..<64 { _ = try table.add(count, of: holder(":1.1")) }
        let refused = #expect(throws: BusFault.self) { try table.add(0, of: holder(":1.1")) }
        #expect(refused == .tooMuch("This connection has 64 sessions already. Close some."))
        _ = try table.add(0, of: holder(":1.2"))
        try table.close(path(1), of: ":1.1")
        _ = try table.add(0, of: holder(":1.1"))
        #expect(throws: BusFault.self) { try table.add(0, of: holder(":1.1")) }
    }

    /// A process can connect as often as it likes, and a program start as many processes.
    @Test func `a process and a program have so many, whatever number of connections they have`() throws {
        var table = SessionTable<Int>()
        for count in 0..<128 { _ = try table.add(count, of: holder(":1.\(count)")) }
        let ofProcess = #expect(throws: BusFault.self) { try table.add(0, of: holder(":2.1")) }
        #expect(ofProcess == .tooMuch("This process has 128 sessions already. Close some."))
        for count in 0..<(2048 - 128) {
            _ = try table.add(count, of: holder(":3.\(count)", process: 100 + Int32(count)))
        }
        let ofProgram = #expect(throws: BusFault.self) { try table.add(0, of: holder(":4.1", process: 8)) }
        #expect(ofProgram == .tooMuch("The processes of this program have 2048 sessions already. Close some."))
        _ = try table.add(0, of: holder(":5.1", process: 9, program: 2))
        table.forget(":1.0")
        _ = try table.add(0, of: holder(":4.1", process: 8))
    }
}

@Suite struct SecretSessionTests {
    private func text(_ secret: HeldSecret) -> String {
        secret.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func parcel(_ parameters: [UInt8], _ value: String) -> SecretParcel {
        SecretParcel(
            session: "/", parameters: parameters, value: ServedSecrets.held(value), contentType: "text/plain")
    }

    @Test func `a plain session takes a secret as it is, and nothing beside it`() throws {
        let session = SecretSession()
        #expect(try text(session.open(parcel([], "a secret"))) == "a secret")
        let refused = #expect(throws: BusFault.self) { try session.open(parcel([0], "a secret")) }
        #expect(refused?.name == "org.freedesktop.DBus.Error.InvalidArgs")
    }

    @Test func `an encrypted session takes back what it sealed, and nothing else`() throws {
        let (session, _) = try SecretSession.exchanging([2])
        let sealed = try session.seal(OpenedSecret(ServedSecrets.held("a secret"), contentType: ""))
        guard case .encrypted(let value) = sealed.value else {
            Issue.record("the secret is not encrypted")
            return
        }
        let back = SecretParcel(
            session: "/", parameters: sealed.parameters, value: HeldSecret(SecretBytes(Data(value))), contentType: "")
        #expect(try text(session.open(back)) == "a secret")
        for refused in [parcel([], "a secret"), parcel(sealed.parameters, "a secret"), parcel([1], "")] {
            let error = #expect(throws: BusFault.self) { try session.open(refused) }
            #expect(error?.name == "org.freedesktop.DBus.Error.InvalidArgs")
        }
    }
}
