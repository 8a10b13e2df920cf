public import Foundation

/// A message of the daemon to a running prompt.
public enum PromptControl: Codable, Equatable, Sendable {
    /// Another text for a sensor of the visible question.
    case update(PromptUpdate)
    /// The answer was wrong, and the same question is put again in the same window. It repeats the question of the request
    /// (``PromptQuestion/isRepetition(of:)``). Only a sheet gets it, and only after ``PromptReply/entered``.
    case again(PromptQuestion)

    /// Largest encoded message.
    public static let maximumByteCount = PromptRequest.maximumByteCount

    /// JSON. Each is one message of a channel that keeps messages apart, so it needs no length.
    public func encoded() throws -> Data {
        let bytes = try JSONEncoder().encode(self)
        guard bytes.count <= Self.maximumByteCount else { throw PromptRequestError.tooLarge }
        return bytes
    }

    /// Reads exactly one message.
    public init(decoding bytes: Data) throws(PromptRequestError) {
        guard bytes.count <= Self.maximumByteCount else { throw .tooLarge }
        do { self = try JSONDecoder().decode(Self.self, from: bytes) } catch { throw .malformed }
    }
}

extension PromptQuestion {
    /// Whether this is the other question once more: for the same factor and object, with the same words of the program and
    /// the same sensors. The mistake in the last try and the sensors' texts may differ.
    public func isRepetition(of other: PromptQuestion) -> Bool {
        kind == other.kind && sensors.map(\.kind) == other.sensors.map(\.kind) && objects == other.objects
            && operation == other.operation && signedData == other.signedData && consequence == other.consequence
            && reason == other.reason && cancelTitle == other.cancelTitle && fallbackTitle == other.fallbackTitle
            && isShownInFull == other.isShownInFull && isUnproved == other.isUnproved
            && isAtTrustedPlace == other.isAtTrustedPlace && terms == other.terms
            && termPlace == other.termPlace && isKept == other.isKept
    }
}
