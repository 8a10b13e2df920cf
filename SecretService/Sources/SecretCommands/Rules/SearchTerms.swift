import SecretItems

/// `ATTR=VALUE…`: the attributes that programs gave the items which are meant.
enum SearchTerms {
    /// - Throws: `usage` for a word that has no name or no value, and for a name that comes twice.
    static func attributes(_ words: [String]) throws(SecretsFailure) -> [String: String] {
        var attributes: [String: String] = [:]
        for word in words {
            let parts = word.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw .usage("\(word.quotedName) is no attribute; write NAME=VALUE, for example service=mail.")
            }
            let (name, value) = (String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self))
            guard attributes.updateValue(value, forKey: name) == nil else {
                throw .usage("The attribute \(name.quotedName) is given twice.")
            }
        }
        return attributes
    }
}
