import BrokerTestSupport
import CanonicalCBOR
import Foundation
import Glibc
import OstiaryMessages
import Owners
import SecretMemory
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import KeySlots
@testable import OwnerKeys

/// What the browsers' door of the real daemon leaves of the passcode in the daemon's memory while its connection stays open.
@Suite(
    .enabled(if: Account.isRoot, "only root can read the memory of a process that cannot be dumped"),
    .timeLimit(.minutes(10)))
struct BrowserMemoryTests {
    private let daemon: DaemonProcess
    private let terminal: PseudoTerminal
    private let browser: Caller
    private let needles: [MemorySearch.Needle]

    /// 24 capital letters by chance, with all bits turned over.
    private let inverted = (0..<24).map { _ in ~UInt8.random(in: 65...90) }

    init() throws {
        let folders = try DaemonFolders()
        needles = try Self.makeStore(in: folders, inverted)
        daemon = try DaemonProcess(in: folders)
        terminal = try PseudoTerminal()
        let desk = try PseudoTerminal()
        let owner = try Caller(at: folders, on: desk).greeted()
        let path = folders.root.path("browser")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.isBrowser) = (path, "com.example.browser", true)
            $0.question = .reason("to test")
        }
        let id = try owner.client.send(.registerApplication(request), descriptor: desk.slave.number)
        Self.type(inverted, at: desk)
        let registered = try owner.client.answer(to: id)
        try #require(registered.refusal == nil, "\(registered.failure?.explanation ?? "")")
        browser = try Caller(at: folders, on: terminal, program: path).greeted()
    }

    /// Makes a store with the passcode, and needles of what the passcode opens.
    private static func makeStore(in folders: DaemonFolders, _ inverted: [UInt8]) throws -> [MemorySearch.Needle] {
        let fixture = try BrokerFixture(stateDirectory: folders.state, stretching: .argon2id)
        defer { fixture.close() }
        fixture.prompter.prepare([.inverted(inverted), .inverted(inverted)])
        try fixture.client().passcode(.set)
        var typed = SecretBytes(zeroedForPasscode: inverted.count)
        typed.withUnsafeMutableBytes { for index in inverted.indices { $0[index] = ~inverted[index] } }
        let proved = try fixture.account.keeper.prove(typed)
        return [
            MemorySearch.Needle("passcode", inverted: inverted),
            MemorySearch.Needle("stretched passcode", of: proved.stretched),
            proved.half.withSeed { MemorySearch.Needle("private half", of: $0) },
        ]
    }

    private static func type(_ inverted: [UInt8], at terminal: PseudoTerminal) {
        terminal.waitFor("Passcode: ")
        terminal.clearScreen()
        terminal.type(String(decoding: inverted.map { ~$0 }, as: UTF8.self) + "\r")
    }

    /// The first byte of the answer.
    private func send(_ command: UInt8, _ parameters: CBORValue? = nil, asks: Bool = true) throws -> [UInt8] {
        let id = try browser.client.send(
            .authenticatorCommand(.init()), tail: [command] + (parameters?.encoded ?? []),
            descriptor: terminal.slave.number)
        if asks { Self.type(inverted, at: terminal) }
        let answer = try browser.client.answer(to: id)
        try #require(answer.refusal == nil, "\(answer.failure?.explanation ?? "")")
        return answer.tail
    }

    private func found() throws -> Set<String> { try MemorySearch.found(needles, in: daemon.processID) }

    private static let domain = "example.org"
    private static let hash = [UInt8](repeating: 7, count: 32)

    private static func creation(_ account: UInt8) -> CBORValue {
        .map([
            1: .bytes(hash), 2: .map(["id": .text(domain)]), 3: .map(["id": .bytes([account]), "name": .text("ada")]),
            4: .array([.map(["alg": .number(-7), "type": .text("public-key")])]), 7: .map(["rk": .boolean(true)]),
        ])
    }

    @Test func `a passkey that is made and a sign-in leave nothing of the passcode`() throws {
        for account: UInt8 in [1, 2] {
            #expect(try send(1, Self.creation(account)).first == 0)
            try eventually("nothing is left of the registration") { try found().isEmpty }
        }
        #expect(try send(2, .map([1: .text(Self.domain), 2: .bytes(Self.hash)])).first == 0)
        // The private half signs for the other account, for half a minute.
        try eventually("the rest is gone") { try found() == ["private half"] }
        #expect(try send(8, asks: false).first == 0)
        try eventually("nothing is left of the sign-in") { try found().isEmpty }
    }

    @Test func `a token that is not used leaves the private half for half a minute, and nothing then`() throws {
        // The point is the generator of P-256; nobody uses the token.
        let agreement = CBORValue.map([
            1: .number(2), 3: .number(-25), -1: .number(1), -2: .bytes(Self.generator.x), -3: .bytes(Self.generator.y),
        ])
        let given = ContinuousClock.now
        let answer = try send(6, .map([1: .number(2), 2: .number(6), 3: agreement, 9: .number(4)]))
        #expect(answer.first == 0)
        try eventually("the rest is gone") { try found() == ["private half"] }
        while try !found().isEmpty {
            try #require(ContinuousClock.now < given.advanced(by: .seconds(300)), "the private half stays")
            usleep(200_000)
        }
    }

    /// FIPS 186-4, D.1.2.3.
    private static let generator: (x: [UInt8], y: [UInt8]) = (
        bytes("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
        bytes("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
    )

    private static func bytes(_ digits: String) -> [UInt8] {
        let characters = Array(digits)
        return stride(from: 0, to: characters.count, by: 2).map { UInt8(String(characters[$0...$0 + 1]), radix: 16)! }
    }
}
