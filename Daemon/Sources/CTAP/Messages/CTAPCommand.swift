/// The first byte of each request (CTAP 2.1, 6).
package enum CTAPCommand: UInt8, Sendable {
    case makeCredential = 0x01
    case getAssertion = 0x02
    case getInfo = 0x04
    case clientPIN = 0x06
    case reset = 0x07
    case getNextAssertion = 0x08
    case credentialManagement = 0x0A
    case selection = 0x0B
}
