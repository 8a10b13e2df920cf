import AuthenticationServices
import Cancellations
import Foundation
@testable import OstiaryClient
import OstiaryMessages
import SecretMemory
import Synchronization

/// A daemon that answers from a list and remembers its requests.
final class ScriptedService: CredentialService {
    private struct State {
        var registrations: [WireRegisterCredentialRequest] = []
        var assertions: [WireAssertCredentialRequest] = []
        var failure: OstiaryError?
        var waits = false
        var attachment = WireAttachment.crossPlatform
        var tail: [UInt8] = []
    }

    private let state = Mutex(State())

    var registrations: [WireRegisterCredentialRequest] { state.withLock { $0.registrations } }
    var assertions: [WireAssertCredentialRequest] { state.withLock { $0.assertions } }
    func fail(_ error: OstiaryError?) { state.withLock { $0.failure = error } }
    func waitsForCancel() { state.withLock { $0.waits = true } }
    func answer(_ attachment: WireAttachment, tail: [UInt8] = []) {
        state.withLock { ($0.attachment, $0.tail) = (attachment, tail) }
    }

    private func answer(_ cancellation: Cancellation) throws -> State {
        let present = state.withLock { $0 }
        if present.waits {
            let cancelled = DispatchSemaphore(value: 0)
            cancellation.whenCancelled { cancelled.signal() }
            cancelled.wait()
            throw OstiaryError(.init(.appCancel), "The program cancelled the request.")
        }
        if let failure = present.failure { throw failure }
        return present
    }

    func register<Outputs>(
        _ request: WireRegisterCredentialRequest, cancellation: Cancellation,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireRegisteredCredential, Outputs) {
        state.withLock { $0.registrations.append(request) }
        let present = try answer(cancellation)
        let made = WireRegisteredCredential.with {
            ($0.attachment, $0.credentialID) = (present.attachment, Data([1, 2]))
            ($0.clientDataJSON, $0.attestationObject) = (Data("{}".utf8), Data([3]))
            ($0.transports, $0.supportsPRF) = (["usb", "nfc"], request.creations.first?.wantsPRF == true ? true : nil)
        }
        return (made, outputs(Self.secret(present.tail)))
    }

    func assert<Outputs>(
        _ request: WireAssertCredentialRequest, cancellation: Cancellation,
        outputs: (borrowing SecretBytes) -> Outputs
    ) throws -> (WireAssertedCredential, Outputs) {
        state.withLock { $0.assertions.append(request) }
        let present = try answer(cancellation)
        let made = WireAssertedCredential.with {
            ($0.attachment, $0.credentialID) = (present.attachment, Data([1, 2]))
            ($0.clientDataJSON, $0.authenticatorData, $0.signature) = (Data("{}".utf8), Data([4]), Data([5]))
        }
        return (made, outputs(Self.secret(present.tail)))
    }

    private static func secret(_ bytes: [UInt8]) -> SecretBytes {
        var data = Data(bytes)
        return SecretBytes(taking: &data)
    }
}
