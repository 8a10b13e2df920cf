public import Cancellations
import Foundation
import OstiaryMessages
import SecretMemory

extension OstiaryClient {
    /// Has this machine answer one command of CTAP 2.1 as an authenticator. Blocks while the owner is asked.
    ///
    /// What a command prepares for the next ones, such as a token, ends with the connection to the daemon.
    ///
    /// - Parameter command: a command byte, and CBOR if the command has parameters; at most 7,609 bytes.
    /// - Returns: a status byte of CTAP, and CBOR if the command has an answer.
    /// - Throws: ``OstiaryError``; `missingEntitlement` unless the owner registered this program as a browser.
    public func answer(
        toAuthenticatorCommand command: [UInt8], cancellation: Cancellation? = nil
    ) throws -> [UInt8] {
        var bytes = Data(command)
        let answer = try call(
            .authenticatorCommand(.init()), tail: SecretBytes(taking: &bytes), terminal: TerminalOffer(),
            cancellation: cancellation)
        guard case .done = answer.body else { throw Self.unexpected() }
        return unsafe answer.takeTail().withUnsafeBytes { unsafe [UInt8]($0) }
    }
}
