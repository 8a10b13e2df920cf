import SecretItems

/// Compares attributes by their bytes. Swift's texts are equal when people see the same, and the store tells such texts apart.
enum Attributes {
    /// Whether all of `part` are among `whole`.
    static func are(_ part: [String: String], among whole: [String: String]) -> Bool {
        part.allSatisfy { name, value in
            guard let index = whole.index(forKey: name) else { return false }
            let (otherName, otherValue) = whole[index]
            return otherName.utf8.elementsEqual(name.utf8) && otherValue.utf8.elementsEqual(value.utf8)
        }
    }

    /// Whether both are the same set.
    static func areEqual(_ one: [String: String], _ other: [String: String]) -> Bool {
        one.count == other.count && are(one, among: other)
    }

    /// The item that a new one with these attributes takes the place of: one with the very same attributes, and not one that has further
    /// ones.
    ///
    /// Of several the best protected one, so that a twin which another program made never gets the new secret of an item with a rule: one
    /// for certain programs, then one with a rule, then the one that was changed last.
    ///
    /// - Parameter candidates: items that have at least the attributes.
    static func replaced(by attributes: [String: String], among candidates: [ListedSecret]) -> ListedSecret? {
        // An item whose attributes cannot be seen equals nothing.
        candidates.filter { $0.contents.map { areEqual($0.attributes, attributes) } ?? false }
            .max { rank($0) < rank($1) }
    }

    private static func rank(_ item: ListedSecret) -> (protection: Int, modified: UInt64) {
        (item.isForSomePrograms ? 2 : item.lock == .open ? 0 : 1, item.contents?.modified ?? 0)
    }
}
