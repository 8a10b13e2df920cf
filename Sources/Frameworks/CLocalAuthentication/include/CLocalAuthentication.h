// The enumerations and integer constants of Apple's LocalAuthentication (LABase.h, LAError.h, LAPublicDefines.h and others).
//
// They are declared in C because only a C enumeration can be open in Swift: a value that this version does not name
// keeps its number, and `@unknown default` has the same meaning as on Apple's systems. Names and numbers are Apple's.
#ifndef OSTIARY_LOCAL_AUTHENTICATION_H
#define OSTIARY_LOCAL_AUTHENTICATION_H

#define LA_ENUM(name) enum __attribute__((enum_extensibility(open))) name : long

/// The policies that `LAContext` can evaluate (Apple's `LAPolicy`).
typedef LA_ENUM(LAPolicy) {
    /// Biometry alone; the fallback button ends the evaluation with `userFallback`.
    LAPolicyDeviceOwnerAuthenticationWithBiometrics = 1,
    /// Biometry, a companion or the passcode, whichever is at hand.
    LAPolicyDeviceOwnerAuthentication = 2,
    /// A companion alone.
    LAPolicyDeviceOwnerAuthenticationWithCompanion = 3,
    /// The older name of the companion policy.
    LAPolicyDeviceOwnerAuthenticationWithWatch = LAPolicyDeviceOwnerAuthenticationWithCompanion,
    /// Biometry or a companion.
    LAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion = 4,
    /// The older name of the policy for biometry or a companion.
    LAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch = LAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion,
    /// The passcode, or a watch that stayed on the wrist since it was unlocked. Never available here.
    LAPolicyDeviceOwnerAuthenticationWithWristDetection = 5,
} LAPolicy;

/// The kind of biometric sensor (Apple's `LABiometryType`).
typedef LA_ENUM(LABiometryType) {
    /// None, or none known yet.
    LABiometryTypeNone = 0,
    /// A fingerprint reader.
    LABiometryTypeTouchID = 1,
    /// Face recognition.
    LABiometryTypeFaceID = 2,
    /// Iris recognition.
    LABiometryTypeOpticID = 4,
} LABiometryType;

/// Credentials that a program can give a context itself (Apple's `LACredentialType`).
typedef LA_ENUM(LACredentialType) {
    /// The password of objects whose access control asks for an application password.
    LACredentialTypeApplicationPassword = 0,
    /// The PIN of a smart card.
    LACredentialTypeSmartCardPIN = -3,
} LACredentialType;

/// The intended use of a protected object (Apple's `LAAccessControlOperation`).
typedef LA_ENUM(LAAccessControlOperation) {
    /// Creating an item.
    LAAccessControlOperationCreateItem = 0,
    /// Reading an item.
    LAAccessControlOperationUseItem = 1,
    /// Creating a key.
    LAAccessControlOperationCreateKey = 2,
    /// Signing.
    LAAccessControlOperationUseKeySign = 3,
    /// Decrypting.
    LAAccessControlOperationUseKeyDecrypt = 4,
    /// Exchanging keys.
    LAAccessControlOperationUseKeyKeyExchange = 5,
} LAAccessControlOperation;

/// Devices that can vouch for their wearer or owner (Apple's `LACompanionType`).
typedef LA_ENUM(LACompanionType) {
    /// A watch.
    LACompanionTypeWatch = 1,
    /// A Mac.
    LACompanionTypeMac = 2,
    /// A headset.
    LACompanionTypeVision = 4,
} LACompanionType;

/// Where a right stands in its life cycle (Apple's `LARightState`).
typedef LA_ENUM(LARightState) {
    /// Nothing was asked yet.
    LARightStateUnknown = 0,
    /// An authorization is under way.
    LARightStateAuthorizing = 1,
    /// The right is granted.
    LARightStateAuthorized = 2,
    /// The right was refused or taken back.
    LARightStateNotAuthorized = 3,
} LARightState;

/// The codes of `LAError` (Apple's `LAError.h`). The names with Touch ID are the older ones of the three biometric codes.
typedef LA_ENUM(LAErrorCode) {
    /// The person did not prove to be the owner.
    LAErrorCodeAuthenticationFailed = -1,
    /// The person cancelled.
    LAErrorCodeUserCancel = -2,
    /// The person chose the fallback of a policy that has none of its own.
    LAErrorCodeUserFallback = -3,
    /// The system ended the evaluation.
    LAErrorCodeSystemCancel = -4,
    /// The owner has set no passcode.
    LAErrorCodePasscodeNotSet = -5,
    /// There is no usable biometric sensor.
    LAErrorCodeTouchIDNotAvailable = -6,
    LAErrorCodeBiometryNotAvailable = LAErrorCodeTouchIDNotAvailable,
    /// There is a sensor, and nothing is enrolled.
    LAErrorCodeTouchIDNotEnrolled = -7,
    LAErrorCodeBiometryNotEnrolled = LAErrorCodeTouchIDNotEnrolled,
    /// Too many attempts failed; biometry rests until the passcode is entered.
    LAErrorCodeTouchIDLockout = -8,
    LAErrorCodeBiometryLockout = LAErrorCodeTouchIDLockout,
    /// The program cancelled.
    LAErrorCodeAppCancel = -9,
    /// The context was invalidated before the call.
    LAErrorCodeInvalidContext = -10,
    /// No companion is in reach.
    LAErrorCodeCompanionNotAvailable = -11,
    LAErrorCodeWatchNotAvailable = LAErrorCodeCompanionNotAvailable,
    /// Only removable sensors are supported, and none is paired.
    LAErrorCodeBiometryNotPaired = -12,
    /// The paired sensor is unplugged.
    LAErrorCodeBiometryDisconnected = -13,
    /// The embedded view is too small.
    LAErrorCodeInvalidDimensions = -14,
    /// A prompt would be needed, and none may or can be shown.
    LAErrorCodeNotInteractive = -1004,
} LAErrorCode;

#define kLAPolicyDeviceOwnerAuthenticationWithBiometrics 1
#define kLAPolicyDeviceOwnerAuthentication 2
#define kLAPolicyDeviceOwnerAuthenticationWithCompanion 3
#define kLAPolicyDeviceOwnerAuthenticationWithWatch 3
#define kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrCompanion 4
#define kLAPolicyDeviceOwnerAuthenticationWithBiometricsOrWatch 4
#define kLAPolicyDeviceOwnerAuthenticationWithWristDetection 5

#define kLABiometryTypeNone 0
#define kLABiometryTypeTouchID 1
#define kLABiometryTypeFaceID 2
#define kLABiometryTypeOpticID 4

#define kLACredentialTypeApplicationPassword 0
#define kLACredentialSmartCardPIN -3

#define kLAAccessControlOperationCreateItem 0
#define kLAAccessControlOperationUseItem 1
#define kLAAccessControlOperationCreateKey 2
#define kLAAccessControlOperationUseKeySign 3
#define kLAAccessControlOperationUseKeyDecrypt 4
#define kLAAccessControlOperationUseKeyKeyExchange 5

#define kLACompanionTypeNone 0
#define kLACompanionTypeWatch 1
#define kLACompanionTypeMac 2
#define kLACompanionTypeVision 4

#define kLAErrorAuthenticationFailed -1
#define kLAErrorUserCancel -2
#define kLAErrorUserFallback -3
#define kLAErrorSystemCancel -4
#define kLAErrorPasscodeNotSet -5
#define kLAErrorTouchIDNotAvailable -6
#define kLAErrorBiometryNotAvailable -6
#define kLAErrorTouchIDNotEnrolled -7
#define kLAErrorBiometryNotEnrolled -7
#define kLAErrorTouchIDLockout -8
#define kLAErrorBiometryLockout -8
#define kLAErrorAppCancel -9
#define kLAErrorInvalidContext -10
#define kLAErrorCompanionNotAvailable -11
#define kLAErrorWatchNotAvailable -11
#define kLAErrorBiometryNotPaired -12
#define kLAErrorBiometryDisconnected -13
#define kLAErrorInvalidDimensions -14
#define kLAErrorNotInteractive -1004

#endif
