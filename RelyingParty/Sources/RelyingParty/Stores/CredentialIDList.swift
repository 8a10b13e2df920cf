package import Foundation

/// The credential IDs of a challenge as one value of a database: two bytes of length before each ID.
package enum CredentialIDList {
    /// Nil if an ID is longer than two bytes can say. A credential ID has at most 1,023.
    package static func encoded(_ identifiers: [Data]) -> Data? {
        var data = Data()
        for identifier in identifiers {
            guard let count = UInt16(exactly: identifier.count) else { return nil }
            data.append(contentsOf: [UInt8(count >> 8), UInt8(count & 0xFF)])
            data.append(identifier)
        }
        return data
    }

    /// Nil for bytes that ``encoded(_:)`` did not make.
    package static func decoded(_ data: Data) -> [Data]? {
        var (rest, identifiers) = (data[...], [Data]())
        while !rest.isEmpty {
            let count = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 2 + count else { return nil }
            identifiers.append(Data(rest.dropFirst(2).prefix(count)))
            rest = rest.dropFirst(2 + count)
        }
        return identifiers
    }
}
