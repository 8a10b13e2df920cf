import Crypto
import Foundation
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Rights that confirm each signature, with their keys in a TPM and the question on a terminal.
@Suite(.timeLimit(.minutes(10))) struct ConfirmedSigningTests {
    private static let message = "algid:sign:ECDSA:message-X962:SHA256"

    private func request(_ right: WireRight) -> WireRequest.OneOf_Body {
        .confirmedSign(
            .with { ($0.rightID, $0.algorithm, $0.question) = (right.rightID, Self.message, .reason("to pay")) })
    }

    /// Signs `text`, and checks that the question has it.
    private func sign(_ text: String, _ right: WireRight, _ stage: TPMStage) throws -> Data {
        stage.terminal.clearScreen()
        let id = try stage.client.send(
            request(right), tail: Array(text.utf8), descriptor: stage.terminal.slave.number)
        stage.terminal.waitFor("the text “\(text)”")
        stage.terminal.answer("Passcode: ", with: TPMStage.passcode)
        let answer = try stage.client.answer(to: id)
        try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
        return Data(answer.tail)
    }

    private func verify(_ signature: Data, _ text: String, _ right: WireRight, _ stage: TPMStage) throws {
        try stage.tpm.write(Data(text.utf8), named: "text")
        try stage.tpm.write(signature, named: "signature")
        let key = try P256.Signing.PublicKey(x963Representation: right.publicKey)
        try stage.tpm.write(Data(key.pemRepresentation.utf8), named: "right.pem")
        let output = try stage.tpm.tool(
            "openssl", "dgst", "-sha256", "-verify", "right.pem", "-signature", "signature", "text")
        #expect(output.contains("Verified OK"))
    }

    @Test func `each signature asks with the text, openssl verifies it, and a wrong passcode gives none`() throws {
        let stage = try TPMStage()
        try stage.setPasscode()
        let right = try stage.makeConfirmingRight("transfers")
        #expect(right.enclaveKind == "tpm")
        for text in ["Pay 100 EUR to Alice", "Pay 900 EUR to Mallory"] {
            try verify(sign(text, right, stage), text, right, stage)
            #expect(try stage.tpm.handles() == [0, 0, 0], "nothing is left in the chip")
        }
        try stage.restart()
        try verify(sign("Pay 1 EUR to Bob", right, stage), "Pay 1 EUR to Bob", right, stage)

        let id = try stage.client.send(
            request(right), tail: Array("Pay".utf8), descriptor: stage.terminal.slave.number)
        for number in 1...3 { stage.terminal.answer("Passcode: ", with: "wrong one \(number)") }
        let refused = try stage.client.answer(to: id)
        #expect(refused.refusal == .authenticationFailed && refused.tail.isEmpty)
        #expect(try stage.tpm.handles() == [0, 0, 0])
    }
}
