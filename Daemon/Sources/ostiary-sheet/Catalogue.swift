import CGTK4
import Foundation
import PromptProgram
import PromptProtocol

/// The sheet's phrases in the person's language, through gettext.
///
/// The daemon chooses the language among those that the sheet speaks, and gives it as `LANGUAGE`. The folder of the catalogues is
/// fixed: it belongs to the same installation as this program, and no variable names another one.
enum Catalogue {
    private static let domain = "ostiary-sheet"
    /// From the folder of this program, `PREFIX/libexec/ostiary`.
    private static let folder = "../../share/ostiary/locale"

    /// The phrases of a language. A catalogue that is missing leaves them English.
    static func phrases(in language: SheetLanguage) -> PhraseBook {
        guard language != .english,
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        else { return .english }
        bindtextdomain(domain, (program as NSString).deletingLastPathComponent + "/" + folder)
        bind_textdomain_codeset(domain, "UTF-8")
        return PhraseBook { phrase in
            // An empty phrase stands for the catalogue's header.
            guard !phrase.isEmpty else { return nil }
            return phrase.withCString { phrase in
                let found = dgettext(domain, phrase)!
                return UnsafePointer(found) == phrase ? nil : String(cString: found)
            }
        }
    }
}
