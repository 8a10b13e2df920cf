package import Cancellations
package import Crypto
import Foundation
import Synchronization

/// A key of FIDO U2F alone (FIDO U2F Raw Message Formats 1.2).
package final class U2FEngine: KeyEngine {
    package let capabilities: UInt8 = 0
    private let finger: TestFinger
    private let certificate: [UInt8]
    private let keys = Mutex<[[UInt8]: (application: [UInt8], key: P256.Signing.PrivateKey)]>([:])
    private let counter = Mutex<UInt32>(0)

    /// - Parameter certificate: any X.509 certificate in DER.
    package init(_ finger: TestFinger, certificate: [UInt8]) { (self.finger, self.certificate) = (finger, certificate) }

    package func respond(toCBOR request: [UInt8], until cancellation: Cancellation) -> [UInt8] { [0x01] }

    package func respond(toMessage request: [UInt8]) -> [UInt8] {
        guard request.count >= 7 else { return [0x67, 0x00] }
        let count = Int(request[5]) << 8 | Int(request[6])
        let data = Array(request[7...].prefix(count))
        switch request[1] {
        case 0x01: return register(data)
        case 0x02: return authenticate(data, isCheck: request[2] == 0x07)
        case 0x03: return Array("U2F_V2".utf8) + Self.ok
        default: return [0x6D, 0x00]
        }
    }

    private static let ok: [UInt8] = [0x90, 0x00]
    private static let untouched: [UInt8] = [0x69, 0x85]
    private static let unknown: [UInt8] = [0x6A, 0x80]

    private func register(_ data: [UInt8]) -> [UInt8] {
        guard data.count == 64 else { return [0x67, 0x00] }
        guard finger.isThere() else { return Self.untouched }
        let key = P256.Signing.PrivateKey()
        let handle = (0..<64).map { _ in UInt8.random(in: 0...255) }
        let application = Array(data[32...])
        keys.withLock { $0[handle] = (application, key) }
        let point = Array(key.publicKey.x963Representation)
        let signed = [0x00] + application + data[..<32] + handle + point
        guard let signature = try? key.signature(for: signed) else { return [0x6F, 0x00] }
        return [0x05] + point + [UInt8(handle.count)] + handle + certificate + signature.derRepresentation + Self.ok
    }

    private func authenticate(_ data: [UInt8], isCheck: Bool) -> [UInt8] {
        guard data.count > 65 else { return [0x67, 0x00] }
        let (application, handle) = (Array(data[32..<64]), Array(data[65...]))
        guard let found = keys.withLock({ $0[handle] }), found.application == application else { return Self.unknown }
        guard !isCheck, finger.isThere() else { return Self.untouched }
        let count = counter.withLock { count in
            count += 1
            return count
        }
        let counted = [0x01] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        guard let signature = try? found.key.signature(for: application + counted + data[..<32]) else {
            return [0x6F, 0x00]
        }
        return counted + signature.derRepresentation + Self.ok
    }

    /// The public key of a registered credential.
    package func publicKey(of identifier: [UInt8]) -> P256.Signing.PublicKey? {
        keys.withLock { $0[identifier]?.key.publicKey }
    }
}
