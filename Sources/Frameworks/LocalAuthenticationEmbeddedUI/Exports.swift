// An import of Apple's LocalAuthenticationEmbeddedUI also imports LocalAuthentication.
@_exported public import LocalAuthentication
