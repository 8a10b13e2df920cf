import PromptProgram
import SecretMemory
import Testing

@Suite struct EditedSecretTests {
    private static func text(_ secret: inout EditedSecret) -> String {
        secret.take().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @discardableResult
    private static func insert(_ text: String, before index: Int, into secret: inout EditedSecret) -> Int? {
        Array(text.utf8).withUnsafeBytes { secret.insert($0, before: index) }
    }

    @Test func `random edits give the text that the same edits of a list of characters give`() {
        var random = SystemRandomNumberGenerator()
        let pieces = ["a", "żó", "€", "😀x", "", "e\u{301}"]
        for _ in 0..<200 {
            var secret = EditedSecret(capacity: 1024)
            var model: [Unicode.Scalar] = []
            for _ in 0..<30 {
                if Bool.random(using: &random) {
                    let piece = pieces.randomElement(using: &random)!
                    let index = Int.random(in: 0...model.count, using: &random)
                    #expect(Self.insert(piece, before: index, into: &secret) == piece.unicodeScalars.count)
                    model.insert(contentsOf: piece.unicodeScalars, at: index)
                } else {
                    let start = Int.random(in: 0...model.count, using: &random)
                    let end = Int.random(in: start...model.count, using: &random)
                    secret.remove(start..<end)
                    model.removeSubrange(start..<end)
                }
                #expect(secret.count == model.reduce(0) { $0 + String($1).utf8.count })
            }
            #expect(Self.text(&secret) == String(String.UnicodeScalarView(model)))
            #expect(secret.count == 0)
        }
    }

    @Test func `places behind the end are the end`() {
        var secret = EditedSecret(capacity: 8)
        Self.insert("ab", before: 7, into: &secret)
        secret.remove(5..<9)
        secret.remove(1..<Int.max)
        Self.insert("c", before: .max, into: &secret)
        #expect(Self.text(&secret) == "ac")
    }

    @Test func `what does not fit is not cut`() {
        var secret = EditedSecret(capacity: 4)
        #expect(Self.insert("abc", before: 0, into: &secret) == 3)
        #expect(Self.insert("ż", before: 1, into: &secret) == nil)
        #expect(Self.insert("d", before: 3, into: &secret) == 1)
        #expect(Self.insert("e", before: 4, into: &secret) == nil)
        #expect(Self.text(&secret) == "abcd")
    }
}
