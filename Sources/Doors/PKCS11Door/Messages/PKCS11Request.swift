import CanonicalEncoding
package import Foundation

/// Names an object for the module, which does not look into it.
package struct ObjectReference: Hashable, Sendable {
    package static let byteCount = 18
    private static let idByteCount = 16

    /// CKO_…
    package enum ObjectClass: UInt8, Sendable {
        case certificate = 1, publicKey, privateKey
    }

    package enum Place: UInt8, Sendable {
        case right = 1, key, imported, certificate
    }

    package let objectClass: ObjectClass
    package let place: Place
    /// Of right, key or item: 16 bytes.
    package let id: Data

    /// Nil for an id of another length.
    package init?(_ objectClass: ObjectClass, _ place: Place, id: Data) {
        guard id.count == Self.idByteCount else { return nil }
        (self.objectClass, self.place, self.id) = (objectClass, place, id)
    }

    init(from reader: inout CanonicalReader) throws(PKCS11FormatError) {
        let bytes = try reader.bytes(Self.byteCount)
        guard let objectClass = ObjectClass(rawValue: bytes[0]), let place = Place(rawValue: bytes[1]) else {
            throw .malformed
        }
        (self.objectClass, self.place, id) = (objectClass, place, Data(bytes[2...]))
    }

    var bytes: [UInt8] { [objectClass.rawValue, place.rawValue] + id }
}

/// A mechanism and its parameters as the host gave them.
package struct WireMechanism: Hashable, Sendable {
    /// CKM_…
    package let type: UInt32
    /// CKM_…, of PSS and OAEP; else 0.
    package let hash: UInt32
    /// CKG_…, likewise.
    package let mask: UInt32
    /// Bytes, of PSS; else 0.
    package let salt: UInt32

    package init(_ type: UInt32, hash: UInt32 = 0, mask: UInt32 = 0, salt: UInt32 = 0) {
        (self.type, self.hash, self.mask, self.salt) = (type, hash, mask, salt)
    }

    init(from reader: inout CanonicalReader) throws(PKCS11FormatError) {
        (type, hash) = (try reader.number(), try reader.number())
        (mask, salt) = (try reader.number(), try reader.number())
    }
}

/// Why bytes are no request. The connection ends then.
package enum PKCS11FormatError: Error, Equatable, Sendable {
    /// No message of this version has this form.
    case malformed
    /// The message is longer than it may be, or a part of it is.
    case tooLarge
    /// The greeting of another version.
    case otherVersion(UInt8)
    /// The first message is no greeting, or a later one is.
    case outOfOrder
    /// A number that a request under way has.
    case repeatedNumber
}

/// A message of the module.
package enum PKCS11Request: Equatable, Sendable {
    case hello
    case objects(cursor: UInt32)
    case update(operation: UInt32, WireMechanism, data: Data)
    /// - operation: 0 for none.
    case sign(ObjectReference, WireMechanism, operation: UInt32, data: Data)
    case decrypt(ObjectReference, WireMechanism, data: Data)
    case derive(ObjectReference, WireMechanism, publicKey: Data)
    case forget(operation: UInt32)
    case cancel(number: UInt32)

    private enum Kind: UInt8 {
        case hello = 1, objects, update, sign, decrypt, derive, forget, cancel
    }

    /// Reads the length before a message.
    ///
    /// - Parameter head: 4 bytes.
    package static func byteCount(_ head: Data) throws(PKCS11FormatError) -> Int {
        let count = head.reduce(0) { $0 << 8 | Int($1) }
        guard count >= PKCS11Limits.headByteCount else { throw .malformed }
        guard count <= PKCS11Limits.messageByteCount else { throw .tooLarge }
        return count
    }

    /// Reads a message behind its length.
    ///
    /// - Returns: the request and its number, which is 0 for those that are not answered.
    package static func read(_ content: Data) throws(PKCS11FormatError) -> (number: UInt32, request: PKCS11Request) {
        var reader = CanonicalReader(Array(content))
        guard let kind = Kind(rawValue: try reader.byte()) else { throw .malformed }
        let number = try reader.number()
        let rest = content.count - PKCS11Limits.headByteCount
        let request = try read(kind, &reader, rest)
        do { try reader.finish() } catch { throw .malformed }
        guard request.isAnswered == (number != 0) else { throw .malformed }
        return (number, request)
    }

    /// Whether it has a number. The greeting is answered without one.
    private var isAnswered: Bool {
        switch self {
        case .hello, .forget, .cancel: false
        case .objects, .update, .sign, .decrypt, .derive: true
        }
    }

    /// - Parameter count: of the bytes that the reader has not read.
    private static func read(
        _ kind: Kind, _ reader: inout CanonicalReader, _ count: Int
    ) throws(PKCS11FormatError) -> PKCS11Request {
        switch kind {
        case .hello: return try readHello(&reader)
        case .objects: return .objects(cursor: try reader.number())
        case .update:
            let operation = try reader.number()
            let mechanism = try WireMechanism(from: &reader)
            let data = try reader.rest(count - 20, 1...PKCS11Limits.dataByteCount)
            guard operation != 0 else { throw .malformed }
            return .update(operation: operation, mechanism, data: data)
        case .sign:
            let (key, mechanism) = (try ObjectReference(from: &reader), try WireMechanism(from: &reader))
            let operation = try reader.number()
            let data = try reader.rest(count - 38, 0...PKCS11Limits.dataByteCount)
            return .sign(key, mechanism, operation: operation, data: data)
        case .decrypt:
            let (key, mechanism) = (try ObjectReference(from: &reader), try WireMechanism(from: &reader))
            return .decrypt(key, mechanism, data: try reader.rest(count - 34, 0...PKCS11Limits.ciphertextByteCount))
        case .derive:
            let (key, mechanism) = (try ObjectReference(from: &reader), try WireMechanism(from: &reader))
            return .derive(key, mechanism, publicKey: try reader.rest(count - 34, 1...PKCS11Limits.publicKeyByteCount))
        case .forget: return .forget(operation: try reader.number())
        case .cancel: return .cancel(number: try reader.number())
        }
    }

    private static let magic = Array("OP11".utf8)

    private static func readHello(_ reader: inout CanonicalReader) throws(PKCS11FormatError) -> PKCS11Request {
        guard try reader.bytes(magic.count) == magic else { throw .malformed }
        let version = try reader.byte()
        guard version == PKCS11Limits.version else { throw .otherVersion(version) }
        return .hello
    }
}

extension CanonicalReader {
    fileprivate mutating func byte() throws(PKCS11FormatError) -> UInt8 {
        do { return try read(UInt8.self) } catch { throw .malformed }
    }

    fileprivate mutating func number() throws(PKCS11FormatError) -> UInt32 {
        do { return try read(UInt32.self) } catch { throw .malformed }
    }

    fileprivate mutating func bytes(_ count: Int) throws(PKCS11FormatError) -> [UInt8] {
        do { return try read(fixed: count) } catch { throw .malformed }
    }

    /// The bytes at the end.
    ///
    /// - Parameter count: how many there are; negative where the fields before were not whole.
    fileprivate mutating func rest(_ count: Int, _ permitted: ClosedRange<Int>) throws(PKCS11FormatError) -> Data {
        guard count <= permitted.upperBound else { throw .tooLarge }
        guard permitted.contains(count) else { throw .malformed }
        return Data(try bytes(count))
    }
}
