public import Foundation

// Passkeys of this machine, as their owner sees them.

/// Answered by a page of the owner's passkeys, the newest first. The next page begins at `offset` plus the number of received
/// passkeys.
public struct WireListPasskeysRequest: WireMessage, FieldList {
    public var offset: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&offset)
    }
}

public struct WirePasskeyList: WireMessage, FieldList {
    public var passkeys: [WirePasskey] = []
    /// The number of passkeys in the whole list.
    public var total: UInt32 = 0

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&passkeys)
        coder.field(&total)
    }
}

public struct WirePasskey: WireMessage, FieldList {
    /// The credential identifier, 16 bytes.
    public var passkeyID = Data()
    public var relyingPartyID = ""
    public var relyingPartyName = ""
    /// The user handle.
    public var userID = Data()
    public var userName = ""
    public var userDisplayName = ""
    /// Seconds since 1970.
    public var createdAt = 0.0
    public var signatureCount: UInt32 = 0
    /// X9.63, uncompressed.
    public var publicKey = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&passkeyID)
        coder.field(&relyingPartyID)
        coder.field(&relyingPartyName)
        coder.field(&userID)
        coder.field(&userName)
        coder.field(&userDisplayName)
        coder.field(&createdAt)
        coder.field(&signatureCount)
        coder.field(&publicKey)
    }
}

/// Answered by ``WireDone``, count 1. Asks the owner.
public struct WireRemovePasskeyRequest: WireMessage, FieldList {
    public var passkeyID = Data()
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&passkeyID)
        coder.field(&question)
    }
}
