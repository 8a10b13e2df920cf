import AccessControl
import BrokerTestSupport
import CLinuxShims
import HelperProcesses
import KeySlots
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import SecurityKeyTestSupport
import SecurityKeys
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

@testable import Broker
@testable import OwnerKeys

/// Copies of a security key's PIN that requests leave in the daemon's memory, on a connection that stays open. The broker
/// and the key are in the test's own process, and `ostiary-fido` is not. The key knows no more of its PIN than the digest.
@Suite("The PIN of a security key in memory", .timeLimit(.minutes(10))) struct PINMemoryTests {
    /// 24 letters with all bits turned over. No other test has this PIN.
    private static let pin: [UInt8] = [
        0xB6, 0xAD, 0xAB, 0xAF, 0xA5, 0xBD, 0xBD, 0xB7, 0xAF, 0xA6, 0xAD, 0xB1,
        0xBE, 0xBA, 0xBD, 0xAF, 0xB3, 0xBE, 0xAD, 0xB9, 0xA9, 0xAB, 0xA6, 0xAC,
    ]
    /// The first half of its SHA-256. To compute it here would leave the PIN in memory.
    private static let pinHash: [UInt8] = [
        0x23, 0xD4, 0xA4, 0x26, 0x02, 0x63, 0xED, 0xE1, 0x71, 0x9E, 0x1A, 0xFA, 0xBF, 0x70, 0x49, 0x6F,
    ]

    private let passcode = invertedLetters()
    private let wrongPIN = invertedLetters()
    private let ports: TestFolder
    private let fixture: BrokerFixture
    private let client: TestClient
    private let key: SoftwareKey
    private let needles: [MemorySearch.Needle]

    /// 24 capital letters by chance, with all bits turned over.
    private static func invertedLetters() -> [UInt8] { (0..<24).map { _ in ~UInt8.random(in: 65...90) } }

    /// A store with a passcode, and a key with its PIN that is plugged in.
    init() throws {
        // As the daemon does at its start: libraries leave copies of keys in memory that they free.
        ostiary_overwrite_freed_memory()
        ports = try TestFolder()
        let keys = SecurityKeys(
            .spawned(program: Build.program("ostiary-fido")), ports: SocketPorts(folder: ports.path),
            limit: .seconds(30))
        fixture = try BrokerFixture(
            stretching: .argon2id, authenticators: CredentialAuthenticators(securityKeys: keys, factorKeys: keys))
        let memory = KeyMemory()
        memory.setPINHash(Self.pinHash)
        key = try SoftwareKey(in: ports, FIDO2Engine(TestFinger(), memory: memory))
        client = try fixture.client()
        fixture.prompter.prepare([.inverted(passcode), .inverted(passcode)])
        try client.passcode(.set)
        let pins = [("PIN", Self.pin), ("wrong PIN", wrongPIN)]
        needles =
            try Self.needles(of: fixture.account, passcode) + pins.map { MemorySearch.Needle($0, inverted: $1) }
    }

    private static func needles(of account: OwnerAccount, _ passcode: [UInt8]) throws -> [MemorySearch.Needle] {
        let proved = try account.keeper.prove(secret(passcode))
        return [
            MemorySearch.Needle("passcode", inverted: passcode),
            MemorySearch.Needle("stretched passcode", of: proved.stretched),
            proved.half.withSeed { MemorySearch.Needle("private half", of: $0) },
        ]
    }

    private static func secret(_ inverted: [UInt8]) -> SecretBytes {
        var secret = SecretBytes(zeroedForPasscode: inverted.count)
        secret.withUnsafeMutableBytes { for index in inverted.indices { $0[index] = ~inverted[index] } }
        return secret
    }

    // MARK: steps

    /// Has the person type these PINs, one after the other, and the passcode where it is asked for.
    private func answer(pins: [[UInt8]]) {
        let left = Mutex(pins)
        fixture.prompter.prepare([])
        fixture.prompter.always { [passcode] question in
            switch question.kind {
            case .enterPasscode: return .inverted(passcode)
            case .keyPIN:
                let next: [UInt8]? = left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                return next.map { .inverted($0) } ?? .cancel
            case .sensor: return .wait
            default: return .confirm
            }
        }
    }

    /// How often a secret was typed.
    private func count(of kind: PromptKind) -> Int { fixture.prompter.askedKinds.count { $0 == kind } }

    private func enroll() throws {
        let request = WireEnrollSecurityKeyRequest.with {
            $0.name = "blue"
            $0.question = TestClient.question
        }
        try client.call(.enrollSecurityKey(request))
    }

    private func expectNothing(after name: String) throws {
        let left = try MemorySearch.left(needles)
        #expect(left.isEmpty, "\(name) left \(left.sorted())")
    }

    // MARK: tests

    @Test func `a search of memory finds a PIN that is held`() throws {
        let typed = Self.secret(Self.pin)
        try eventually("the PIN alone is found") { try MemorySearch.found(needles) == ["PIN"] }
        withExtendedLifetime((typed.count, key)) {}
    }

    @Test func `an enrolment, and a right that the key opens, leave neither PIN nor passcode`() throws {
        answer(pins: [Self.pin])
        try enroll()
        #expect((count(of: .enterPasscode), count(of: .keyPIN)) == (1, 1))
        try expectNothing(after: "an enrolment")
        try client.create(
            "vault", AccessControl(availability: .whenUnlocked, using: Requirement(anyOf: [.securityKey])))
        answer(pins: [Self.pin])
        try client.authorize("vault")
        #expect(count(of: .keyPIN) == 1)
        try expectNothing(after: "a right that is open")
        withExtendedLifetime(key) {}
    }

    @Test func `an enrolment with a wrong PIN before the right one leaves neither`() throws {
        answer(pins: [wrongPIN, Self.pin])
        try enroll()
        #expect(count(of: .keyPIN) == 2)
        try expectNothing(after: "an enrolment")
        withExtendedLifetime(key) {}
    }

    @Test func `an enrolment that the person breaks off leaves no wrong PIN`() throws {
        answer(pins: [wrongPIN])
        #expect(try refusal { try enroll() } == .userCancel)
        #expect(count(of: .keyPIN) == 2)
        try expectNothing(after: "an enrolment that was broken off")
        withExtendedLifetime(key) {}
    }
}
