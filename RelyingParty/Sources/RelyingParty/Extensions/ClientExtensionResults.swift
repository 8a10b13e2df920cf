public import Foundation

/// What a client says of extensions. Nobody signed it: the page and the browser may say what they like. Values of the
/// extension `prf` are the page's own keys and are not read.
public struct ClientExtensionResults: Sendable, Equatable {
    /// `credProps`: whether the credential names its account by itself.
    public var isDiscoverable: Bool?
    /// Whether the credential has the extension `prf`.
    public var isPRFEnabled: Bool?
    /// Whether the authenticator keeps a large blob for the credential.
    public var supportsLargeBlob: Bool?
    /// The large blob, if it was asked for.
    public var largeBlob: Data?
    /// Whether the large blob was written.
    public var isLargeBlobWritten: Bool?

    public init() {}
}

/// The same as JSON.
struct ClientExtensionsJSON: Decodable {
    struct Properties: Decodable {
        let rk: Bool?
    }

    struct PRF: Decodable {
        let enabled: Bool?
    }

    struct LargeBlob: Decodable {
        let supported: Bool?
        let blob: String?
        let written: Bool?
    }

    let credProps: Properties?
    let prf: PRF?
    let largeBlob: LargeBlob?

    func results() throws(CeremonyJSONError) -> ClientExtensionResults {
        var results = ClientExtensionResults()
        results.isDiscoverable = credProps?.rk
        results.isPRFEnabled = prf?.enabled
        results.supportsLargeBlob = largeBlob?.supported
        results.isLargeBlobWritten = largeBlob?.written
        if let text = largeBlob?.blob {
            guard let blob = Data(base64URLEncoded: text) else { throw .malformed }
            results.largeBlob = blob
        }
        return results
    }
}
