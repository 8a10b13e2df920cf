public import Security

/// Keys that are made in the daemon's enclave and never leave it (Apple's CryptoKit `SecureEnclave`).
///
/// Making, opening and using such a key speaks to the daemon and blocks, as long as a person is asked if the access control
/// says so. Errors are those of the layer that refused: an `LAError` for what concerns the person, an `NSError` of
/// `NSOSStatusErrorDomain` for the rest, for example `errSecParam` for a kind of key that the enclave cannot make.
public enum SecureEnclave {
    /// Whether a daemon answers, which is what keeps the keys. Blocks for a question to it, and starts it on demand.
    public static var isAvailable: Bool { EnclaveKeyMaker.isAvailable }

    /// The access control of a key that is made without one: usable after the first unlock, on this machine only,
    /// without asking anybody.
    public static var standardAccessControl: SecAccessControl {
        guard
            let accessControl = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, [], nil)
        else { preconditionFailure("no flags go together with every accessibility") }
        return accessControl
    }
}
