// The enumerations of Apple's AuthenticationServices that travel as numbers (ASAuthorizationError.h,
// ASAuthorizationPublicKeyCredentialConstants.h and others).
//
// They are declared in C because only a C enumeration can be open in Swift: a value that this version does not name
// keeps its number, and `@unknown default` has the same meaning as on Apple's systems. Names and numbers are Apple's.
#ifndef OSTIARY_AUTHENTICATION_SERVICES_H
#define OSTIARY_AUTHENTICATION_SERVICES_H

#define AS_ENUM(name) enum __attribute__((enum_extensibility(open))) name : long

/// The codes of `ASAuthorizationError`.
typedef AS_ENUM(ASAuthorizationErrorCode) {
    /// No reason is known.
    ASAuthorizationErrorCodeUnknown = 1000,
    /// The person or the program cancelled, or nothing was at hand that could answer.
    ASAuthorizationErrorCodeCanceled = 1001,
    /// The authenticator gave an answer that cannot be used.
    ASAuthorizationErrorCodeInvalidResponse = 1002,
    /// Nothing here handles such a request.
    ASAuthorizationErrorCodeNotHandled = 1003,
    /// It failed, for example because the domain does not confirm the program.
    ASAuthorizationErrorCodeFailed = 1004,
    /// A question would be needed, and none may or can be shown.
    ASAuthorizationErrorCodeNotInteractive = 1005,
    /// The authenticator holds one of the excluded credentials.
    ASAuthorizationErrorCodeMatchedExcludedCredential = 1006,
    /// Credentials could not be imported.
    ASAuthorizationErrorCodeCredentialImport = 1007,
    /// Credentials could not be exported.
    ASAuthorizationErrorCodeCredentialExport = 1008,
    /// The person prefers Sign in with Apple.
    ASAuthorizationErrorCodePreferSignInWithApple = 1009,
    /// This machine cannot make a passkey, for example because no passcode is set.
    ASAuthorizationErrorCodeDeviceNotConfiguredForPasskeyCreation = 1010,
} ASAuthorizationErrorCode;

/// The codes of `ASWebAuthenticationSessionError`.
typedef AS_ENUM(ASWebAuthenticationSessionErrorCode) {
    /// The program cancelled.
    ASWebAuthenticationSessionErrorCodeCanceledLogin = 1,
    /// There is no window; never here.
    ASWebAuthenticationSessionErrorCodePresentationContextNotProvided = 2,
    /// The session cannot run here.
    ASWebAuthenticationSessionErrorCodePresentationContextInvalid = 3,
} ASWebAuthenticationSessionErrorCode;

/// Where the authenticator of a credential is.
typedef AS_ENUM(ASAuthorizationPublicKeyCredentialAttachment) {
    /// In this machine.
    ASAuthorizationPublicKeyCredentialAttachmentPlatform = 0,
    /// In a device that can be taken to another machine.
    ASAuthorizationPublicKeyCredentialAttachmentCrossPlatform = 1,
} ASAuthorizationPublicKeyCredentialAttachment;

/// How a passkey is registered.
typedef AS_ENUM(ASAuthorizationPlatformPublicKeyCredentialRegistrationRequestStyle) {
    /// The person is asked.
    ASAuthorizationPlatformPublicKeyCredentialRegistrationRequestStyleStandard = 0,
    /// Only where nobody needs to be asked.
    ASAuthorizationPlatformPublicKeyCredentialRegistrationRequestStyleConditional = 1,
} ASAuthorizationPlatformPublicKeyCredentialRegistrationRequestStyle;

#endif
