import ArgumentParser
import AuthenticatorRequests
import Cancellations
import ExactNames
import Foundation
import HelperProcesses
import SecurityKeyTestSupport
import SecurityKeys
import StoreTestSupport

/// Measures an assertion of a security key in software: the real helper and libfido2, and the time that the key itself takes.
struct SecurityKeyBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "security-key", abstract: "Measures assertions beside the time of the security key.")

    @OptionGroup var options: MeasuringOptions

    @Option(help: "The helper that talks to security keys.")
    var helper: String

    func run() throws {
        try options.pin()
        let folder = try TestFolder()
        let engine = TimedEngine()
        let key = try SoftwareKey(in: folder, engine)
        let keys = SecurityKeys(.spawned(program: helper), ports: SocketPorts(folder: folder.path))
        let identifier = try keys.create(Self.creation, with: ScriptedQuestion(), until: Cancellation())
            .credentialIdentifier
        var assertion = CredentialAssertion(clientDataHash: Self.hash, relyingParty: Self.relyingParty)
        assertion.allowed = [CredentialDescriptor(identifier: identifier)]
        assertion.userVerification = .discouraged
        let calls = (0..<(options.quick ? 20 : 500)).map { _ in assertion }
        let times = try calls.map { assertion in
            try engine.time { _ = try keys.assert(assertion, with: ScriptedQuestion(), until: Cancellation()) }
        }
        let figures = [
            Figure("security-key-assertion", times.map(\.whole)),
            Figure("security-key-own-time", times.map(\.own)),
            Figure("security-key-overhead", times.map { $0.whole - $0.own }),
            Figure("security-key-answer-to-reply", times.map(\.afterAnswer)),
        ]
        let goal = Goal("assertion beyond the key's own time, ms", figures[2].median / 1000, atMost: 5)
        try options.publish(Report(figures: figures, goals: [goal]))
        withExtendedLifetime(key) {}
    }

    private static let hash = [UInt8](repeating: 1, count: 32)
    private static let relyingParty = RelyingPartyName(identifier: "example.com", name: "Example")

    private static var creation: CredentialCreation {
        var creation = CredentialCreation(
            clientDataHash: hash, relyingParty: relyingParty,
            user: CredentialUser(identifier: [1], name: "user", displayName: "User"), algorithms: [-7])
        creation.userVerification = .discouraged
        creation.discoverable = .discouraged
        return creation
    }
}
