public import Enclave
public import Foundation
import SecretMemory

/// The file `store-keys` beside a store's database: the store's root secret, sealed by the enclave.
///
/// `"OSSK" (4) || version (1) || enclave kind (1) || store id (16) || sealed root secret`. The first 22 bytes are part
/// of the context that the enclave seals for. So the whole file is authentic: it opens only with its enclave, and only
/// for its store.
///
/// It is made before the store's database and never replaced.
public struct StoreKeysFile: Sendable {
    public static let name = "store-keys"
    public static let storeIDByteCount = 16

    private static let magic = Data("OSSK".utf8)
    private static let version: UInt8 = 1
    private static let headByteCount = magic.count + 2 + storeIDByteCount
    /// More than any enclave needs for 96 bytes.
    private static let maximumByteCount = 4096
    private static let label = Data("ostiary.store-keys.v1".utf8)

    private let file: PrivateFile

    /// - Parameters:
    ///   - directory: the folder of the store.
    ///   - owner: the user who must own file and folder.
    public init(directory: String, ownedBy owner: UInt32) {
        file = PrivateFile(Self.name, inFolder: directory, ownedBy: owner)
    }

    /// The store's keys and the store's identity.
    ///
    /// Blocks as long as the enclave needs to unseal.
    public func read(openedBy enclave: any Enclave) throws(StoreKeysFileError) -> (keys: StoreKeys, storeID: Data) {
        let contents: Data
        do { contents = Data(exposing: try file.read(atMost: Self.maximumByteCount)) } catch {
            throw StoreKeysFileError(error)
        }
        let head = contents.prefix(Self.headByteCount)
        guard head.starts(with: Self.magic), contents.count > Self.magic.count else { throw .unusable(.damaged) }
        guard contents[Self.magic.count] == Self.version else { throw .unusable(.unknownVersion) }
        guard head.count == Self.headByteCount, contents.count <= Self.maximumByteCount,
            let kind = EnclaveKind(code: contents[Self.magic.count + 1])
        else { throw .unusable(.damaged) }
        guard kind == enclave.kind else { throw .enclave(.wrongKind) }
        let root: RootSecret?
        do throws(EnclaveError) {
            root = RootSecret(
                try enclave.unseal(
                    contents.dropFirst(head.count), authorization: SecretBytes(zeroed: 0), context: Self.label + head))
        } catch {
            throw .enclave(error)
        }
        guard let root else { throw .unusable(.damaged) }
        return (StoreKeys(root), Data(head.suffix(Self.storeIDByteCount)))
    }

    /// Writes the file, durably, for a store that has none. An existing file stays, so read afterwards which keys the
    /// store has.
    ///
    /// - Parameter storeID: 16 bytes.
    public func create(
        _ root: borrowing RootSecret, storeID: Data, sealedBy enclave: any Enclave
    ) throws(StoreKeysFileError) {
        precondition(storeID.count == Self.storeIDByteCount, "a store's id has 16 bytes")
        let head = Self.magic + [Self.version, enclave.kind.code] + storeID
        let sealed: Data
        do throws(EnclaveError) {
            sealed = try enclave.seal(
                root.bytes, authorization: SecretBytes(zeroed: 0), context: Self.label + head)
        } catch {
            throw .enclave(error)
        }
        do { try file.create(SecretBytes(head + sealed)) } catch { throw StoreKeysFileError(error) }
    }
}

/// Why a store's keys are not available.
public enum StoreKeysFileError: Error, Equatable, Sendable {
    /// There is no such file. If its store exists, the keys are lost: other keys would fit none of its rows.
    case missing
    /// The file exists but cannot be trusted or read.
    case unusable(PrivateFileDefect)
    /// The enclave did not seal or unseal. ``EnclaveError/unreadable``: another enclave sealed the file, or the file
    /// was changed.
    case enclave(EnclaveError)
    /// The file was not written: the `errno` of the system call that failed.
    case notWritten(errno: Int32)

    init(_ error: PrivateFileError) {
        self =
            switch error {
            case .missing: .missing
            case .unusable(let defect): .unusable(defect)
            case .notWritten(let code): .notWritten(errno: code)
            }
    }
}
