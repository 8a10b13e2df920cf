import AuthenticatorRequests
import Cancellations
import Crypto
import ExactNames
import Foundation
import Glibc
import HelperProcesses
import SecurityKeyTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import SecurityKeys

/// A folder where keys in software are plugged in, and the part under test with the real `ostiary-fido`.
struct KeyFixture {
    let folder: TestFolder
    let cancellation = Cancellation()

    init() throws { folder = try TestFolder() }

    func keys(within limit: Duration = .seconds(60), program: String = Build.program("ostiary-fido")) -> SecurityKeys {
        SecurityKeys(.spawned(program: program), ports: SocketPorts(folder: folder.path), limit: limit)
    }

    func plugIn(
        _ engine: any KeyEngine, named name: String = "key", fault: @escaping SoftwareKey.Fault = { $2 }
    ) throws -> SoftwareKey {
        try SoftwareKey(in: folder, named: name, engine, fault: fault)
    }

    static let hash = (0..<32).map { UInt8($0) }
    static let relyingParty = RelyingPartyName(identifier: "example.com", name: "Example")

    static func user(_ name: String = "ada") -> CredentialUser {
        CredentialUser(identifier: Array(name.utf8), name: name, displayName: name.capitalized)
    }

    /// A creation that a touch is enough for.
    static func creation(_ change: (inout CredentialCreation) -> Void = { _ in }) -> CredentialCreation {
        var creation = CredentialCreation(
            clientDataHash: hash, relyingParty: relyingParty, user: user(), algorithms: [-7])
        creation.userVerification = .discouraged
        creation.discoverable = .discouraged
        change(&creation)
        return creation
    }

    /// An assertion that a touch is enough for.
    static func assertion(
        allowing identifiers: [[UInt8]] = [], _ change: (inout CredentialAssertion) -> Void = { _ in }
    ) -> CredentialAssertion {
        var assertion = CredentialAssertion(clientDataHash: hash, relyingParty: relyingParty)
        assertion.allowed = identifiers.map { CredentialDescriptor(identifier: $0) }
        assertion.userVerification = .discouraged
        change(&assertion)
        return assertion
    }

    func create(
        _ creation: CredentialCreation = Self.creation(), _ question: ScriptedQuestion = ScriptedQuestion(),
        within limit: Duration = .seconds(60)
    ) throws -> CreatedCredential {
        try keys(within: limit).create(creation, with: question, until: cancellation)
    }

    func assert(
        _ assertion: CredentialAssertion, _ question: ScriptedQuestion = ScriptedQuestion(),
        within limit: Duration = .seconds(60)
    ) throws -> AssertedCredential {
        try keys(within: limit).assert(assertion, with: question, until: cancellation)
    }
}

/// Whether a signature of a key is right.
func verifies(_ asserted: AssertedCredential, with key: P256.Signing.PublicKey?, hash: [UInt8] = KeyFixture.hash)
    -> Bool
{
    guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: asserted.signature) else { return false }
    return key?.isValidSignature(signature, for: asserted.authenticatorData + hash) ?? false
}
