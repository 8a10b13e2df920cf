public import Foundation

/// The data that a person agrees to sign, in a form to check it by.
public struct PromptSignedData: Codable, Equatable, Sendable {
    public enum Form: Codable, Equatable, Sendable {
        /// The whole data, with every hidden character written out.
        case text(DisplayText)
        /// Data that cannot be shown.
        case data(byteCount: Int)
        /// The daemon knows the digest alone.
        case digestOnly
        /// Data for SSH, which the daemon has read.
        case ssh(PromptSSHFacts)
    }

    public let form: Form
    /// The digest that is signed, in groups of four hexadecimal digits.
    public let digest: DisplayText

    /// Data with its SHA-256 digest. It is shown as text if it is UTF-8 without control characters, but for tabs and line
    /// ends, and if all of it fits into ``DisplayText/maximumScalarCount``.
    public init(_ data: Data, digest: Data) {
        form = Self.text(of: data).map(Form.text) ?? .data(byteCount: data.count)
        self.digest = Self.groups(of: digest)
    }

    /// A digest whose data the program keeps for itself.
    public init(digestOnly digest: Data) {
        form = .digestOnly
        self.digest = Self.groups(of: digest)
    }

    /// Data for SSH with its digest.
    public init(_ facts: PromptSSHFacts, digest: Data) {
        form = .ssh(facts)
        self.digest = Self.groups(of: digest)
    }

    private static func text(of data: Data) -> DisplayText? {
        guard !data.isEmpty, data.count <= 4 * DisplayText.maximumScalarCount,
            let text = String(validating: data, as: UTF8.self),
            text.unicodeScalars.allSatisfy({
                ["\t", "\n", "\r"].contains($0) || $0.properties.generalCategory != .control
            })
        else { return nil }
        return DisplayText(wholeFact: text)
    }

    private static func groups(of digest: Data) -> DisplayText {
        let bytes = digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        let groups = stride(from: 0, to: bytes.count, by: 2).map { bytes[$0..<min($0 + 2, bytes.count)].joined() }
        return DisplayText(groups.joined(separator: " "))
    }
}
