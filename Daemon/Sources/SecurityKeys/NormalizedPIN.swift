import Foundation
import SecretMemory

extension SecretBytes {
    /// The same text in Unicode's Normalization Form C, in which CTAP 2.1 (6.5.1) has PINs. Bytes that are not UTF-8 stay as
    /// they are.
    ///
    /// One character at a time is in a `String`, never the whole text. A character of ASCII lies in no memory of the heap. Foundation
    /// may copy another one there, and does not wipe it.
    borrowing func inNormalizationFormC() -> SecretBytes {
        // Form C has at most three times the bytes (UAX #15, 14.1).
        var normal = SecretBytes(zeroedForPasscode: 3 * count)
        let end = unsafe withUnsafeBytes { typed in
            unsafe normal.withUnsafeMutableBytes { normal in unsafe Self.normalize(typed, into: normal) }
        }
        guard let end else { return SecretBytes(copying: self) }
        return normal.prefix(end)
    }

    /// - Returns: the end of the written bytes; nil for bytes that are not UTF-8.
    private static func normalize(_ typed: UnsafeRawBufferPointer, into normal: UnsafeMutableRawBufferPointer) -> Int? {
        var (decoder, rest) = unsafe (UTF8(), typed.makeIterator())
        var character = ""
        var end = 0
        while true {
            let scalar: Unicode.Scalar?
            switch unsafe decoder.decode(&rest) {
            case .scalarValue(let next): scalar = next
            case .emptyInput: scalar = nil
            case .error: return nil
            }
            if scalar?.beginsCharacter ?? true {
                for byte in character.inNormalizationFormC.utf8 {
                    guard end < normal.count else { return nil }
                    unsafe normal[end] = byte
                    end += 1
                }
                character = ""
            }
            guard let scalar else { return end }
            character.unicodeScalars.append(scalar)
        }
    }
}

extension Unicode.Scalar {
    /// Whether form C joins it with nothing that stands before it.
    fileprivate var beginsCharacter: Bool {
        // The vowels and final consonants of Hangul join the syllable, although nothing marks them as combining.
        let isRestOfSyllable = (0x1160...0x11FF).contains(value)
        return properties.canonicalCombiningClass == .notReordered && !properties.isGraphemeExtend && !isRestOfSyllable
    }
}

extension String {
    fileprivate var inNormalizationFormC: String { utf8.count <= 1 ? self : precomposedStringWithCanonicalMapping }
}
