import LocalAuthentication
import Testing

@Suite struct RawValueTests {
    @Test func `policies have Apple's numbers`() {
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue == 1)
        #expect(LAPolicy.deviceOwnerAuthentication.rawValue == 2)
        #expect(LAPolicy.deviceOwnerAuthenticationWithCompanion.rawValue == 3)
        #expect(LAPolicy.deviceOwnerAuthenticationWithBiometricsOrCompanion.rawValue == 4)
        #expect(LAPolicy.deviceOwnerAuthenticationWithWristDetection.rawValue == 5)
        #expect(LAPolicy.deviceOwnerAuthenticationWithWatch == .deviceOwnerAuthenticationWithCompanion)
        #expect(
            LAPolicy.deviceOwnerAuthenticationWithBiometricsOrWatch
                == .deviceOwnerAuthenticationWithBiometricsOrCompanion)
    }

    @Test func `sensor types have Apple's numbers`() {
        #expect(LABiometryType.none.rawValue == 0)
        #expect(LABiometryType.touchID.rawValue == 1)
        #expect(LABiometryType.faceID.rawValue == 2)
        #expect(LABiometryType.opticID.rawValue == 4)
        #expect(LABiometryType.LABiometryNone == LABiometryType.none)
    }

    @Test func `credential, operation, companion and state types have Apple's numbers`() {
        #expect([LACredentialType.applicationPassword, .smartCardPIN].map(\.rawValue) == [0, -3])
        let operations: [LAAccessControlOperation] = [
            .createItem, .useItem, .createKey, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange,
        ]
        #expect(operations.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
        #expect([LACompanionType.watch, .mac, .vision].map(\.rawValue) == [1, 2, 4])
        let states: [LARight.State] = [.unknown, .authorizing, .authorized, .notAuthorized]
        #expect(states.map(\.rawValue) == [0, 1, 2, 3])
    }

    static let errorCodes: [(LAError.Code, LAError.Code, Int, Int32)] = [
        (.authenticationFailed, LAError.authenticationFailed, -1, kLAErrorAuthenticationFailed),
        (.userCancel, LAError.userCancel, -2, kLAErrorUserCancel),
        (.userFallback, LAError.userFallback, -3, kLAErrorUserFallback),
        (.systemCancel, LAError.systemCancel, -4, kLAErrorSystemCancel),
        (.passcodeNotSet, LAError.passcodeNotSet, -5, kLAErrorPasscodeNotSet),
        (.touchIDNotAvailable, LAError.touchIDNotAvailable, -6, kLAErrorTouchIDNotAvailable),
        (.biometryNotAvailable, LAError.biometryNotAvailable, -6, kLAErrorBiometryNotAvailable),
        (.touchIDNotEnrolled, LAError.touchIDNotEnrolled, -7, kLAErrorTouchIDNotEnrolled),
        (.biometryNotEnrolled, LAError.biometryNotEnrolled, -7, kLAErrorBiometryNotEnrolled),
        (.touchIDLockout, LAError.touchIDLockout, -8, kLAErrorTouchIDLockout),
        (.biometryLockout, LAError.biometryLockout, -8, kLAErrorBiometryLockout),
        (.appCancel, LAError.appCancel, -9, kLAErrorAppCancel),
        (.invalidContext, LAError.invalidContext, -10, kLAErrorInvalidContext),
        (.companionNotAvailable, LAError.companionNotAvailable, -11, kLAErrorCompanionNotAvailable),
        (.watchNotAvailable, LAError.watchNotAvailable, -11, kLAErrorWatchNotAvailable),
        (.biometryNotPaired, LAError.biometryNotPaired, -12, kLAErrorBiometryNotPaired),
        (.biometryDisconnected, LAError.biometryDisconnected, -13, kLAErrorBiometryDisconnected),
        (.invalidDimensions, LAError.invalidDimensions, -14, kLAErrorInvalidDimensions),
        (.notInteractive, LAError.notInteractive, -1004, kLAErrorNotInteractive),
    ]

    @Test(arguments: errorCodes)
    func `error codes have Apple's numbers under each of their names`(
        code: LAError.Code, name: LAError.Code, number: Int, constant: Int32
    ) {
        #expect(code.rawValue == number)
        #expect(name == code)
        #expect(Int(constant) == number)
        #expect(LAError.Code(rawValue: number) == code)
    }

    @Test func `integer constants have Apple's numbers`() {
        let policies: [Int32] = [
            kLAPolicyDeviceOwnerAuthenticationWithBiometrics, kLAPolicyDeviceOwnerAuthentication,
            kLAPolicyDeviceOwnerAuthenticationWithCompanion,
            kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion,
            kLAPolicyDeviceOwnerAuthenticationWithWristDetection,
        ]
        #expect(policies == [1, 2, 3, 4, 5])
        #expect(kLAPolicyDeviceOwnerAuthenticationWithWatch == 3)
        #expect(kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch == 4)
        let sensors: [Int32] = [
            kLABiometryTypeNone, kLABiometryTypeTouchID, kLABiometryTypeFaceID, kLABiometryTypeOpticID,
        ]
        #expect(sensors == [0, 1, 2, 4])
        let credentials: [Int32] = [kLACredentialTypeApplicationPassword, kLACredentialSmartCardPIN]
        #expect(credentials == [0, -3])
        let operations: [Int32] = [
            kLAAccessControlOperationCreateItem, kLAAccessControlOperationUseItem, kLAAccessControlOperationCreateKey,
            kLAAccessControlOperationUseKeySign, kLAAccessControlOperationUseKeyDecrypt,
            kLAAccessControlOperationUseKeyKeyExchange,
        ]
        #expect(operations == [0, 1, 2, 3, 4, 5])
        let companions: [Int32] = [
            kLACompanionTypeNone, kLACompanionTypeWatch, kLACompanionTypeMac, kLACompanionTypeVision,
        ]
        #expect(companions == [0, 1, 2, 4])
    }

    @Test func `domains and the longest reuse are Apple's`() {
        #expect(LAErrorDomain == "com.apple.LocalAuthentication")
        #expect(kLAErrorDomain == LAErrorDomain)
        #expect(LAError.errorDomain == LAErrorDomain)
        #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
    }

    @Test func `a number without a name survives in every enumeration`() {
        #expect(LAPolicy(rawValue: 99)?.rawValue == 99)
        #expect(LABiometryType(rawValue: 8)?.rawValue == 8)
        #expect(LAError.Code(rawValue: -77)?.rawValue == -77)
        #expect(LARight.State(rawValue: 9)?.rawValue == 9)
    }

    @Test func `open enumerations take an unknown default`() {
        func name(_ type: LABiometryType) -> String {
            switch type {
            case .none: "none"
            case .touchID: "finger"
            case .faceID: "face"
            case .opticID: "iris"
            @unknown default: "unknown"
            }
        }
        #expect(name(.touchID) == "finger")
        #expect(LABiometryType(rawValue: 64).map(name) == "unknown")
    }

    @Test func `observing options have Apple's numbers`() {
        let options: [NSKeyValueObservingOptions] = [.new, .old, .initial, .prior]
        #expect(options.map(\.rawValue) == [1, 2, 4, 8])
        #expect(NSKeyValueChange.setting.rawValue == 1)
    }
}
