import PromptProtocol
import Testing

@testable import Prompting

@Suite struct SessionLanguageTests {
    @Test(arguments: [
        ([:], SheetLanguage.english), (["LANG": "de_DE.UTF-8"], .german), (["LANG": "fr_FR.UTF-8"], .english),
        (["LANG": "de_DE.UTF-8", "LC_ALL": "ar_EG.UTF-8"], .arabic),
        (["LANG": "de_DE.UTF-8", "LC_MESSAGES": "C"], .english),
        (["LANG": "en_US.UTF-8", "LANGUAGE": "fr:ar:de"], .arabic),
        (["LANG": "C.UTF-8", "LANGUAGE": "de"], .english), (["LANGUAGE": "de"], .english),
        (["LANG": "de_DE.UTF-8", "LANGUAGE": "/tmp/x:../../de"], .german),
        (["LANG": "en_US.UTF-8", "LANGUAGE": "en:de"], .english),
    ]) func `the language is that of the session's locale`(_ variables: [String: String], _ language: SheetLanguage) {
        #expect(SheetLanguage(ofSession: variables) == language)
    }
}
