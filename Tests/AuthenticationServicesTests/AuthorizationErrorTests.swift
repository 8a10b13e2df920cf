import AuthenticationServices
import Foundation
import OstiaryClient
import OstiaryMessages
import Testing

@Suite("Authorization errors") struct AuthorizationErrorTests {
    @Test(arguments: [
        (WireFailureCode.userCancel, ASAuthorizationError.Code.canceled), (.appCancel, .canceled),
        (.systemCancel, .canceled), (.noCredential, .canceled), (.notInteractive, .notInteractive),
        (.credentialExcluded, .matchedExcludedCredential), (.invalidAuthenticatorAnswer, .invalidResponse),
        (.notAssociated, .failed), (.authenticatorFailed, .failed), (.timedOut, .failed), (.programChanged, .failed),
        (.programUnverified, .failed),
        (.passcodeNotSet, .deviceNotConfiguredForPasskeyCreation), (.unspecified, .unknown),
    ])
    func `each refusal of the daemon has its code`(failure: WireFailureCode, code: ASAuthorizationError.Code) async {
        let service = ScriptedService()
        service.fail(OstiaryError(.init(failure), "Words.", cause: "a.cause"))
        let provider = ASAuthorizationSecurityKeyPublicKeyCredentialProvider(relyingPartyIdentifier: "example.com")
        let request = provider.createCredentialAssertionRequest(challenge: Data(1...16))
        do {
            _ = try await AuthorizationController(service: service).performRequest(request)
            Issue.record("Nothing was thrown.")
        } catch {
            let error = error as? ASAuthorizationError
            #expect(error?.code == code && error?.cause == "a.cause" && error?.localizedDescription == "Words.")
            let reason = error?.userInfo[NSLocalizedFailureReasonErrorKey] as? String
            #expect((failure == .notAssociated) == (reason?.contains("example.com") == true))
        }
    }

    @Test func `an unknown number and a missing daemon are refusals`() async {
        for (code, expected) in [
            (OstiaryError.Code(rawValue: 9999), ASAuthorizationError.Code.unknown), (.daemonUnavailable, .failed),
        ] {
            let service = ScriptedService()
            service.fail(OstiaryError(code, "Words."))
            let provider = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: "example.com")
            let request = provider.createCredentialAssertionRequest(challenge: Data(1...16))
            do { _ = try await AuthorizationController(service: service).performRequest(request) } catch {
                #expect((error as? ASAuthorizationError)?.code == expected)
            }
        }
    }

    @Test func `the error converts both ways`() throws {
        let stored = NSError(domain: ASAuthorizationErrorDomain, code: 1001, userInfo: ["a": "b"])
        let error = try #require(stored as any Error as? ASAuthorizationError)
        #expect(error.code == .canceled && error.userInfo["a"] as? String == "b")
        #expect((error as NSError).code == 1001 && (error as NSError).domain == ASAuthorizationErrorDomain)
        #expect((NSError(domain: "other", code: 1001) as any Error as? ASAuthorizationError) == nil)
        var caught = 0
        for thrown in [error as any Error, stored] {
            do { throw thrown } catch ASAuthorizationError.canceled { caught += 1 } catch {}
            do { throw thrown } catch let error as NSError { caught += error.code == 1001 ? 1 : 0 }
            do { throw thrown } catch let error as ASAuthorizationError where error.code == .canceled {
                caught += 1
            } catch {}
        }
        #expect(caught == 6)
        let unknown = NSError(domain: ASAuthorizationErrorDomain, code: 4711) as any Error as? ASAuthorizationError
        #expect(unknown?.code.rawValue == 4711)
    }

    @Test func `the codes have Apple's numbers`() {
        let codes: [ASAuthorizationError.Code] = [
            .unknown, .canceled, .invalidResponse, .notHandled, .failed, .notInteractive, .matchedExcludedCredential,
            .credentialImport, .credentialExport, .preferSignInWithApple, .deviceNotConfiguredForPasskeyCreation,
        ]
        #expect(codes.map(\.rawValue) == Array(1000...1010))
        #expect(ASAuthorizationErrorDomain == "com.apple.AuthenticationServices.AuthorizationError")
        #expect(ASCOSEAlgorithmIdentifier.ES256.rawValue == -7 && ASCOSEEllipticCurveIdentifier.P256.rawValue == 1)
    }

    @Test func `requests and credentials survive an archive`() throws {
        let provider = ASAuthorizationSecurityKeyPublicKeyCredentialProvider(relyingPartyIdentifier: "example.com")
        let request = provider.createCredentialRegistrationRequest(
            challenge: Data([1]), displayName: "Anne", name: "anne", userID: Data([2]))
        request.excludedCredentials = [.init(credentialID: Data([3]), transports: [.nfc])]
        let bytes = try NSKeyedArchiver.archivedData(withRootObject: request, requiringSecureCoding: true)
        let read = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: ASAuthorizationSecurityKeyPublicKeyCredentialRegistrationRequest.self, from: bytes)
        #expect(read?.challenge == Data([1]) && read?.name == "anne" && read?.relyingPartyIdentifier == "example.com")
        #expect(read?.excludedCredentials.first?.transports == [.nfc])
        let copy = request.copy() as? ASAuthorizationSecurityKeyPublicKeyCredentialRegistrationRequest
        request.challenge = Data([9])
        #expect(copy?.challenge == Data([1]) && copy?.provider === provider)
    }
}
