import CanonicalEncoding
package import Foundation
package import SecretMemory

/// The value of an attribute.
package enum AttributeValue: Equatable, Sendable {
    case bytes(Data)
    /// CK_ULONG each.
    case numbers([UInt64])

    package static func number(_ value: some BinaryInteger) -> AttributeValue { .numbers([UInt64(clamping: value)]) }
    package static func flag(_ value: Bool) -> AttributeValue { .bytes(Data([value ? 1 : 0])) }
    package static func text(_ value: String) -> AttributeValue { .bytes(Data(value.utf8)) }

    fileprivate var form: UInt8 {
        switch self {
        case .bytes: 1
        case .numbers: 2
        }
    }

    fileprivate var content: [UInt8] {
        switch self {
        case .bytes(let bytes): Array(bytes)
        case .numbers(let numbers):
            numbers.flatMap { number in (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        }
    }

    package var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .numbers(let numbers): 8 * numbers.count
        }
    }
}

/// An object as the module shows it.
package struct TokenObject: Equatable, Sendable {
    package let reference: ObjectReference
    /// Of a signature or plaintext; 0 where there is none.
    package let longestResult: UInt16
    package let attributes: [CryptokiAttribute: AttributeValue]

    package init(
        _ reference: ObjectReference, longestResult: UInt16 = 0, _ attributes: [CryptokiAttribute: AttributeValue]
    ) {
        (self.reference, self.longestResult, self.attributes) = (reference, longestResult, attributes)
    }

    /// Whether a message can carry it.
    package var isSendable: Bool {
        attributes.values.allSatisfy { $0.byteCount <= PKCS11Limits.valueByteCount }
            && bytes.count <= PKCS11Answer.pageByteCount
    }

    var bytes: [UInt8] {
        var writer = CanonicalWriter()
        writer.write(fixed: reference.bytes)
        writer.write(longestResult)
        writer.write(UInt8(clamping: attributes.count))
        for (type, value) in attributes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            writer.write(type.rawValue)
            writer.write(value.form)
            writer.write(value.content, length: UInt16.self)
        }
        return writer.bytes
    }
}

/// Messages of the door, with their lengths.
package enum PKCS11Answer {
    private enum Kind: UInt8 {
        case hello = 0x81, objects, result, refused
    }

    package static let hello = message(.hello, 0, [PKCS11Limits.version])

    /// A page of a list: as many objects as fit, from one on.
    package static func objects(_ objects: [TokenObject], from cursor: Int, number: UInt32) -> Data {
        var (page, count) = ([UInt8](), 0)
        for object in objects.dropFirst(cursor) {
            let bytes = object.bytes
            guard page.count + bytes.count <= pageByteCount else { break }
            page += bytes
            count += 1
        }
        let next = cursor + count
        var writer = CanonicalWriter(capacity: page.count + 6)
        writer.write(UInt32(clamping: next < objects.count ? next : 0))
        writer.write(UInt16(clamping: count))
        writer.write(fixed: page)
        return message(.objects, number, writer.bytes)
    }

    static let pageByteCount = 60_000

    /// A signature, or nothing.
    package static func result(_ bytes: Data, number: UInt32) -> Data { message(.result, number, Array(bytes)) }

    /// A plaintext or shared secret.
    package static func result(secret: borrowing SecretBytes, number: UInt32) -> SecretBytes {
        SecretBytes(joining: SecretBytes(head(.result, number, secret.count)), secret)
    }

    package static func refused(_ refusal: TokenRefusal, number: UInt32) -> Data {
        var writer = CanonicalWriter()
        writer.write(refusal.rawValue)
        return message(.refused, number, writer.bytes)
    }

    private static func message(_ kind: Kind, _ number: UInt32, _ body: [UInt8]) -> Data {
        head(kind, number, body.count) + body
    }

    private static func head(_ kind: Kind, _ number: UInt32, _ bodyByteCount: Int) -> Data {
        var writer = CanonicalWriter()
        writer.write(UInt32(PKCS11Limits.headByteCount + bodyByteCount))
        writer.write(kind.rawValue)
        writer.write(number)
        return Data(writer.bytes)
    }
}
