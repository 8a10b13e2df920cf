import AssociationFiles
import AuthenticatorRequests
import CTAP
import CTAPHID
import Cancellations
import CanonicalCBOR
import ExactNames
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import SecretMemory
import SecurityKeyProtocol
import UnixSocket

// Compiled by script/fuzz together with the readers of module SecurityKeys, and with the modules that it imports.

/// The daemon's decoders of the bytes of security keys, their clients, domains and programs.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "key-report": { bytes in
        guard let report = KeyReport(decoding: bytes) else { return }
        precondition(report.bytes == bytes, "the report has another encoding")
        read(report)
    },
    "key-request": { bytes in
        guard let request = KeyRequest(decoding: bytes) else { return }
        precondition(request.bytes == bytes, "the request has another encoding")
    },
    "key-frame": { bytes in
        readStream(bytes, SOCK_SEQPACKET) { socket in
            while let frame = SecurityKeyFrame.receive(on: socket.number) { _ = KeyReport(decoding: frame.message) }
        }
    },
    "ctap-request": answer,
    "hid-reports": readReports,
    "association-file": { bytes in
        guard let file = try? AssociationFile(Data(bytes)) else { return }
        for name in file.applications { precondition(file.lists(ExactName(name)), "a name in the list is not listed") }
    },
    "association-request": { bytes in
        guard let request = AssociationRequest(decoding: bytes) else { return }
        precondition(request.bytes == bytes, "the request has another encoding")
        precondition(RelyingPartyIdentifier(request.relyingParty.domain) == request.relyingParty, "another domain")
    },
    "frame": { bytes in
        readStream(bytes, SOCK_STREAM) { socket in
            var reader = FrameReader(socket: socket)
            while let frame = try? reader.next(WireRequest.self) { readAgain(frame.message) }
        }
    },
]

/// Everything that the daemon makes of a key's answer.
private func read(_ report: KeyReport) {
    switch report {
    case .created(let made):
        for isAnonymous in [false, true] {
            guard let object = try? AttestationObject(made, isAnonymous: isAnonymous), isAnonymous else { continue }
            let value = try? CBORDecoder.decode(object.bytes[...], .canonical)
            precondition(value != nil, "an object without a foreign statement is canonical")
        }
        read(AuthenticatorData(made.authenticatorData))
    case .asserted(let results):
        for result in results { read(AuthenticatorData(result.authenticatorData)) }
    default: break
    }
}

private func read(_ data: AuthenticatorData) {
    precondition(data.hasCredential == (data.aaguid?.count == 16), "a credential has a model")
    _ = (data.isUserVerified, data.hasHMACSecret, data.endsInHMACSecret(protection: 3))
}

/// What came through is what would be sent. Encodings are compared: a date that is not a number equals not even itself.
private func readAgain(_ message: WireRequest) {
    guard let bytes = try? message.canonicalBytes else { preconditionFailure("the message has no encoding") }
    let again = try? WireRequest(canonicalBytes: bytes)
    precondition((try? again?.canonicalBytes) == bytes, "the message is read as another one")
}

// MARK: CTAP

/// A person who always agrees.
private struct WillingPerson: UserInteraction {
    let isVerificationReady: Bool?
    let verificationTriesLeft = 3

    func confirmPresence(
        for request: InteractionRequest, until cancellation: Cancellation
    ) -> (any UserProof)? { nil }

    func verify(for request: InteractionRequest, until cancellation: Cancellation) -> (any UserProof)? {
        nil
    }
}

/// Requests behind their lengths as two bytes, to a new authenticator that verifies nobody if the first byte is even.
private func answer(_ bytes: [UInt8]) {
    let storage = MemoryStorage(capacity: 4)
    let model = AuthenticatorModel(
        identifier: [UInt8](repeating: 7, count: 16), transports: ["usb"], isPlatform: false, alwaysVerifies: false,
        allowsReset: true, takesDomainsOnly: false)
    var authenticator = CTAPAuthenticator(
        model, storage: storage, pins: storage,
        interaction: WillingPerson(isVerificationReady: bytes.first.map { $0 % 2 == 1 ? true : nil } ?? nil),
        clock: { .zero })
    var rest = bytes.dropFirst()
    while rest.count >= 2 {
        let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        let request = Array(rest.dropFirst(2).prefix(count))
        rest = rest.dropFirst(2 + request.count)
        let answer = authenticator.respond(to: request, until: Cancellation())
        precondition(!answer.isEmpty, "every request has an answer")
        guard answer.count > 1 else { continue }
        precondition(answer[0] == 0, "a refusal has a status alone")
        let value = try? CBORDecoder.decode(answer.dropFirst(), .canonical)
        precondition(value != nil, "the answer is canonical")
    }
}

/// Reports of 64 bytes; each command that comes in whole is answered with its own bytes.
private func readReports(_ bytes: [UInt8]) {
    var endpoint = HIDEndpoint()
    var rest = bytes[...]
    while rest.count >= HIDReport.byteCount {
        let action = endpoint.receive(Array(rest.prefix(HIDReport.byteCount)), at: .zero)
        rest = rest.dropFirst(HIDReport.byteCount)
        switch action {
        case .send(let reports), .abort(let reports): check(reports)
        case .run(let request):
            precondition(!request.bytes.isEmpty, "a command has a byte")
            check(endpoint.keepalive(needsUser: true) ?? [])
            check(endpoint.finish(request, with: request.bytes))
        case .cancel, nil: break
        }
    }
}

private func check(_ reports: [[UInt8]]) {
    precondition(reports.allSatisfy { $0.count == HIDReport.byteCount }, "a report has 64 bytes")
}

// MARK: sockets

/// Has `read` read bytes that another process wrote before it went away.
private func readStream(_ bytes: [UInt8], _ type: __socket_type, _ read: (UnixSocket) -> Void) {
    var ends: [CInt] = [-1, -1]
    guard socketpair(AF_UNIX, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { return }
    var size = CInt(1 << 18)
    _ = setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
    _ = bytes.withUnsafeBytes { send(ends[1], $0.baseAddress, $0.count, CInt(MSG_DONTWAIT)) }
    close(ends[1])
    read(UnixSocket(owning: Descriptor(owning: ends[0])))
}
