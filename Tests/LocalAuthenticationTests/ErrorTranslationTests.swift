import KeyAlgorithms
import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Security
import Testing

@Suite struct ErrorTranslationTests {
    typealias Surface = ErrorSurface

    /// Written out a second time, so that a change of the table is a change of two places.
    static let table: [(WireFailureCode, Surface)] = [
        (.unspecified, .authentication(.authenticationFailed)),
        (.malformed, .status(-909)), (.outOfOrder, .status(-909)), (.tooLarge, .status(-50)), (.tooMany, .status(-108)),
        (.unknownContext, .authentication(.invalidContext)), (.versionMismatch, .status(-25291)),
        (.invalidParameter, .status(-50)), (.invalidRule, .status(-50)),
        (.emptyReason, .authentication(.authenticationFailed)),
        (.notAuthorized, .authentication(.authenticationFailed)),
        (.authenticationFailed, .authentication(.authenticationFailed)),
        (.userCancel, .authentication(.userCancel)), (.userFallback, .authentication(.userFallback)),
        (.systemCancel, .authentication(.systemCancel)), (.appCancel, .authentication(.appCancel)),
        (.notInteractive, .authentication(.notInteractive)), (.lockedOut, .authentication(.authenticationFailed)),
        (.operationNotPermitted, .status(-25293)), (.callerChanged, .authentication(.authenticationFailed)),
        (.cooldown, .authentication(.systemCancel)), (.timedOut, .authentication(.systemCancel)),
        (.questionNeeded, .status(-2070)), (.clientChanged, .authentication(.authenticationFailed)),
        (.clientRefused, .status(-25293)), (.notPermitted, .status(-25293)),
        (.passcodeNotSet, .authentication(.passcodeNotSet)), (.passcodeAlreadySet, .status(-25299)),
        (.passcodeTooWeak, .status(-50)), (.passcodeMismatch, .authentication(.authenticationFailed)),
        (.biometryNotAvailable, .authentication(.biometryNotAvailable)),
        (.biometryNotEnrolled, .authentication(.biometryNotEnrolled)),
        (.biometryLockout, .authentication(.biometryLockout)),
        (.companionNotAvailable, .authentication(.companionNotAvailable)), (.locked, .status(-25308)),
        (.notFound, .status(-25300)), (.duplicate, .status(-25299)), (.noSecret, .status(-25300)),
        (.itemUnreadable, .status(-26275)), (.storeUnreadable, .status(-25291)), (.storeTooNew, .status(-25291)),
        (.diskFull, .status(-34)), (.logUnwritable, .status(-36)), (.internal, .status(-2070)),
        (.missingEntitlement, .status(-34018)), (.noSuchAttribute, .status(-25303)), (.noSuchClass, .status(-25306)),
        (.programChanged, .status(-34018)), (.programUnverified, .status(-34018)),
        (.notAssociated, .status(-34018)), (.credentialExcluded, .status(-25299)), (.noCredential, .status(-25300)),
        (.authenticatorFailed, .status(-25291)), (.invalidAuthenticatorAnswer, .status(-26275)),
        (.unsupportedAlgorithm, .status(-50)), (.decryptionFailed, .status(-50)), (.invalidPeerKey, .status(-50)),
    ]

    @Test func `the table of this test names every code of the wire once`() {
        #expect(Set(Self.table.map(\.0)) == Set(WireFailureCode.allCases))
        #expect(Self.table.count == WireFailureCode.allCases.count)
    }

    @Test(arguments: table)
    func `every code of the wire has its surface`(failure: WireFailureCode, surface: Surface) {
        #expect(ErrorSurface.entry(for: .init(failure)).surface == surface)
    }

    @Test(arguments: [
        (OstiaryError.Code.daemonUnavailable, Surface.status(-25291)), (.foreignServer, .status(-25291)),
        (.invalidConfiguration, .status(-25291)), (.unexpectedAnswer, .status(-2070)),
        (.connectionLost, .authentication(.systemCancel)),
    ])
    func `every code of the client has its surface`(code: OstiaryError.Code, surface: Surface) {
        #expect(ErrorSurface.entry(for: code).surface == surface)
    }

    @Test(arguments: [9999, 19, -99])
    func `an unknown code is a refusal`(number: Int) {
        let entry = ErrorSurface.entry(for: .init(rawValue: number))
        #expect(entry.surface == .authentication(.authenticationFailed))
        #expect(entry.cause == "unknown")
    }

    @Test(arguments: WireFailureCode.allCases)
    func `a translated error explains itself to people, developers and programs`(failure: WireFailureCode) {
        let error = OstiaryError(.init(failure), "What happened.", retryAfter: .milliseconds(1500))
        let translated = ErrorTranslation.error(for: error) as NSError
        #expect(translated.localizedDescription == "What happened.")
        #expect((translated.userInfo["NSDebugDescription"] as? String)?.contains("\(failure.rawValue)") == true)
        #expect(translated.userInfo[LAError.causeKey] as? String == ErrorSurface.entry(for: error.code).cause)
        #expect(translated.userInfo[LAError.retryAfterKey] as? TimeInterval == 1.5)
    }

    @Test func `the cause that the daemon names wins`() {
        let error = OstiaryError(.init(.biometryNotAvailable), "", cause: "biometry.no-sensor")
        expectAuthenticationError(
            .biometryNotAvailable, cause: "biometry.no-sensor", ErrorTranslation.error(for: error))
    }

    @Test func `a reader that was unplugged has a code of its own`() {
        let error = OstiaryError(.init(.biometryNotAvailable), "", cause: "biometry.disconnected")
        expectAuthenticationError(
            .biometryDisconnected, cause: "biometry.disconnected", ErrorTranslation.error(for: error))
        #expect(ErrorTranslation.authenticationError(for: error).code == .biometryDisconnected)
        let other = OstiaryError(.init(.authenticationFailed), "", cause: "biometry.disconnected")
        #expect(ErrorTranslation.authenticationError(for: other).code == .authenticationFailed)
    }

    @Test(arguments: WireFailureCode.allCases)
    func `a context reports nothing but its own domain`(failure: WireFailureCode) {
        let error = ErrorTranslation.authenticationError(for: OstiaryError(.init(failure), "x", cause: "c"))
        #expect(error._nsError.domain == LAErrorDomain)
        #expect(error.cause == "c")
        switch ErrorSurface.entry(for: .init(failure)).surface {
        case .authentication(let code): #expect(error.code.rawValue == code.rawValue)
        case .status(let status):
            // A forbidden request and a refused client are refusals; everything else ended without person or program.
            let isRefusal = [.operationNotPermitted, .notPermitted, .clientRefused].contains(failure)
            #expect(error.code == (isRefusal ? .authenticationFailed : .systemCancel))
            expectStatus(status, error.userInfo[NSUnderlyingErrorKey] as? any Error)
        }
    }

    @Test(arguments: [
        (KeyAlgorithmError.unsupportedAlgorithm, errSecParam), (.invalidParameter(.digestLength), errSecParam),
        (.decryptionFailed, errSecParam), (.signatureMismatch, errSecVerifyFailed), (.computationFailed, errSecDecode),
    ])
    func `errors of the key algorithms are statuses`(error: KeyAlgorithmError, status: OSStatus) {
        expectStatus(status, ErrorTranslation.error(for: error))
    }

    @Test func `an error of no known kind is an internal one`() {
        struct Strange: Error {}
        expectStatus(errSecInternalComponent, ErrorTranslation.error(for: Strange()))
    }

    @Test func `an LAError stays what it is`() {
        expectAuthenticationError(.appCancel, ErrorTranslation.error(for: LAError(.appCancel)))
    }
}
