import Crypto
import Enclave
import Foundation
import SecretMemory
import TPMEnclave

// A program with keys in a TPM: chip-signer TCTI KEY-CONNECTIONS. It obeys one word a line: `make NAME`, `open NAME`, `sign NAME`,
// `release NAME`. It prints a line for each: `done`, or the error. A library of tpm2-tss that takes part in D-Bus is not loaded
// into the tests.
func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

let arguments = CommandLine.arguments
guard arguments.count == 3, let limit = Int(arguments[2]) else { exit(64) }
let binding = KeyBinding(owner: Data(repeating: 7, count: 16), outsideInfo: Data("rule".utf8), requiresPasscode: false)
let authorization = SecretBytes(Data(repeating: 1, count: 32))
let digest = SHA256.hash(data: Data("message".utf8))
let enclave = try TPMEnclave(
    at: TPMLocation(arguments[1], keepsLoaded: true, keyConnectionLimit: limit), storageKey: nil)
var keys: [String: WrappedKey] = [:]
var open: [String: any OpenEnclaveKey] = [:]

struct Unknown: Error {}
struct WrongSignature: Error {}

@MainActor func obey(_ order: String, _ name: String) throws {
    switch order {
    case "make": keys[name] = try enclave.makeKey(authorization: authorization, binding: binding)
    case "open":
        guard let key = keys[name] else { throw Unknown() }
        open[name] = try enclave.openKey(key, authorization: authorization, binding: binding, session: nil)
    case "sign":
        guard let wrapped = keys[name], let key = open[name] else { throw Unknown() }
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: key.signature(forDigest: Data(digest)))
        let publicKey = try P256.Signing.PublicKey(x963Representation: wrapped.publicKey)
        guard publicKey.isValidSignature(signature, for: digest) else { throw WrongSignature() }
    case "release": open[name] = nil
    default: throw Unknown()
    }
}

while let line = readLine() {
    let words = line.split(separator: " ").map(String.init)
    guard words.count == 2 else { exit(64) }
    do {
        try obey(words[0], words[1])
        say("done")
    } catch { say("\(error)") }
}
