import CTSS2
import Enclave
import Foundation

/// An object that the chip made and wrapped: the two areas as the chip wrote them, each with its size in front.
/// `tpm2_load` takes them as files. Its identity names it in the chip's tables.
final class ChipObject: Sendable {
    let publicArea: Data
    let privateArea: Data

    init(publicArea: Data, privateArea: Data) {
        self.publicArea = publicArea
        self.privateArea = privateArea
    }

    /// The content of a blob. A blob never opens as another sort.
    enum Content: UInt8 {
        case key = 1
        case secret = 2
    }

    static let version: UInt8 = 1
    private static let headerByteCount = 3

    /// `version (1) || enclave kind (1) || content (1) || public area || private area`.
    func blob(as content: Content) -> Data {
        Data([Self.version, EnclaveKind.tpm.code, content.rawValue]) + publicArea + privateArea
    }

    /// Reads a blob. Only the chip can tell whether it made the areas.
    init(blob: Data, as content: Content) throws(EnclaveError) {
        let bytes = Data(blob)
        guard bytes.count > Self.headerByteCount, bytes[0] == Self.version else { throw .unreadable }
        guard let kind = EnclaveKind(code: bytes[1]) else { throw .unreadable }
        guard kind == .tpm else { throw .wrongKind }
        guard bytes[2] == content.rawValue else { throw .unreadable }
        let areas = Data(bytes.dropFirst(Self.headerByteCount))
        guard let middle = Self.end(ofAreaAt: 0, in: areas), Self.end(ofAreaAt: middle, in: areas) == areas.count else {
            throw .unreadable
        }
        publicArea = Data(areas.prefix(middle))
        privateArea = Data(areas.dropFirst(middle))
    }

    /// Where the area ends whose two bytes of size, big-endian, begin at `start`.
    private static func end(ofAreaAt start: Int, in bytes: Data) -> Int? {
        guard bytes.count >= start + 2 else { return nil }
        let end = start + 2 + (Int(bytes[start]) << 8 | Int(bytes[start + 1]))
        return end <= bytes.count ? end : nil
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
