import CredentialHelpers
import Foundation
import SecretMemory
import UnitCredentials

// Compiled with the modules that it imports by script/fuzz.

/// The bytes that git, docker, a credential helper's own items, names of service managers and rules for units hold.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "git-credential": { bytes in
        guard let credential = try? GitCredential(parsing: secret(bytes)) else { return }
        _ = try? credential.place()
        guard let again = try? GitCredential(parsing: credential.answer()) else {
            preconditionFailure("an answer cannot be read")
        }
        precondition(credential.answer().isEqual(to: again.answer()), "an answer is read otherwise")
        guard let kept = CredentialSecret(credential) else { return }
        let read = try? CredentialSecret.credential(
            described: kept.description, account: credential.username, kept.value.bytes)
        precondition(read != nil, "what was kept cannot be read")
        precondition(isSame(read?.password, credential.password), "another password is kept")
        precondition(
            kept.isEqual(to: kept.value.bytes, described: kept.description)
                && !CredentialSecret(password: Secret(secret([0]))).isEqual(to: kept.value.bytes, described: nil),
            "what was kept is compared otherwise")
    },
    "docker-credential": { bytes in
        guard let credential = try? DockerCredential(parsing: secret(bytes)) else { return }
        guard let again = try? DockerCredential(parsing: credential.document()) else {
            preconditionFailure("a document cannot be read")
        }
        precondition(
            again.serverURL == credential.serverURL && again.username == credential.username
                && again.secret.isEqual(to: credential.secret), "a document is read otherwise")
        let list = DockerCredential.list([
            credential.serverURL: credential.username, credential.serverURL + "/": credential.username,
        ])
        precondition(list.count > credential.serverURL.utf8.count, "the list lacks a server")
        let place = CredentialPlace(dockerServer: credential.serverURL)
        let scheme = place.networkProtocol.isEmpty ? "" : "\(place.networkProtocol)://"
        precondition(scheme + place.host + (place.path ?? "") == credential.serverURL, "the parts are another server")
    },
    "unit-name": { bytes in
        guard let request = try? UnitRequest(address: bytes) else { return }
        precondition(
            bytes.reversed().starts(with: "/unit/\(request.unit)/\(request.credential)".utf8.reversed()),
            "another unit or credential is read")
    },
    "unit-rules": { bytes in
        guard let rules = try? CredentialRules(parsing: bytes, path: "rules") else { return }
        precondition(rules.count <= bytes.count(where: { $0 == UInt8(ascii: "=") }), "a rule is read where none is")
    },
]

private func secret(_ bytes: [UInt8]) -> SecretBytes { SecretBytes(Data(bytes)) }

private func isSame(_ one: Secret?, _ other: Secret?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.isEqual(to: other)
}
