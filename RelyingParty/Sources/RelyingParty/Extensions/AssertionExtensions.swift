public import Foundation

/// The extensions that are asked for when a credential signs (WebAuthn Level 3, section 10).
public struct AssertionExtensions: Sendable, Equatable, Encodable {
    public enum LargeBlob: Sendable, Equatable {
        case read
        /// Replaces the bytes. The client takes it for one credential only: name the account.
        case write(Data)
    }

    public var prf: PRFRequest?
    public var largeBlob: LargeBlob?

    public init(prf: PRFRequest? = nil, largeBlob: LargeBlob? = nil) {
        self.prf = prf
        self.largeBlob = largeBlob
    }

    var isEmpty: Bool { prf == nil && largeBlob == nil }

    private enum CodingKeys: CodingKey {
        case prf, largeBlob
    }

    private enum BlobKeys: CodingKey {
        case read, write
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(prf, forKey: .prf)
        guard let largeBlob else { return }
        var blob = container.nestedContainer(keyedBy: BlobKeys.self, forKey: .largeBlob)
        switch largeBlob {
        case .read: try blob.encode(true, forKey: .read)
        case .write(let bytes): try blob.encode(bytes.base64URLEncoded, forKey: .write)
        }
    }
}
