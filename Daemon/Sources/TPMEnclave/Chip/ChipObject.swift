import CTSS2
import Crypto
import Enclave
import Foundation

/// An object that the chip made and wrapped: the two areas as the chip wrote them, each with its size in front.
/// `tpm2_load` takes them as files. Its identity names it in the chip's tables.
final class ChipObject: Sendable {
    let publicArea: Data
    let privateArea: Data
    /// The object below which it lies; nil for the storage key.
    let parent: ChipObject?

    init(publicArea: Data, privateArea: Data, parent: ChipObject? = nil) {
        self.publicArea = publicArea
        self.privateArea = privateArea
        self.parent = parent
    }

    /// The same object as a child of `parent`.
    func placed(below parent: ChipObject) -> ChipObject {
        ChipObject(publicArea: publicArea, privateArea: privateArea, parent: parent)
    }

    /// The object's name: how policies refer to it (TPM 2.0 part 1, "Names").
    var name: Data { Self.name(ofArea: publicArea.dropFirst(2)) }

    static func name(ofArea area: Data) -> Data {
        withUnsafeBytes(of: TPM2_ALG_SHA256.bigEndian) { Data($0) } + Data(SHA256.hash(data: area))
    }

    /// The content of a blob. A blob never opens as another sort.
    enum Content: UInt8 {
        case key = 1
        case secret = 2
        /// A key below the parent that the passcode opens.
        case keyBelowPasscode = 3
        // 4 is a passcode (``ChipPasscode``).
        case attestationKey = 5
    }

    static let version: UInt8 = 1
    private static let headerByteCount = 3

    /// `version (1) || enclave kind (1) || content (1) || [areas of the parent] || public area || private area`.
    func blob(as content: Content) -> Data {
        Self.head(content.rawValue) + (parent.map { $0.publicArea + $0.privateArea } ?? Data()) + publicArea
            + privateArea
    }

    static func head(_ content: UInt8) -> Data { Data([version, EnclaveKind.tpm.code, content]) }

    /// Reads a blob. Only the chip can tell whether it made the areas.
    convenience init(blob: Data, as content: Content) throws(EnclaveError) {
        let rest = try Self.content(of: blob, as: content.rawValue)
        let areas = try Self.areas(in: rest, count: content == .keyBelowPasscode ? 4 : 2)
        self.init(
            publicArea: areas[areas.count - 2], privateArea: areas[areas.count - 1],
            parent: content == .keyBelowPasscode ? ChipObject(publicArea: areas[0], privateArea: areas[1]) : nil)
    }

    /// The bytes behind the header.
    static func content(of blob: Data, as content: UInt8) throws(EnclaveError) -> Data {
        let bytes = Data(blob)
        guard bytes.count > headerByteCount, bytes[0] == version else { throw .unreadable }
        guard let kind = EnclaveKind(code: bytes[1]) else { throw .unreadable }
        guard kind == .tpm else { throw .wrongKind }
        guard bytes[2] == content else { throw .unreadable }
        return Data(bytes.dropFirst(headerByteCount))
    }

    /// Splits `bytes` into areas, each with its two bytes of size, big-endian, in front.
    static func areas(in bytes: Data, count: Int) throws(EnclaveError) -> [Data] {
        var (areas, rest) = ([Data](), Data(bytes))
        for _ in 0..<count {
            guard rest.count >= 2 else { throw .unreadable }
            let byteCount = 2 + (Int(rest[0]) << 8 | Int(rest[1]))
            guard byteCount <= rest.count else { throw .unreadable }
            areas.append(Data(rest.prefix(byteCount)))
            rest = Data(rest.dropFirst(byteCount))
        }
        guard rest.isEmpty else { throw .unreadable }
        return areas
    }

    /// The public area, if it is `template` with a unique field of its own; nil for any other.
    func publicArea(matching template: TPM2B_PUBLIC) -> TPM2B_PUBLIC? {
        guard let area = PublicArea.read(publicArea) else { return nil }
        var expected = template
        expected.publicArea.unique = area.publicArea.unique
        return PublicArea.bytes(expected) == publicArea ? area : nil
    }

    /// The public key, `04 || X || Y`, if the public area is `template` with a unique field of its own; nil for any other.
    func point(matching template: TPM2B_PUBLIC) -> Data? {
        publicArea(matching: template).flatMap { PublicArea.point($0.publicArea.unique.ecc) }
    }
}
