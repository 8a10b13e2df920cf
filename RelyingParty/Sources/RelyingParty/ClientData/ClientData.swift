import Foundation

/// What the client says about a ceremony (WebAuthn Level 3, section 5.8.1). The authenticator signs its hash.
struct ClientData: Equatable {
    let type: String
    /// Base64url, as it was sent.
    let challenge: String
    let origin: String
    /// Whether the page was in a frame of another origin. Apple's own client leaves it out, which means no.
    let isCrossOrigin: Bool
    let topOrigin: String?

    init(_ json: Data) throws(ClientDataError) {
        guard json.count <= Limits.clientDataByteCount else { throw .tooLong(json.count) }
        var bytes = [UInt8](json)
        // "UTF-8 decode" removes a byte order mark (section 7.1, step 5).
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
        var reader = JSONObjectReader(bytes)
        let members = try reader.members()
        type = try Self.string(.type, members)
        challenge = try Self.string(.challenge, members)
        origin = try Self.string(.origin, members)
        topOrigin = members[ClientDataMember.topOrigin.rawValue] == nil ? nil : try Self.string(.topOrigin, members)
        switch members[ClientDataMember.crossOrigin.rawValue] {
        case nil: isCrossOrigin = false
        case .boolean(let value)?: isCrossOrigin = value
        default: throw .mistyped(.crossOrigin)
        }
    }

    private static func string(
        _ member: ClientDataMember, _ members: [String: JSONObjectReader.Member]
    ) throws(ClientDataError) -> String {
        switch members[member.rawValue] {
        case nil: throw .missing(member)
        case .string(let value)?: return value
        default: throw .mistyped(member)
        }
    }
}
