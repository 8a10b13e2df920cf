import AccessControl
import AuthenticatorRequests
import Cancellations
import Crypto
import Dispatch
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import SecretMemory
import Settings
import TPMTestSupport
import TerminalTestSupport
import Testing
import Threading
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import CTAP
@testable import Passkeys
@testable import TPMEnclave

/// A chip that takes a request and gives no answer, while grants end.
@Suite(.serialized, .timeLimit(.minutes(10))) struct StoppedChipTests {
    private let tpm: SoftwareTPM
    private let fixture: BrokerFixture
    private let chip: Chip
    private static let always = AccessControl(availability: .always, using: .unrestricted)

    init() throws {
        tpm = try SoftwareTPM()
        fixture = try BrokerFixture(prompts: PromptConfiguration(keysIn: tpm))
        try fixture.setPasscode()
        chip = try #require(fixture.broker.enclave as? TPMEnclave).chip
    }

    @Test func `a lock waits for no request at the chip, and holds in every session`() throws {
        let clients = try (0..<3).map { number in
            let client = try fixture.client()
            let right = try client.create("right \(number)", Self.always)
            let context = try client.openContext()
            try client.authorize(rightID: right.rightID, in: context)
            return (client: client, right: right, context: context)
        }
        func sign(_ number: Int) throws -> UInt64 {
            try clients[number].client.send(
                .sign(
                    .with {
                        ($0.contextID, $0.rightID) = (clients[number].context, clients[number].right.rightID)
                        $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256"
                    }), tail: SecretBytes(bytes: Data(SHA256.hash(data: Data()))))
        }
        // From now on the daemon knows the chip's count.
        #expect(try fixture.client().status().unlocked)
        tpm.pause()
        let signing = try sign(0)
        try eventually("the chip has a request") { chip.turns.isTaken }
        let (path, isLocked) = (fixture.socketPath, DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            do { try TestClient(socketPath: path).lock() } catch { Issue.record(error) }
            isLocked.signal()
        }
        #expect(isLocked.wait(timeout: .now() + 120) == .success, "the chip still answers nobody")
        for number in 1...2 {
            let id = try sign(number)
            let answer = try clients[number].client.answer()
            #expect(answer.id == id && answer.refused?.code == .notAuthorized)
        }
        #expect(try !fixture.client().status().unlocked)
        tpm.resume()
        let answer = try clients[0].client.answer()
        #expect(answer.id == signing && answer.refused != nil, "no signature is released after the lock")
    }

    @Test func `while a right is made, a lock and a new item wait for no chip`() throws {
        // From now on the daemon knows the chip's count.
        #expect(try fixture.client().status().unlocked)
        let path = fixture.socketPath
        tpm.pause()
        let (isMade, isDone) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            do { _ = try TestClient(socketPath: path).create("right", Self.always) } catch { Issue.record(error) }
            isMade.signal()
        }
        try eventually("the chip has a request") { chip.turns.isTaken }
        Thread.detachNewThread {
            do {
                try TestClient(socketPath: path).addItem([:], accessControl: Self.always)
                try TestClient(socketPath: path).lock()
            } catch { Issue.record(error) }
            isDone.signal()
        }
        #expect(isDone.wait(timeout: .now() + 120) == .success, "the chip still answers nobody")
        #expect(isMade.wait(timeout: .now()) == .timedOut)
        tpm.resume()
        #expect(isMade.wait(timeout: .now() + 120) == .success)
    }

    @Test func `while a passkey is made, a new item waits for no chip`() throws {
        let connection = try UnixSocket.connect(to: fixture.socketPath)
        let passkeys = OwnerPasskeys(of: fixture.account, asking: try fixture.asking(on: connection), through: .program)
        let domain = RelyingPartyName(identifier: "example.org")
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let proof = try passkeys.verify(
            for: InteractionRequest(purpose: .makeCredential, relyingParty: domain), until: Cancellation())
        tpm.pause()
        let (path, isMade, isDone) = (fixture.socketPath, DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            let new = NewCredential(
                relyingParty: domain, user: CredentialUser(identifier: [1]), isDiscoverable: true,
                protection: .required, hasSecret: false)
            do { _ = try passkeys.create(new, replacing: [], under: proof) { _, _ in [1] } } catch {
                Issue.record("\(passkeys.error ?? error)")
            }
            isMade.signal()
        }
        try eventually("the chip has a request") { chip.turns.isTaken }
        Thread.detachNewThread {
            do { try TestClient(socketPath: path).addItem([:], accessControl: Self.always) } catch {
                Issue.record(error)
            }
            isDone.signal()
        }
        #expect(isDone.wait(timeout: .now() + 120) == .success, "the chip still answers nobody")
        #expect(isMade.wait(timeout: .now()) == .timedOut)
        tpm.resume()
        #expect(isMade.wait(timeout: .now() + 120) == .success)
        #expect(try fixture.account.passkeys.all().count == 1)
    }
}
