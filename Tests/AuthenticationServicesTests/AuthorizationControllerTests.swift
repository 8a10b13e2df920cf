import AuthenticationServices
import Crypto
import Foundation
import OstiaryMessages
import Testing

@MainActor
private final class Delegate: NSObject, ASAuthorizationControllerDelegate {
    var ends: [Result<ASAuthorization, any Error>] = []
    private var waiting: CheckedContinuation<Void, Never>?

    func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
    ) { note(.success(authorization)) }

    func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
        note(.failure(error))
    }

    private func note(_ end: Result<ASAuthorization, any Error>) {
        ends.append(end)
        waiting?.resume()
        waiting = nil
    }

    /// The end with this number, counted from 1.
    func end(_ number: Int = 1) async -> Result<ASAuthorization, any Error> {
        while ends.count < number { await withCheckedContinuation { waiting = $0 } }
        return ends[number - 1]
    }
}

/// A delegate that implements nothing: both functions are optional.
private final class SilentDelegate: NSObject, ASAuthorizationControllerDelegate {}

@Suite("Authorization controllers", .timeLimit(.minutes(10)))
@MainActor
struct AuthorizationControllerTests {
    private let service = ScriptedService()
    private let keys = ASAuthorizationSecurityKeyPublicKeyCredentialProvider(relyingPartyIdentifier: "example.com")
    private let passkeys = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: "example.com")
    private let challenge = Data(1...16)

    private func perform(_ requests: ASAuthorizationRequest...) async -> Result<ASAuthorization, any Error> {
        let delegate = Delegate()
        let controller = ASAuthorizationController(authorizationRequests: requests, service: service)
        controller.delegate = delegate
        controller.performRequests()
        return await delegate.end()
    }

    private func error(_ requests: ASAuthorizationRequest...) async -> ASAuthorizationError? {
        do {
            _ = try await AuthorizationController(service: service).performRequests(requests)
            return nil
        } catch { return error as? ASAuthorizationError }
    }

    @Test func `a registration carries all that the request says`() async throws {
        let request = keys.createCredentialRegistrationRequest(
            challenge: challenge, displayName: "Anne Johnson", name: "anne", userID: Data([7]))
        request.credentialParameters = [.init(algorithm: .ES256), .init(algorithm: .init(-8))]
        request.excludedCredentials = [.init(credentialID: Data([9]), transports: [.usb, .bluetooth])]
        request.userVerificationPreference = .required
        request.attestationPreference = .direct
        request.residentKeyPreference = .preferred
        request.prf = .inputValues(.saltInput1(Data([1]), saltInput2: Data([2])))
        let authorization = try await perform(request).get()
        let credential = try #require(
            authorization.credential as? ASAuthorizationSecurityKeyPublicKeyCredentialRegistration)
        #expect(authorization.provider === keys)
        #expect(credential.credentialID == Data([1, 2]) && credential.rawAttestationObject == Data([3]))
        #expect(credential.transports == [.usb, .nfc] && credential.prf == .supported)
        let sent = try #require(service.registrations.first?.creations.first)
        #expect(
            sent.attachment == .crossPlatform && sent.relyingPartyID == "example.com" && sent.challenge == challenge)
        #expect(sent.userName == "anne" && sent.userDisplayName == "Anne Johnson" && sent.userID == Data([7]))
        #expect(sent.algorithms == [-7, -8] && sent.excluded.first?.transports == ["usb", "ble"])
        #expect(sent.userVerification == .required && sent.attestation == .direct && sent.residentKey == .preferred)
        #expect(sent.prf?.first == Data([1]) && sent.prf?.second == Data([2]) && sent.wantsPRF)
    }

    @Test func `an assertion has non-empty members, and an empty handle where the key names none`() async throws {
        let request = keys.createCredentialAssertionRequest(challenge: challenge)
        request.allowedCredentials = [.init(credentialID: Data([9]), transports: [])]
        request.appID = "https://example.com/u2f"
        let authorization = try await perform(request).get()
        let credential = try #require(
            authorization.credential as? ASAuthorizationSecurityKeyPublicKeyCredentialAssertion)
        let userID: Data = credential.userID
        #expect(userID.isEmpty && credential.signature == Data([5]) && credential.rawAuthenticatorData == Data([4]))
        #expect(!credential.appID && credential.prf == nil)
        #expect(service.assertions.first?.assertions.first?.appID == "https://example.com/u2f")
    }

    @Test func `outputs of the PRF extension become keys`() async throws {
        service.answer(.platform, tail: Array(0..<64))
        let request = passkeys.createCredentialAssertionRequest(challenge: challenge)
        request.prf = .inputValues(
            .init(saltInput1: Data([1])), perCredentialInputValues: [Data([8]): .init(saltInput1: Data([2]))])
        let result = try await AuthorizationController(service: service).performRequest(request)
        guard case .passkeyAssertion(let credential) = result else { throw ASAuthorizationError(.unknown) }
        #expect(credential.prf?.first == SymmetricKey(data: Array<UInt8>(0..<32)))
        #expect(credential.prf?.second == SymmetricKey(data: Array<UInt8>(32..<64)))
        #expect(credential.attachment == .platform)
        #expect(service.assertions.first?.assertions.first?.prfByCredential.first?.credentialID == Data([8]))
    }

    @Test func `a passkey and a security key can be offered together, and one is used`() async throws {
        service.answer(.platform)
        let both: [ASAuthorizationRequest] = [
            keys.createCredentialAssertionRequest(challenge: challenge),
            passkeys.createCredentialAssertionRequest(challenge: challenge),
            ASAuthorizationPasswordProvider().createRequest(),
        ]
        let delegate = Delegate()
        let controller = ASAuthorizationController(authorizationRequests: both, service: service)
        controller.delegate = delegate
        controller.performRequests(options: .preferImmediatelyAvailableCredentials)
        let authorization = try await delegate.end().get()
        #expect(authorization.provider === passkeys)
        #expect(authorization.credential is ASAuthorizationPlatformPublicKeyCredentialAssertion)
        let sent = try #require(service.assertions.first)
        #expect(sent.assertions.map(\.attachment) == [.crossPlatform, .platform] && sent.onlyIfAtHand)
    }

    @Test func `an answer of a kind that was not asked for is none`() async {
        service.answer(.platform)
        #expect(await error(keys.createCredentialAssertionRequest(challenge: challenge))?.code == .invalidResponse)
    }

    @Test func `requests that cannot be answered together, or not here, say so`() async {
        let registration = passkeys.createCredentialRegistrationRequest(
            challenge: challenge, name: "a", userID: Data([1]))
        let assertion = keys.createCredentialAssertionRequest(challenge: challenge)
        #expect(await error(registration, assertion)?.code == .failed)
        #expect(await error()?.code == .notHandled)
        #expect(await error(ASAuthorizationPasswordProvider().createRequest())?.code == .notHandled)
        registration.requestStyle = .conditional
        #expect(await error(registration)?.code == .notInteractive)
        #expect(service.registrations.isEmpty && service.assertions.isEmpty)
    }

    @Test func `what is changed after the call changes nothing`() async throws {
        let request = keys.createCredentialAssertionRequest(challenge: challenge)
        let delegate = Delegate()
        let controller = ASAuthorizationController(authorizationRequests: [request], service: service)
        controller.delegate = delegate
        controller.performRequests()
        request.challenge = Data([0])
        _ = try await delegate.end().get()
        #expect(service.assertions.first?.assertions.first?.challenge == challenge)
    }

    // MARK: ends

    @Test func `a cancel tells the delegate, once`() async {
        service.waitsForCancel()
        let delegate = Delegate()
        let controller = ASAuthorizationController(
            authorizationRequests: [keys.createCredentialAssertionRequest(challenge: challenge)], service: service)
        controller.delegate = delegate
        controller.performRequests()
        while service.assertions.isEmpty { await Task.yield() }
        controller.cancel()
        controller.cancel()
        guard case .failure(let error) = await delegate.end() else {
            Issue.record("Nothing failed.")
            return
        }
        #expect((error as? ASAuthorizationError)?.code == .canceled && delegate.ends.count == 1)
    }

    @Test func `a second call cancels the first`() async {
        service.waitsForCancel()
        let delegate = Delegate()
        let controller = ASAuthorizationController(
            authorizationRequests: [keys.createCredentialAssertionRequest(challenge: challenge)], service: service)
        controller.delegate = delegate
        controller.performRequests()
        while service.assertions.isEmpty { await Task.yield() }
        controller.performRequests()
        while service.assertions.count < 2 { await Task.yield() }
        controller.cancel()
        for number in 1...2 {
            guard case .failure(let error) = await delegate.end(number) else {
                Issue.record("Nothing failed.")
                return
            }
            #expect((error as? ASAuthorizationError)?.code == .canceled)
        }
    }

    @Test func `a cancelled task ends the question`() async {
        service.waitsForCancel()
        let request = keys.createCredentialAssertionRequest(challenge: challenge)
        let sent = service
        let task = Task { try await AuthorizationController(service: sent).performRequest(request) }
        while sent.assertions.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: ASAuthorizationError.self) { _ = try await task.value }
    }

    @Test func `the controller lives until the end, without anybody who holds it, and then no longer`() async throws {
        weak var held: ASAuthorizationController?
        let delegate = Delegate()
        do {
            let controller = ASAuthorizationController(
                authorizationRequests: [keys.createCredentialAssertionRequest(challenge: challenge)], service: service)
            controller.delegate = delegate
            controller.performRequests()
            held = controller
        }
        _ = try await delegate.end().get()
        for _ in 0..<1000 where held != nil { try await Task.sleep(for: .milliseconds(1)) }
        #expect(held == nil)
    }

    @Test func `a delegate that is gone, or says nothing, does no harm`() async throws {
        let request = keys.createCredentialAssertionRequest(challenge: challenge)
        let controller = ASAuthorizationController(authorizationRequests: [request], service: service)
        do {
            let delegate = Delegate()
            controller.delegate = delegate
        }
        #expect(controller.delegate == nil)
        controller.performRequests()
        let silent = SilentDelegate()
        let other = ASAuthorizationController(authorizationRequests: [request], service: service)
        other.delegate = silent
        other.performRequests()
        while service.assertions.count < 2 { await Task.yield() }
    }
}
