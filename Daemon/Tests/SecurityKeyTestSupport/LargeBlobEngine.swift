import CTAP
package import Cancellations
import CanonicalCBOR
import Crypto
import Foundation
import Synchronization

/// A key of CTAP 2.1 that keeps large blobs (6.10) and their keys (12.3). It has no hmac-secret, and takes no new PIN.
package final class LargeBlobEngine: KeyEngine {
    package let capabilities: UInt8 = 0x0C
    package let memory: KeyMemory
    private let inner: FIDO2Engine
    private let state: Mutex<LargeBlobAuthenticator>

    /// - Parameters:
    ///   - memory: credentials and PIN.
    ///   - hasPIN: whether the key knows PINs. Without them it gives no tokens, and anybody may write.
    ///   - capacity: how long the array of blobs may become; 1024 is the least that CTAP allows.
    package init(
        _ finger: TestFinger, memory: KeyMemory = KeyMemory(), hasPIN: Bool = true, capacity: Int = 4096
    ) {
        self.memory = memory
        inner = FIDO2Engine(finger, memory: memory, hasPIN: hasPIN)
        state = Mutex(LargeBlobAuthenticator(memory: memory, capacity: capacity))
    }

    /// The array of blobs as a client reads it.
    package var serializedArray: [UInt8] { state.withLock { $0.array.serialized } }

    /// How many blobs the array has; nil when it is none.
    package var blobCount: Int? { state.withLock { $0.array.entries?.count } }

    /// Flips a bit of each blob. The array's trailer is right again afterwards.
    package func damageBlobs() { state.withLock { $0.array.damage() } }

    package func respond(toCBOR request: [UInt8], until cancellation: Cancellation) -> [UInt8] {
        let inner = inner
        return state.withLock { state in
            state.respond(to: request) { inner.respond(toCBOR: $0, until: cancellation) }
        }
    }

    package func respond(toMessage request: [UInt8]) -> [UInt8] { inner.respond(toMessage: request) }
}

/// The large blobs of a key. It forwards everything else to an authenticator without them.
private struct LargeBlobAuthenticator {
    private let memory: KeyMemory
    var array: LargeBlobArray
    private var relay = TokenRelay()
    /// The keys of large blobs, by the identifiers of their credentials.
    private var keys: [[UInt8]: [UInt8]] = [:]
    /// Whether the assertion under way and those that follow it give keys out.
    private var givesKeys = false

    private static let largeBlobKey = "largeBlobKey"

    init(memory: KeyMemory, capacity: Int) {
        self.memory = memory
        array = LargeBlobArray(capacity: capacity, messageByteCount: CTAPLimits.messageByteCount)
    }

    mutating func respond(to request: [UInt8], _ forward: TokenRelay.Forward) -> [UInt8] {
        do throws(LargeBlobStatus) {
            return try answer(request, forward)
        } catch {
            return [error.rawValue]
        }
    }

    private mutating func answer(
        _ request: [UInt8], _ forward: TokenRelay.Forward
    ) throws(LargeBlobStatus) -> [UInt8] {
        let command = request.first ?? 0
        if command != 0x08 { givesKeys = false }
        switch command {
        case 0x01: return try create(request, forward)
        case 0x02: return try sign(request, forward)
        case 0x04: return try describe(forward(request))
        case 0x06: return try relay.respond(to: request, forward)
        case 0x08: return try addKey(to: forward(request))
        case 0x0C: return try serve(LargeBlobRequest(decoding: request.dropFirst()))
        default: return forward(request)
        }
    }

    /// authenticatorGetInfo. Its clients must agree on tokens as the relay does.
    private func describe(_ answer: [UInt8]) throws(LargeBlobStatus) -> [UInt8] {
        guard answer.first == 0 else { return answer }
        let map = try CBORMap(message: answer.dropFirst())
        guard var options = map[4]?.map else { throw .unexpectedType }
        options = options.setting(.text("largeBlobs"), to: CBORValue.boolean(true))
        // Nothing could give a token.
        if options["clientPin"] == nil, options["uv"] == nil {
            options = options.setting(.text("pinUvAuthToken"), to: nil)
        }
        let extensions: [CBORValue] = [.text("credProtect"), .text(Self.largeBlobKey)]
        var described = map.setting(.number(2), to: CBORValue.array(extensions))
        described = described.setting(.number(4), to: CBORValue.map(options))
        described = described.setting(.number(6), to: CBORValue.array([.number(TokenRelay.version)]))
        described = described.setting(.number(11), to: CBORValue.number(array.capacity))
        return Self.success(described)
    }

    private static func success(_ members: CBORMap) -> [UInt8] { [0] + CBORValue.map(members).encoded }

    // MARK: keys of blobs

    private static func wantsKey(_ extensions: CBORValue?) throws(LargeBlobStatus) -> Bool {
        guard let wish = extensions?.map?[largeBlobKey] else { return false }
        guard wish.boolean == true else { throw .invalidOption }
        return true
    }

    private mutating func create(
        _ request: [UInt8], _ forward: TokenRelay.Forward
    ) throws(LargeBlobStatus) -> [UInt8] {
        let map = try CBORMap(message: request.dropFirst())
        let wantsKey = try Self.wantsKey(map[6])
        // Only discoverable credentials have one.
        guard !wantsKey || map[7]?.map?["rk"]?.boolean == true else { throw .invalidOption }
        let answer = forward(request)
        guard wantsKey, answer.first == 0 else { return answer }
        let made = try CBORMap(message: answer.dropFirst())
        let identifier = try Self.identifier(in: made[2])
        let key = (0..<32).map { _ in UInt8.random(in: 0...255) }
        keys[identifier] = key
        return Self.success(made.setting(.number(5), to: CBORValue.bytes(key)))
    }

    /// The identifier of the credential in its authenticator data (WebAuthn 6.5.1).
    private static func identifier(in value: CBORValue?) throws(LargeBlobStatus) -> [UInt8] {
        guard let bytes = value?.bytes, bytes.count > 55 else { throw .unexpectedType }
        let data = Array(bytes)
        let count = Int(data[53]) << 8 | Int(data[54])
        return Array(data[55...].prefix(count))
    }

    private mutating func sign(
        _ request: [UInt8], _ forward: TokenRelay.Forward
    ) throws(LargeBlobStatus) -> [UInt8] {
        let map = try CBORMap(message: request.dropFirst())
        givesKeys = try Self.wantsKey(map[4])
        return try addKey(to: forward(request))
    }

    private func addKey(to answer: [UInt8]) throws(LargeBlobStatus) -> [UInt8] {
        guard givesKeys, answer.first == 0 else { return answer }
        let assertion = try CBORMap(message: answer.dropFirst())
        guard let identifier = assertion[1]?.map?["id"]?.bytes, let key = keys[Array(identifier)] else { return answer }
        return Self.success(assertion.setting(.number(7), to: CBORValue.bytes(key)))
    }

    // MARK: authenticatorLargeBlobs

    private mutating func serve(_ request: LargeBlobRequest) throws(LargeBlobStatus) -> [UInt8] {
        if let piece = request.piece {
            try array.prepare(for: piece, request)
            try authorize(request, writing: piece)
            try array.append(piece)
            return [0]
        }
        guard request.length == nil, request.code == nil, request.version == nil else { throw .invalidParameter }
        let piece = try array.piece(request.byteCount ?? 0, at: request.offset)
        return [0] + CBORValue.map([1: CBORValue.bytes(piece)]).encoded
    }

    /// With a PIN each piece needs a code of its own.
    private func authorize(_ request: LargeBlobRequest, writing piece: [UInt8]) throws(LargeBlobStatus) {
        guard memory.pinHash() != nil else { return }
        guard let code = request.code else { throw .tokenRequired }
        guard let version = request.version else { throw .missingParameter }
        guard version == TokenRelay.version else { throw .invalidParameter }
        var message = [UInt8](repeating: 0xFF, count: 32)
        message += [0x0C, 0x00]
        message += (0..<4).map { UInt8(truncatingIfNeeded: request.offset >> ($0 * 8)) }
        message += Array(SHA256.hash(data: piece))
        try relay.check(code, of: message, needing: TokenRelay.largeBlobWrite)
    }
}
