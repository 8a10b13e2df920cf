import AccessControl
import Authenticators
import Broker
import BrokerTestSupport
import CTAP
import Foundation
import HelperProcesses
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import SecurityKeyTestSupport
import SecurityKeys
import Settings
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

/// A broker, and a folder where keys in software are plugged in, with the real `ostiary-fido` between them.
final class FactorFixture {
    let ports: TestFolder
    let fixture: BrokerFixture
    private let typed = TypedPINs()

    init(
        in folder: TestFolder? = nil, program: String = Build.program("ostiary-fido"), ports: TestFolder? = nil,
        prompts: PromptConfiguration = PromptConfiguration()
    ) throws {
        let ports = try ports ?? TestFolder()
        self.ports = ports
        let keys = SecurityKeys(.spawned(program: program), ports: SocketPorts(folder: ports.path), limit: .seconds(30))
        fixture = try BrokerFixture(
            in: folder, prompts: prompts,
            authenticators: CredentialAuthenticators(securityKeys: keys, factorKeys: keys))
        answer()
    }

    var prompter: ScriptedPrompter { fixture.prompter }

    /// Has the person wait for keys, type these PINs, and otherwise agree.
    ///
    /// - Parameter onSensor: called for each question about a key.
    func answer(
        pins: [String] = [], passcode: String? = nil,
        onSensor: @escaping @Sendable (PromptQuestion) -> Void = { _ in }
    ) {
        typed.replace(with: pins)
        prompter.prepare([])
        prompter.always { [typed] question in
            switch question.kind {
            case .sensor:
                onSensor(question)
                return .wait
            case .confirmation: return .confirm
            case .enterPasscode: return passcode.map { .text($0) } ?? .wait
            case .newPasscode, .repeatPasscode: return .text(passcode ?? BrokerFixture.passcode)
            case .keyPIN, .newKeyPIN, .repeatKeyPIN:
                return typed.next().map { .text($0) } ?? .cancel
            default: return .cancel
            }
        }
    }

    // MARK: keys

    func plugIn(
        _ memory: KeyMemory = KeyMemory(), named name: String = "key",
        _ finger: TestFinger = TestFinger(verifies: true),
        hasPIN: Bool = false, fault: @escaping SoftwareKey.Fault = { $2 }
    ) throws -> SoftwareKey {
        try SoftwareKey(in: ports, named: name, FIDO2Engine(finger, memory: memory, hasPIN: hasPIN), fault: fault)
    }

    @discardableResult
    func enroll(_ name: String = "blue") throws -> WireSecurityKey {
        let request = WireEnrollSecurityKeyRequest.with {
            $0.name = name
            $0.question = TestClient.question
        }
        guard case .securityKeys(let list) = try fixture.client().call(.enrollSecurityKey(request)).body,
            let key = list.keys.first, list.keys.count == 1
        else { throw TestClient.UnexpectedAnswer() }
        return key
    }

    /// Plugs a second key in and enrols it. The first one is touched once, and then the second one.
    func enrollSecond(_ memory: KeyMemory, named name: String, after first: TestFinger) throws -> SoftwareKey {
        let finger = TestFinger(touches: 0, verifies: true)
        let key = try plugIn(memory, named: name, finger)
        answer { question in
            if question.operation.string.hasPrefix("use an enrolled") { return first.touch() }
            // More than it needs: a request that was cancelled before may take one of them.
            for _ in 1...4 { finger.touch() }
        }
        try enroll(name)
        finger.touch()
        answer()
        return key
    }

    func list() throws -> [WireSecurityKey] {
        guard case .securityKeys(let list) = try fixture.client().call(.listSecurityKeys(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return list.keys
    }

    func remove(_ key: WireSecurityKey) throws {
        let request = WireRemoveSecurityKeyRequest.with {
            $0.keyID = key.keyID
            $0.question = TestClient.question
        }
        try fixture.client().call(.removeSecurityKey(request))
    }

    var record: SecurityKeyRecord { get throws { try #require(fixture.account.securityKeys).record() } }

    // MARK: rights

    func create(_ name: String, _ sets: [FactorSet] = [.securityKey]) throws {
        try fixture.client().create(
            name, AccessControl(availability: .whenUnlocked, using: Requirement(anyOf: sets)),
            secret: "secret of \(name)")
    }

    /// Authorizes a right, reads its secret, and returns the factors that were used.
    @discardableResult
    func open(_ name: String) throws -> [String] {
        let client = try fixture.client()
        let (right, context) = (try client.find(name), try client.openContext())
        let factors = try client.authorize(right, in: context)
        #expect(try client.secret(of: right, in: context) == "secret of \(name)")
        return factors
    }

    /// The refusal of a right's authorization.
    func refusal(of name: String) -> Refused? {
        let client = try? fixture.client()
        do {
            guard let client else { return nil }
            _ = try client.authorize(client.find(name), in: client.openContext())
            return nil
        } catch { return error as? Refused }
    }

    func grants() throws -> [WireLogRecord] {
        try fixture.client().log().filter { $0.event == "authorize" && $0.result == "granted" }
    }

    func misses() throws -> Int { try fixture.client().log().count { $0.event == "attempt" } }
}

/// The PINs that the person types, one after the other.
private final class TypedPINs: Sendable {
    private let pins = Mutex<[String]>([])

    func replace(with pins: [String]) { self.pins.withLock { $0 = pins } }

    func next() -> String? { pins.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}
