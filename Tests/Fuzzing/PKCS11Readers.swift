import Foundation
import KeyAlgorithms

// Compiled by script/fuzz with the door's readers, as one module.

/// What a program with the module sends to `ostiary-pkcs11d`.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "pkcs11-request": { bytes in
        guard let (number, request) = try? PKCS11Request.read(Data(bytes)) else { return }
        switch request {
        case .hello, .forget, .cancel: precondition(number == 0, "what is not answered has a number")
        case .objects: precondition(number != 0, "an answer without a number")
        case .update(let operation, let mechanism, let data):
            precondition(operation != 0 && !data.isEmpty, "an operation without a number or data")
            sign(mechanism, data)
        case .sign(_, let mechanism, _, let data): sign(mechanism, data)
        case .decrypt(_, let mechanism, let data):
            precondition(data.count <= PKCS11Limits.ciphertextByteCount, "a longer ciphertext than there is")
            _ = try? mechanism.decryption()
        case .derive(_, let mechanism, let publicKey):
            _ = try? mechanism.requireAgreement()
            guard let point = try? PeerPoint.read(publicKey) else { return }
            precondition(point.count == 65 && point.first == 4, "a point in another form")
        }
    }
]

private func sign(_ mechanism: WireMechanism, _ data: Data) {
    guard var operation = try? OperationData(mechanism) else { return }
    operation.add(data)
    guard let input = try? operation.finished(), let digest = try? input.digest() else { return }
    if let hash = digest.hash { precondition(digest.bytes.count == hash.byteCount, "a digest of another length") }
    if input.mechanism == .pkcs1(nil) { precondition(digest.hash != nil, "RSA signs bytes without a name") }
    if case .pss(let hash, _) = input.mechanism { precondition(hash != .sha1, "an outdated hash") }
}
