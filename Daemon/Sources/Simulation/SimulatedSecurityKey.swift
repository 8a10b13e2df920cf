package import AuthenticatorRequests
package import Cancellations
import Crypto
import ExactNames
import Foundation
import SecretMemory
import Synchronization

/// A security key in software: real key pairs and signatures, nothing on disk.
///
/// It makes packed self attestation (WebAuthn 8.2) or none, answers the PRF extension, and asks for its PIN, if it has one, where
/// user verification is wanted.
package final class SimulatedSecurityKey: CredentialAuthenticator {
    private struct Credential {
        let relyingParty: ExactName
        let user: CredentialUser
        let key: P256.Signing.PrivateKey
        let random: SymmetricKey
        var counter: UInt32 = 0
    }

    private struct State {
        var credentials: [(identifier: [UInt8], credential: Credential)] = []
        var pin: String?
        var triesLeft = SimulatedSecurityKey.triesAtFirst
        var isTouched = false
        var waiting: DispatchSemaphore?
        var touchesAtOnce = false
        var refusal: CredentialRefusal?
    }

    /// Its name in questions.
    package static let name = "Simulated key"
    private static let triesAtFirst = 8
    private static let es256 = -7

    private let state = Mutex(State())

    package init() {}

    // MARK: orders of a test

    /// The person touches the key.
    package func touch() {
        state.withLock { state in
            state.isTouched = true
            state.waiting?.signal()
        }
    }

    /// Whether it is touched as soon as it waits.
    package func touchesAtOnce(_ does: Bool = true) { state.withLock { $0.touchesAtOnce = does } }

    package func setPIN(_ pin: String?) { state.withLock { $0.pin = pin } }

    /// Refuses everything from now on, or nothing.
    package func refuse(_ refusal: CredentialRefusal?) { state.withLock { $0.refusal = refusal } }

    /// Whether it waits for a touch.
    package var isWaiting: Bool { state.withLock { $0.waiting != nil } }

    // MARK: CredentialAuthenticator

    package func create(
        _ creation: CredentialCreation, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> CreatedCredential {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
        guard creation.algorithms.contains(Self.es256) else { throw CredentialRefusal.unsupportedAlgorithm }
        let isVerified = try verify(creation.userVerification, question)
        try waitForTouch(question, cancellation)
        let excluded = creation.excluded.map(\.identifier)
        guard !state.withLock({ $0.credentials.contains { excluded.contains($0.identifier) } }) else {
            throw CredentialRefusal.excluded
        }
        let credential = Credential(
            relyingParty: creation.relyingParty.identifier, user: creation.user, key: P256.Signing.PrivateKey(),
            random: SymmetricKey(size: .bits256))
        let identifier = Self.random(32)
        state.withLock { $0.credentials.append((identifier, credential)) }
        var created = CreatedCredential(
            credentialIdentifier: identifier,
            attestationObject: try attestationObject(creation, credential, identifier, isVerified),
            transports: ["usb"], attachment: .crossPlatform)
        if creation.extensions.wantsPRF { created.supportsPRF = true }
        created.prf = creation.extensions.salts.map { Self.outputs(of: $0, credential) }
        return created
    }

    package func assert(
        _ assertion: CredentialAssertion, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> AssertedCredential {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
        let isVerified = try verify(assertion.userVerification, question)
        try waitForTouch(question, cancellation)
        let allowed = assertion.allowed.map(\.identifier)
        let found = state.withLock { state in
            state.credentials.filter {
                $0.credential.relyingParty == assertion.relyingParty.identifier
                    && (allowed.isEmpty || allowed.contains($0.identifier))
            }
        }
        guard !found.isEmpty else { throw CredentialRefusal.noCredential }
        let index = found.count == 1 ? 0 : try question.choose(among: found.map(\.credential.user))
        let (identifier, credential) = found[index]
        let data = Self.authenticatorData(
            for: credential.relyingParty, isVerified: isVerified, counter: count(identifier))
        let signature = try credential.key.signature(for: Data(data + assertion.clientDataHash))
        var asserted = AssertedCredential(
            credentialIdentifier: identifier, authenticatorData: data,
            signature: Array(signature.derRepresentation), userHandle: credential.user.identifier,
            attachment: .crossPlatform)
        asserted.prf = (assertion.saltsByCredential[identifier] ?? assertion.salts)
            .map { Self.outputs(of: $0, credential) }
        return asserted
    }

    private func count(_ identifier: [UInt8]) -> UInt32 {
        state.withLock { state in
            guard let index = state.credentials.firstIndex(where: { $0.identifier == identifier }) else { return 0 }
            state.credentials[index].credential.counter += 1
            return state.credentials[index].credential.counter
        }
    }

    // MARK: the person

    private func verify(_ preference: Preference, _ question: any CredentialQuestion) throws -> Bool {
        guard let pin = state.withLock({ $0.pin }) else {
            guard preference != .required else { throw CredentialRefusal.pinNotSet }
            return false
        }
        guard preference != .discouraged else { return false }
        var wasWrong = false
        while true {
            let tries = state.withLock { $0.triesLeft }
            guard tries > 0 else { throw CredentialRefusal.pinBlocked }
            let typed = try question.pin(for: Self.name, triesLeft: tries, isNew: false, wasWrong: wasWrong)
            let isRight = unsafe typed.withUnsafeBytes { unsafe $0.elementsEqual(pin.utf8) }
            state.withLock { $0.triesLeft = isRight ? Self.triesAtFirst : tries - 1 }
            if isRight { return true }
            wasWrong = true
        }
    }

    private func waitForTouch(
        _ question: any CredentialQuestion, _ cancellation: Cancellation
    ) throws {
        question.show(.touch(device: Self.name))
        let touched = DispatchSemaphore(value: 0)
        let isTouched = state.withLock { state in
            state.waiting = touched
            return state.touchesAtOnce || state.isTouched
        }
        defer { state.withLock { ($0.waiting, $0.isTouched) = (nil, false) } }
        if !isTouched {
            cancellation.whenCancelled { touched.signal() }
            touched.wait()
        }
        guard !cancellation.isCancelled else { throw CredentialRefusal.cancelled }
        question.show(.working)
    }

    // MARK: bytes

    private static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    private static func outputs(of salts: PRFSalts, _ credential: Credential) -> PRFOutputs {
        func output(_ salt: [UInt8]) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: salt, using: credential.random))
        }
        return PRFOutputs(first: output(salts.first), second: salts.second.map(output))
    }

    /// WebAuthn 6.1; `attested` is the credential's data.
    private static func authenticatorData(
        for relyingParty: ExactName, isVerified: Bool, counter: UInt32, attested: [UInt8] = []
    ) -> [UInt8] {
        let flags: UInt8 = 0x01 | (isVerified ? 0x04 : 0) | (attested.isEmpty ? 0 : 0x40)
        let counter = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
        return Array(SHA256.hash(data: Data(relyingParty.utf8))) + [flags] + counter + attested
    }

    private func attestationObject(
        _ creation: CredentialCreation, _ credential: Credential, _ identifier: [UInt8], _ isVerified: Bool
    ) throws -> [UInt8] {
        let point = Array(credential.key.publicKey.rawRepresentation)
        let key = CanonicalCBOR.map([
            (.integer(1), .integer(2)), (.integer(3), .integer(Self.es256)), (.integer(-1), .integer(1)),
            (.integer(-2), .bytes(Array(point[..<32]))), (.integer(-3), .bytes(Array(point[32...]))),
        ])
        let length = [UInt8(identifier.count >> 8), UInt8(identifier.count & 0xFF)]
        let attested = [UInt8](repeating: 0, count: 16) + length + identifier + key.encoded
        let data = Self.authenticatorData(
            for: credential.relyingParty, isVerified: isVerified, counter: 0, attested: attested)
        var statement: [(CanonicalCBOR, CanonicalCBOR)] = []
        if creation.attestation != .none {
            let signature = try credential.key.signature(for: Data(data + creation.clientDataHash))
            statement = [
                (.text("alg"), .integer(Self.es256)), (.text("sig"), .bytes(Array(signature.derRepresentation))),
            ]
        }
        return CanonicalCBOR.map([
            (.text("fmt"), .text(statement.isEmpty ? "none" : "packed")), (.text("attStmt"), .map(statement)),
            (.text("authData"), .bytes(data)),
        ]).encoded
    }
}

/// The few values of CBOR (RFC 8949) that an attestation object has. Keys of maps are given in canonical order.
private indirect enum CanonicalCBOR {
    case integer(Int)
    case bytes([UInt8])
    case text(String)
    case map([(CanonicalCBOR, CanonicalCBOR)])

    var encoded: [UInt8] {
        switch self {
        case .integer(let value) where value >= 0: Self.head(0, value)
        case .integer(let value): Self.head(1, -1 - value)
        case .bytes(let bytes): Self.head(2, bytes.count) + bytes
        case .text(let text): Self.head(3, text.utf8.count) + Array(text.utf8)
        case .map(let entries): Self.head(5, entries.count) + entries.flatMap { $0.0.encoded + $0.1.encoded }
        }
    }

    private static func head(_ type: UInt8, _ value: Int) -> [UInt8] {
        switch value {
        case ..<24: [type << 5 | UInt8(value)]
        case ..<0x100: [type << 5 | 24, UInt8(value)]
        default: [type << 5 | 25, UInt8(value >> 8), UInt8(value & 0xFF)]
        }
    }
}
