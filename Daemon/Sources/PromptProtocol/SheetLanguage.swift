/// A language that the sheet speaks. The daemon names one of these; nothing else of a locale reaches the sheet.
public enum SheetLanguage: String, Codable, Equatable, Sendable, CaseIterable {
    case english = "en"
    case german = "de"
    case arabic = "ar"

    /// The language of a locale's name such as `de_AT.UTF-8` (setlocale(3)); nil if the sheet does not speak it.
    public init?(locale: String) {
        self.init(rawValue: String(locale.prefix { !"_.@".contains($0) }))
    }

    public var isRightToLeft: Bool { self == .arabic }
}
