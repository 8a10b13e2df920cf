/// Apple's names of status codes, and words made from them.
enum StatusNames {
    private static let names = Dictionary(uniqueKeysWithValues: table.map { ($0.code, $0.name) })

    /// The name without the prefix `errSec`; nil for a code that is none of Apple's public ones.
    static func name(of status: OSStatus) -> String? { names[status] }

    /// The name of a code as a sentence: `OCSPResponderUnauthorized` becomes `OCSP responder unauthorized.`
    static func sentence(for status: OSStatus) -> String? {
        guard let name = name(of: status) else { return nil }
        let words = words(of: name)
        let rest = words.dropFirst().map { isAcronym($0) ? $0 : $0.lowercased() }
        return (words.prefix(1) + rest).joined(separator: " ") + "."
    }

    /// Splits `InvalidCRLGroup` into `Invalid`, `CRL`, `Group`: a word starts at a capital after a small letter, and at the
    /// last capital of a row of capitals that a small letter follows.
    private static func words(of name: String) -> [String] {
        let letters = Array(name)
        var words: [String] = []
        for (index, letter) in letters.enumerated() {
            let isAfterSmall = index > 0 && !letters[index - 1].isUppercase
            let isBeforeSmall = index > 0 && index + 1 < letters.count && letters[index + 1].isLowercase
            if index == 0 || letter.isUppercase && (isAfterSmall || isBeforeSmall) {
                words.append(String(letter))
            } else {
                words[words.count - 1].append(letter)
            }
        }
        return words
    }

    private static func isAcronym(_ word: String) -> Bool { word.count > 1 && word.allSatisfy { !$0.isLowercase } }
}
