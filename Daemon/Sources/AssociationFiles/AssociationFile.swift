public import ExactNames
public import Foundation

/// A domain's list of the programs that may use its credentials: the file `apple-app-site-association`. Only its service
/// `webcredentials` counts ("Supporting associated domains", Apple).
///
///     {"webcredentials": {"apps": ["com.example.mail"]}}
public struct AssociationFile: Equatable, Sendable {
    /// The names of the programs, as the domain gives them.
    public let applications: [String]

    /// The largest file, as on Apple's systems.
    public static let maximumByteCount = 128 * 1024
    /// The path on each domain's server.
    public static let path = "/.well-known/apple-app-site-association"

    /// Reads a file. Without the service it names no program.
    public init(_ bytes: Data) throws(AssociationFileError) {
        guard bytes.count <= Self.maximumByteCount else { throw .tooLarge }
        do {
            applications = try JSONDecoder().decode(Contents.self, from: bytes).webcredentials?.apps ?? []
        } catch { throw .malformed }
    }

    /// Whether the file names the program, exactly as it was registered.
    public func lists(_ applicationID: ExactName) -> Bool {
        applications.contains { ExactName($0) == applicationID }
    }

    private struct Contents: Decodable {
        struct Service: Decodable { let apps: [String]? }

        let webcredentials: Service?
    }
}

/// Why bytes are no association file.
public enum AssociationFileError: Error, Equatable, Sendable {
    case tooLarge
    /// Not JSON, or not of this form.
    case malformed
}
