/// Why a request is refused, as its host learns it: return values of PKCS #11 (`Documentation/formats/pkcs11.md`, Refusals).
package enum TokenRefusal: UInt32, Error, Sendable, CaseIterable {
    /// CKR_FUNCTION_FAILED
    case failed = 0x6
    case dataInvalid = 0x20
    case dataLength = 0x21
    case deviceError = 0x30
    case deviceMemory = 0x31
    case encryptedDataInvalid = 0x40
    case encryptedDataLength = 0x41
    case canceled = 0x50
    case keyHandleInvalid = 0x60
    case keyFunctionNotPermitted = 0x68
    case mechanismInvalid = 0x70
    case mechanismParameterInvalid = 0x71
    case pinLocked = 0xA4
    /// CKR_FUNCTION_REJECTED
    case rejected = 0x200
}

/// Every limit of the protocol, with its reason.
package enum PKCS11Limits {
    package static let version: UInt8 = 1
    /// Of a message behind its length: a certificate of 16 KiB and a part of a message fit well.
    package static let messageByteCount = 65_536
    /// Kind and number.
    package static let headByteCount = 5
    /// Data of a signature in one message; longer data comes in parts.
    package static let dataByteCount = 32_768
    /// A modulus of 8,192 bits.
    package static let ciphertextByteCount = 1024
    /// A point of P-521 in a DER OCTET STRING has 136 bytes.
    package static let publicKeyByteCount = 256
    /// Connections at once, with those that are being named or sent away; further ones wait. Each holds two threads.
    package static let connectionCount = 256
    /// Clients with a place. Programs keep their connection as long as they run, and the daemon has places for 64 clients of a door and for 32
    /// of the same program: one that needs nothing is sent away for one that comes (``ClientPlaces``).
    package static let clients = (ofProgram: 24, total: 60)
    /// Clients that are sent away for one that the daemon has no place for.
    package static let replacedClientCount = 4
    /// The module waits as long for an answer without a question. What takes longer keeps no place for a client.
    package static let attentionTime: Duration = .seconds(30)
    /// Requests of one client that are under way: each holds a thread.
    package static let requestCount = 16
    /// Operations of one client whose data comes in parts.
    package static let operationCount = 32
    /// What is kept of the data of an operation. A question can show it.
    package static let keptByteCount = 65_536
    /// Objects of a list: a host could not look through more.
    package static let objectCount = 4096
    /// Certificates of a list together. Each client's list is kept, and any program can put certificates into the group.
    package static let certificatesByteCount = 4 << 20
    /// The value of an attribute: certificates have a few thousand bytes.
    package static let valueByteCount = 32_768
}
