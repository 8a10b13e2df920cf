public import Enclave
public import Foundation
import SecretMemory

/// The file `store-keys` beside a store's database: the store's root secret, sealed by the enclave.
///
/// `"OSSK" (4) || version (1) || enclave kind (1) || store id (16) || device || sealed root secret`. `device` is nothing
/// in version 1, and in version 2 a byte of length and ``Enclave/device``. All before the secret is part of the context
/// that the enclave seals for. So the whole file is authentic: it opens only with its enclave, and only for its store.
///
/// It is made before the store's database and never replaced.
public struct StoreKeysFile: Sendable {
    public static let name = "store-keys"
    public static let storeIDByteCount = 16

    private static let magic = Data("OSSK".utf8)
    private static let versionWithoutDevice: UInt8 = 1
    private static let versionWithDevice: UInt8 = 2
    private static let deviceByteCounts = 1...64
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

    /// The part before the sealed secret. It is authentic once ``read(openedBy:)`` has opened the file.
    public struct Head: Equatable, Sendable {
        /// The enclave that the store was made in.
        public let enclave: EnclaveKind
        /// ``Enclave/device``.
        public let device: Data
        fileprivate let storeID: Data
        fileprivate let bytes: Data
    }

    /// Which enclave opens the file. Asks no enclave.
    public func head() throws(StoreKeysFileError) -> Head { try parts().head }

    /// The store's keys and the store's identity.
    ///
    /// Blocks as long as the enclave needs to unseal.
    public func read(openedBy enclave: any Enclave) throws(StoreKeysFileError) -> (keys: StoreKeys, storeID: Data) {
        let (head, sealed) = try parts()
        guard head.enclave == enclave.kind else { throw .enclave(.wrongKind) }
        guard head.device == enclave.device else { throw .enclave(.unreadable) }
        let root: RootSecret?
        do throws(EnclaveError) {
            root = RootSecret(
                try enclave.unseal(
                    sealed, authorization: SecretBytes(zeroed: 0), context: Self.label + head.bytes))
        } catch {
            throw .enclave(error)
        }
        guard let root else { throw .unusable(.damaged) }
        return (StoreKeys(root), head.storeID)
    }

    private func parts() throws(StoreKeysFileError) -> (head: Head, sealed: Data) {
        let contents: Data
        do { contents = Data(exposing: try file.read(atMost: Self.maximumByteCount)) } catch {
            throw StoreKeysFileError(error)
        }
        guard contents.starts(with: Self.magic), contents.count > Self.magic.count else { throw .unusable(.damaged) }
        let version = contents[Self.magic.count]
        guard [Self.versionWithoutDevice, Self.versionWithDevice].contains(version) else {
            throw .unusable(.unknownVersion)
        }
        guard contents.count <= Self.maximumByteCount else { throw .unusable(.damaged) }
        var rest = contents.dropFirst(Self.magic.count + 1)
        guard let kind = rest.popFirst().flatMap(EnclaveKind.init(code:)), rest.count >= Self.storeIDByteCount else {
            throw .unusable(.damaged)
        }
        let storeID = Data(rest.prefix(Self.storeIDByteCount))
        rest = rest.dropFirst(Self.storeIDByteCount)
        var device = Data()
        if version == Self.versionWithDevice {
            guard let count = rest.popFirst().map(Int.init), Self.deviceByteCounts.contains(count), rest.count >= count
            else { throw .unusable(.damaged) }
            device = Data(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        let head = Head(
            enclave: kind, device: device, storeID: storeID, bytes: Data(contents.prefix(contents.count - rest.count)))
        return (head, Data(rest))
    }

    /// Writes the file, durably, for a store that has none. An existing file stays, so read afterwards which keys the
    /// store has.
    ///
    /// - Parameter storeID: 16 bytes.
    public func create(
        _ root: borrowing RootSecret, storeID: Data, sealedBy enclave: any Enclave
    ) throws(StoreKeysFileError) {
        precondition(storeID.count == Self.storeIDByteCount, "a store's id has 16 bytes")
        let device = enclave.device
        let hasDevice = !device.isEmpty
        precondition(!hasDevice || Self.deviceByteCounts.contains(device.count), "a device's name is short")
        let head =
            Self.magic + [hasDevice ? Self.versionWithDevice : Self.versionWithoutDevice, enclave.kind.code] + storeID
            + (hasDevice ? Data([UInt8(device.count)]) + device : Data())
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
