import Passcodes
import SecretMemory
import Testing

@Suite struct PasscodePolicyTests {
    private func violation(_ text: String, _ exposure: PasscodeExposure) -> PasscodeViolation? {
        PasscodePolicy(exposure: exposure).violation(of: SecretBytes(text))
    }

    @Test(arguments: ["tr0ub4dor", "correct horse", "żółw żółw", "🐢🐇🐢🐇🐢🐇🐢🐇", "a1b2c3d4", "12345678x", "qwertyuX"])
    func `a passcode that takes guessing is accepted offline`(_ passcode: String) {
        #expect(violation(passcode, .offline) == nil)
        #expect(violation(passcode, .limitedByHardware) == nil)
    }

    @Test(arguments: ["830174", "112358", "tr0ub4"])
    func `six characters suffice only where a chip counts`(_ passcode: String) {
        #expect(violation(passcode, .limitedByHardware) == nil)
        #expect(violation(passcode, .offline) == .tooShort(8))
    }

    @Test(arguments: ["83017426", "٨٣٠١٧٤٢٦", "8301742683017426"])
    func `digits alone are refused offline`(_ passcode: String) {
        #expect(violation(passcode, .offline) == .digitsOnly)
        #expect(violation(passcode, .limitedByHardware) == nil)
    }

    @Test(arguments: ["aaaaaaaa", "AAAAaaaa", "00000000", "ßßßßßßßß", "        "], PasscodeExposure.allCases)
    func `one character repeated is refused`(_ passcode: String, _ exposure: PasscodeExposure) {
        #expect(violation(passcode, exposure) == .oneCharacterRepeated)
    }

    @Test(
        arguments: [
            "abcdefgh", "hgfedcba", "12345678", "87654321", "1234567890", "qwertyui", "QwErTyUi", "poiuytre",
            "asdfghjkl",
            "qwertzuiop", "azertyui", "αβγδεζηθ",
        ], PasscodeExposure.allCases)
    func `a run along alphabet, digits or keyboard is refused`(_ passcode: String, _ exposure: PasscodeExposure) {
        #expect(violation(passcode, exposure) == .sequence)
    }

    @Test(arguments: ["", "a", "aaaaa", "12345", "ééééé"])
    func `fewer than six characters are refused everywhere`(_ passcode: String) {
        #expect(violation(passcode, .offline) == .tooShort(8))
        #expect(violation(passcode, .limitedByHardware) == .tooShort(6))
    }

    @Test func `characters count, not bytes`() {
        #expect(violation("łódźłód", .offline) == .tooShort(8))
    }

    @Test(arguments: ["tr0ub\u{7}4dor", "tr0ub4dor\n", "\u{1B}tr0ub4dor", "tr0ub4dor\u{85}", "tr0ub\u{0}4dor"])
    func `control characters are refused`(_ passcode: String) {
        #expect(violation(passcode, .offline) == .controlCharacter)
    }

    @Test(
        arguments: [
            [0x66, 0xFF, 0x66, 0x6F, 0x6F, 0x62, 0x61, 0x72, 0x21], [0xC3], [0x61, 0x62, 0xE2, 0x98],
            [0xC0, 0x80, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68],
            [0xED, 0xA0, 0x80, 0x61, 0x62, 0x63, 0x64, 0x65],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are refused`(_ bytes: [UInt8]) {
        #expect(PasscodePolicy(exposure: .offline).violation(of: SecretBytes(bytes: bytes)) == .notUTF8)
    }

    @Test func `1024 bytes are accepted and 1025 are not`() {
        let text = String(repeating: "ab", count: 512)
        #expect(violation(text, .offline) == nil)
        #expect(violation(text + "c", .offline) == .tooLong)
    }

    @Test func `each violation has a sentence of its own, without the passcode`() {
        let all: [PasscodeViolation] = [
            .tooShort(8), .tooLong, .notUTF8, .controlCharacter, .digitsOnly, .oneCharacterRepeated, .sequence,
        ]
        #expect(Set(all.map(\.sentence)).count == all.count)
        #expect(all.allSatisfy { $0.sentence.hasSuffix(".") })
        #expect(PasscodeViolation.tooShort(6).sentence.contains("6"))
    }
}
