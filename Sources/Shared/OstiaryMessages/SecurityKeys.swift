public import Foundation

// Security keys as factors, as their owner sees them.

/// Answered by ``WireSecurityKeyList``, the oldest first.
public struct WireListSecurityKeysRequest: WireMessage, FieldList {
    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {}
}

public struct WireSecurityKeyList: WireMessage, FieldList {
    /// At most eight.
    public var keys: [WireSecurityKey] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keys)
    }
}

public struct WireSecurityKey: WireMessage, FieldList {
    /// 16 bytes.
    public var keyID = Data()
    /// The owner's name for it.
    public var name = ""
    /// Seconds since 1970.
    public var enrolledAt = 0.0
    /// Whether it verifies the person who touches it: its proofs are then `key-bound`, else `touch-only`.
    public var verifiesUser = false
    /// The kind of key (AAGUID), 16 bytes.
    public var model = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keyID)
        coder.field(&name)
        coder.field(&enrolledAt)
        coder.field(&verifiesUser)
        coder.field(&model)
    }
}

/// Answered by ``WireSecurityKeyList`` with the enrolled key alone. Asks the owner, who touches an enrolled key, if there is one,
/// and the new key twice.
public struct WireEnrollSecurityKeyRequest: WireMessage, FieldList {
    /// 1 to 64 bytes that a question can show, and no other key's name.
    public var name = ""
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&name)
        coder.field(&question)
    }
}

/// Answered by ``WireDone``, count 1. Asks the owner.
public struct WireRemoveSecurityKeyRequest: WireMessage, FieldList {
    public var keyID = Data()
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&keyID)
        coder.field(&question)
    }
}

/// Gives the security key that the person touches its first PIN, or replaces its PIN. Answered by ``WireDone``, count 1.
public struct WireSecurityKeyPINRequest: WireMessage, FieldList {
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&question)
    }
}
