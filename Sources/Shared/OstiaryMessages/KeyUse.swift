public import Foundation

// Requests to use the key or secret of a right, or an enclave key. For an enclave key, its id stands in place of the
// right's. Each is answered by `WireDone`, and the result is its tail.

/// The tail is the digest. The algorithm is a digest form, for example `algid:sign:ECDSA:digest-X962:SHA256`.
public struct WireSignRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    public var rightID = Data()
    public var algorithm = ""
    /// The context that an ML-DSA signature is made for, at most 255 bytes; empty with every other algorithm.
    public var signatureContext = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&rightID)
        coder.field(&algorithm)
        coder.field(&signatureContext)
    }
}

/// The tail is the ciphertext.
public struct WireDecryptRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    public var rightID = Data()
    public var algorithm = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&rightID)
        coder.field(&algorithm)
    }
}

public struct WireExchangeRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    public var rightID = Data()
    public var algorithm = ""
    public var peerPublicKey = Data()
    /// For X9.63 forms only.
    public var requestedSize: UInt32 = 0
    public var sharedInfo = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&rightID)
        coder.field(&algorithm)
        coder.field(&peerPublicKey)
        coder.field(&requestedSize)
        coder.field(&sharedInfo)
    }
}

/// The tail is the encapsulated key.
public struct WireDecapsulateRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    public var keyID = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&keyID)
    }
}

public struct WireReadSecretRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    public var rightID = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&rightID)
    }
}
