package import Foundation
package import SwiftASN1

/// A value of Apple's DER property lists: what serialised access controls and references of token items are made of.
///
/// A truth value is a BOOLEAN, a number an INTEGER, text a UTF8String, bytes an OCTET STRING, an array a SEQUENCE, and a
/// dictionary a SET of SEQUENCEs of key and value, in the order of DER.
package indirect enum PropertyList: Hashable, Sendable {
    case boolean(Bool)
    case integer(Int)
    case string(String)
    case data([UInt8])
    case array([PropertyList])
    case dictionary([String: PropertyList])
}

// MARK: - Text

extension PropertyList {
    /// Longest data that a description shows.
    private static let shownByteCount = 64

    /// `key(value)` for each entry, sorted by key.
    static func descriptions(of entries: [String: PropertyList]) -> [String] {
        entries.sorted { $0.key < $1.key }.map { "\($0.key)(\($0.value.text))" }
    }

    private var text: String {
        switch self {
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .string(let value): value
        case .data(let bytes): Self.text(of: bytes)
        case .array(let elements): elements.map(\.text).joined(separator: ";")
        case .dictionary(let entries): Self.descriptions(of: entries).joined(separator: ";")
        }
    }

    private static func text(of bytes: [UInt8]) -> String {
        let shown = bytes.prefix(shownByteCount).map { String(format: "%02X", $0) }.joined()
        return bytes.count > shownByteCount ? "\(shown)...(\(bytes.count)b)" : shown
    }
}

// MARK: - DER

extension PropertyList {
    package var derRepresentation: Data {
        var serializer = DER.Serializer()
        do { try serialize(into: &serializer) } catch {
            preconditionFailure("every property list has a serialisation")
        }
        return Data(serializer.serializedBytes)
    }

    /// Reads what ``derRepresentation`` writes. Nil for anything else: other types, a key that occurs twice, an order or
    /// length that is not DER's, bytes after the end.
    package init?(derRepresentation bytes: Data) {
        do {
            self = try PropertyList(derEncoded: [UInt8](bytes))
        } catch {
            return nil
        }
        guard derRepresentation == bytes else { return nil }
    }
}

extension PropertyList: DERParseable, DERSerializable {
    package init(derEncoded node: ASN1Node) throws {
        switch node.identifier {
        case .boolean: self = .boolean(try Bool(derEncoded: node))
        case .integer: self = .integer(try Int(derEncoded: node))
        case .utf8String: self = .string(String(try ASN1UTF8String(derEncoded: node)))
        case .octetString: self = .data(Array(try ASN1OctetString(derEncoded: node).bytes))
        case .sequence: self = .array(try Self.elements(of: node))
        case .set: self = .dictionary(try Self.entries(of: node))
        default: throw ASN1Error.unexpectedFieldType(node.identifier)
        }
    }

    package func serialize(into coder: inout DER.Serializer) throws {
        switch self {
        case .boolean(let value): try value.serialize(into: &coder)
        case .integer(let value): try value.serialize(into: &coder)
        case .string(let value): try ASN1UTF8String(value).serialize(into: &coder)
        case .data(let bytes): try ASN1OctetString(contentBytes: bytes[...]).serialize(into: &coder)
        case .array(let elements):
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                for element in elements { try element.serialize(into: &coder) }
            }
        case .dictionary(let entries):
            try coder.serializeSetOf(entries.map { PropertyList.array([.string($0.key), $0.value]) })
        }
    }

    private static func elements(of node: ASN1Node) throws -> [PropertyList] {
        guard case .constructed(let nodes) = node.content else { throw malformed(node) }
        return try nodes.map(PropertyList.init(derEncoded:))
    }

    private static func entries(of node: ASN1Node) throws -> [String: PropertyList] {
        var entries: [String: PropertyList] = [:]
        for element in try elements(of: node) {
            guard case .array(let pair) = element, pair.count == 2, case .string(let key) = pair[0] else {
                throw malformed(node)
            }
            guard entries.updateValue(pair[1], forKey: key) == nil else { throw malformed(node) }
        }
        return entries
    }

    private static func malformed(_ node: ASN1Node) -> ASN1Error { .unexpectedFieldType(node.identifier) }
}
