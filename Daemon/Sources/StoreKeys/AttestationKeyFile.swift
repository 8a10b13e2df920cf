import Enclave
public import Foundation
public import SecretMemory

/// An attestation key of a store's chip: the value that the chip asks for, and the wrapped key.
public struct AttestationKey: ~Copyable, Sendable {
    public let authorization: SecretBytes
    public let blob: Data

    public init(authorization: consuming SecretBytes, blob: Data) {
        self.authorization = authorization
        self.blob = blob
    }
}

/// The file `attestation-key` beside a store's database: the store's attestation key, encrypted with the store's keys. So
/// only the daemon, once the chip has opened the store, lets the key sign.
///
/// `"OSAK" (4) || version (1) || record`; the record of ``StoreKeys/protect(_:label:)`` holds the value (32) and the blob.
public struct AttestationKeyFile: Sendable {
    public static let name = "attestation-key"

    private static let head = Data("OSAK".utf8) + [1]
    private static let label = "ostiary.attestation-key.v1"
    private static let maximumByteCount = 4096
    private static let authorizationByteCount = 32

    private let file: PrivateFile
    private let keys: StoreKeys

    /// - Parameters:
    ///   - directory: the folder of the store.
    ///   - owner: the user who must own file and folder.
    public init(directory: String, ownedBy owner: UInt32, keys: StoreKeys) {
        file = PrivateFile(Self.name, inFolder: directory, ownedBy: owner)
        self.keys = keys
    }

    /// The store's attestation key; nil when none was made.
    ///
    /// - Throws: ``StoreKeysFileError/unusable(_:)``, also for a file of another store.
    public func read() throws(StoreKeysFileError) -> AttestationKey? {
        let contents: Data
        do {
            contents = Data(exposing: try file.read(atMost: Self.maximumByteCount))
        } catch .missing {
            return nil
        } catch {
            throw StoreKeysFileError(error)
        }
        guard contents.starts(with: Self.head), contents.count <= Self.maximumByteCount else {
            throw .unusable(.damaged)
        }
        let record: SecretBytes
        do {
            record = try keys.unprotectSecret(Data(contents.dropFirst(Self.head.count)), label: Self.label)
        } catch {
            throw .unusable(.damaged)
        }
        guard record.count > Self.authorizationByteCount else { throw .unusable(.damaged) }
        let blob = unsafe record.withUnsafeBytes { unsafe Data($0.dropFirst(Self.authorizationByteCount)) }
        return AttestationKey(authorization: record.prefix(Self.authorizationByteCount), blob: blob)
    }

    /// Writes the file, durably. An existing file stays, so read afterwards which key the store has.
    public func create(_ key: borrowing AttestationKey) throws(StoreKeysFileError) {
        let record: Data
        do {
            record = try keys.protect(
                SecretBytes(joining: key.authorization, SecretBytes(key.blob)), label: Self.label)
        } catch {
            throw .notWritten(errno: 0)
        }
        do { try file.create(SecretBytes(Self.head + record)) } catch { throw StoreKeysFileError(error) }
    }
}
