public import Foundation

/// The order of two objects.
public enum CFComparisonResult: CFIndex, Sendable {
    case compareLessThan = -1, compareEqualTo, compareGreaterThan

    init(_ order: ComparisonResult) {
        self =
            switch order {
            case .orderedAscending: .compareLessThan
            case .orderedSame: .compareEqualTo
            case .orderedDescending: .compareGreaterThan
            }
    }

    /// The order of two objects if one or both are nil: nil comes first.
    static func ofMissing(_ first: AnyObject?, _ second: AnyObject?) -> CFComparisonResult {
        first == nil ? (second == nil ? .compareEqualTo : .compareLessThan) : .compareGreaterThan
    }
}

/// How ``CFStringCompare(_:_:_:)`` compares.
public struct CFStringCompareFlags: OptionSet, Sendable {
    public let rawValue: CFOptionFlags

    public init(rawValue: CFOptionFlags) { self.rawValue = rawValue }

    public static let compareCaseInsensitive = CFStringCompareFlags(rawValue: 1)
    /// For searching only; without effect here.
    public static let compareBackwards = CFStringCompareFlags(rawValue: 4)
    /// For searching only; without effect here.
    public static let compareAnchored = CFStringCompareFlags(rawValue: 8)
    /// Composed and decomposed characters are the same.
    public static let compareNonliteral = CFStringCompareFlags(rawValue: 16)
    /// By the order of the user's language.
    public static let compareLocalized = CFStringCompareFlags(rawValue: 32)
    /// Digits in the text are numbers.
    public static let compareNumerically = CFStringCompareFlags(rawValue: 64)
    public static let compareDiacriticInsensitive = CFStringCompareFlags(rawValue: 128)
    public static let compareWidthInsensitive = CFStringCompareFlags(rawValue: 256)
    /// Texts that the other flags make equal are still ordered.
    public static let compareForcedOrdering = CFStringCompareFlags(rawValue: 512)

    /// The same for Foundation, which has the numbers of these flags but counts unlike sequences as equal unless told.
    fileprivate var options: NSString.CompareOptions {
        let shared: CFStringCompareFlags = [
            .compareCaseInsensitive, .compareNumerically, .compareDiacriticInsensitive, .compareWidthInsensitive,
            .compareForcedOrdering,
        ]
        let options = NSString.CompareOptions(rawValue: intersection(shared).rawValue)
        return contains(.compareNonliteral) ? options : options.union(.literal)
    }
}

/// The order of two texts; nil comes first.
@discardableResult
public func CFStringCompare(
    _ first: CFString!, _ second: CFString!, _ compareOptions: CFStringCompareFlags
) -> CFComparisonResult {
    guard let first, let second else { return .ofMissing(first, second) }
    let locale = compareOptions.contains(.compareLocalized) ? Locale.current : nil
    let range = NSRange(location: 0, length: first.length)
    let order = first.compare(second as String, options: compareOptions.options, range: range, locale: locale)
    return CFComparisonResult(order)
}
