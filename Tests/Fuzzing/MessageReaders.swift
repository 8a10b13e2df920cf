import CanonicalCBOR
import OstiaryMessages

// Compiled with the modules that it imports by script/fuzz.

/// The messages between programs and the daemon, and CBOR. All have exactly one encoding.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "cbor": { bytes in
        let lenient = try? CBORDecoder.decode(bytes[...], .any)
        guard let strict = try? CBORDecoder.decode(bytes[...], .canonical) else { return }
        precondition(lenient == strict, "the order of keys changes what is read")
        precondition(strict.encoded == bytes, "the value has another encoding")
    },
    "greeting": { read(WireGreeting.self, $0) },
    "request": { read(WireRequest.self, $0) },
    "reply": { read(WireReply.self, $0) },
]

private func read<Message: FrameMessage>(_ type: Message.Type, _ bytes: [UInt8]) {
    let own = ProtocolVersions.ofThisBuild
    for version in own.oldest...own.newest {
        guard let message = try? Message(canonicalBytes: bytes, in: version) else { continue }
        precondition((try? message.canonicalBytes(in: version)) == bytes, "the message has another encoding")
    }
}
