import AccessControl
import BrokerTestSupport
import Crypto
import Foundation
import OstiaryMessages
import SSHFormats
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A door for SSH in front of the daemon: who is asked, what the question shows, and who gets a signature.
@Suite(.timeLimit(.minutes(10))) struct SSHDoorTests {
    private let host = SSHHost()

    private static func request(_ right: Data, _ bindings: [WireSSHBinding], hostName: String = "")
        -> WireRequest.OneOf_Body
    {
        .sshSign(
            .with {
                ($0.rightID, $0.bindings, $0.hostName) = (right, bindings, hostName)
                $0.question = .reason("to log in")
            })
    }

    private static func creation(_ constraints: SSHKeyConstraints) throws -> WireRequest.OneOf_Body {
        let control = try AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: .passcode)
        return .createRight(
            .with {
                ($0.identifier, $0.accessControl) = ("deploy", Data(control.canonicalBytes))
                ($0.sshConstraints, $0.question) = (Data(constraints.canonicalBytes), .reason("to make a key"))
            })
    }

    private func makeRight(_ stage: DoorStage, _ constraints: SSHKeyConstraints) throws -> WireRight {
        let answer = try stage.door.client.ask(Self.creation(constraints))
        return try #require(answer.right, "\(answer.failure?.explanation ?? "")")
    }

    private func isValid(_ signature: [UInt8], for data: Data, by right: WireRight) throws -> Bool {
        try P256.Signing.PublicKey(x963Representation: right.publicKey)
            .isValidSignature(P256.Signing.ECDSASignature(rawRepresentation: Data(signature)), for: data)
    }

    @Test func `a login asks on the client's terminal, with the facts and with the door's word marked`() throws {
        let stage = try DoorStage()
        try stage.setPasscode()
        let right = try makeRight(stage, SSHKeyConstraints())
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal)
        let data = try SSHBytes.login(1, user: "ada", by: right.publicKey, to: host)
        let id = try stage.send(
            Self.request(right.rightID, [host.binding(1)], hostName: "build.example"), for: client, asking: true,
            tail: Array(data))
        terminal.waitFor("Passcode: ")
        let program = try stage.program("client")
        for line in [
            "Program \(program) (process \(client.processID))", "Through \(stage.registrations.path)",
            "a login as “ada” (ssh-connection)", try host.publicKey.fingerprint.description,
            "“build.example”, not checked",
        ] { #expect(terminal.shows(line), "\(line)\n\(terminal.screen)") }
        terminal.answer("Passcode: ", with: Stage.passcode)
        let answer = try stage.door.client.answer(to: id)
        try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
        #expect(try isValid(answer.tail, for: data, by: right))
        let record = try #require(try stage.records().last { $0.event == "ssh-sign" })
        #expect(record.program == "\(program), through \(stage.registrations.path)" && record.result == "granted")
    }

    @Test func `an ssh that proves no session may forward an agent, so a key that is never forwarded refuses it`()
        throws
    {
        let stage = try DoorStage()
        try stage.setPasscode()
        let right = try makeRight(stage, SSHKeyConstraints(neverForwarded: true, permitsUnknown: true))
        let (ssh, keygen) = try (stage.client("ssh"), stage.client("ssh-keygen"))
        for data in [SSHBytes.signature("git"), Data("anything".utf8)] {
            let refused = try stage.ask(Self.request(right.rightID, []), for: ssh, tail: Array(data))
            #expect(refused.refusal == .operationNotPermitted && refused.cause == "ssh.unbound")
            // The others are asked about, and have nobody here who could be.
            for (client, bindings) in try [(ssh, [host.binding(1)]), (keygen, [])]
                as [(DoorStage.Client, [WireSSHBinding])]
            {
                let asked = try stage.ask(Self.request(right.rightID, bindings), for: client, tail: Array(data))
                #expect(asked.refusal == .notInteractive)
            }
        }
        try stage.expectLogged("ssh-sign", "ssh.unbound")
    }

    @Test func `a program that is no door signs for nobody`() throws {
        let stage = try DoorStage()
        try stage.setPasscode()
        let right = try makeRight(stage, SSHKeyConstraints())
        let client = try stage.client()
        let data = try SSHBytes.login(1, by: right.publicKey, to: host)
        let stranger = try stage.registrations.stranger().greeted()
        let id = try stranger.client.send(
            Self.request(right.rightID, [host.binding(1)]), for: DoorStage.behalf([.socket]), tail: Array(data),
            descriptors: [client.accepted.number])
        let answer = try stranger.client.answer(to: id)
        #expect(answer.refusal == .missingEntitlement && answer.cause == "door.not-registered" && answer.tail.isEmpty)
        try stage.expectLogged("vouch", "door.not-registered", by: Caller.program)
        // In its own name it does not find the right.
        let own = try stranger.client.answer(
            to: stranger.client.send(Self.request(right.rightID, [host.binding(1)]), tail: Array(data)))
        #expect(own.refusal == .notFound)
    }

    @Test func `a client that executes another program while it is asked gets no signature`() throws {
        let stage = try DoorStage()
        try stage.setPasscode()
        let right = try makeRight(stage, SSHKeyConstraints())
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal, next: ["/bin/sleep", "600"])
        _ = try stage.openContext(for: client)
        let data = try SSHBytes.login(1, by: right.publicKey, to: host)
        let id = try stage.send(
            Self.request(right.rightID, [host.binding(1)]), for: client, asking: true, tail: Array(data))
        terminal.waitFor("Passcode: ")
        try client.caller.executeNext("/usr/bin/sleep")
        terminal.answer("Passcode: ", with: Stage.passcode)
        let answer = try stage.door.client.answer(to: id)
        #expect(answer.refusal == .clientChanged && answer.cause == "client.changed" && answer.tail.isEmpty)
        try stage.expectLogged("ssh-sign", "client.changed")
    }

    @Test func `a client that is killed takes its question along, and nothing is signed`() throws {
        let stage = try DoorStage()
        try stage.setPasscode()
        let right = try makeRight(stage, SSHKeyConstraints())
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal)
        let data = try SSHBytes.login(1, by: right.publicKey, to: host)
        let id = try stage.send(
            Self.request(right.rightID, [host.binding(1)]), for: client, asking: true, tail: Array(data))
        terminal.waitFor("Passcode: ")
        client.caller.kill()
        let answer = try stage.door.client.answer(to: id)
        #expect([.appCancel, .systemCancel].contains(answer.refusal) && answer.tail.isEmpty)
        #expect(try !stage.records().contains { $0.event == "ssh-sign" && $0.result == "granted" })
    }

    @Test func `a key in a chip signs the shown login, and refuses another host unasked`() throws {
        let stage = try TPMStage()
        try stage.setPasscode()
        let pin = SSHHostPin(fingerprint: host.fingerprint, name: "build")
        let answer = try stage.client.ask(Self.creation(SSHKeyConstraints(hosts: [pin], neverForwarded: true)))
        let right = try #require(answer.right, "\(answer.failure?.explanation ?? "")")
        #expect(right.enclaveKind == "tpm")
        let data = try SSHBytes.login(1, by: right.publicKey, to: host)
        stage.terminal.clearScreen()
        let id = try stage.client.send(
            Self.request(right.rightID, [host.binding(1)]), tail: Array(data),
            descriptor: stage.terminal.slave.number)
        stage.terminal.waitFor("“build”, as you named it")
        stage.terminal.answer("Passcode: ", with: TPMStage.passcode)
        let signed = try stage.client.answer(to: id)
        try #require(signed.isDone, "\(signed.failure?.explanation ?? "")")
        #expect(try isValid(signed.tail, for: data, by: right))
        #expect(try stage.tpm.handles() == [0, 0, 0], "nothing is left in the chip")

        let other = SSHHost()
        let elsewhere = try SSHBytes.login(1, by: right.publicKey, to: other)
        // No terminal comes along, so nobody could be asked.
        let refused = try stage.client.answer(
            to: stage.client.send(Self.request(right.rightID, [other.binding(1)]), tail: Array(elsewhere)))
        #expect(refused.refusal == .operationNotPermitted && refused.cause == "ssh.host" && refused.tail.isEmpty)
    }
}
