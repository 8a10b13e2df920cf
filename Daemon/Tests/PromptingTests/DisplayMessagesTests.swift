import Testing

@testable import Prompting

/// `Documentation/formats/display.md`, from the daemon's side.
@Suite struct DisplayMessagesTests {
    @Test func `a request has the bytes of the document`() {
        #expect(DisplayMessages.request(.wayland, of: 1234) == [0x44, 1, 0, 0, 0, 0, 0x04, 0xD2, 0, 0])
        #expect(DisplayMessages.request(.x11, ":3", of: 1) == [0x44, 2, 0, 0, 0, 0, 0, 1, 0, 2, 0x3A, 0x33])
    }

    private static let answer: [UInt8] =
        [0x64, 0, 0, 0, 1, 0, 0, 0] + [0, 0, 0, 77, 0, 0, 0x04, 0xD2, 9] + "wayland-0".utf8

    @Test func `an answer has the bytes of the document, and no others`() throws {
        let answer = try #require(DisplayMessages.Answer(decoding: Self.answer))
        #expect(answer.result == .connected && answer.errorNumber == 0)
        #expect(answer.displays == [DisplayMessages.Display(processID: 77, userID: 1234, name: "wayland-0")])
        for count in Self.answer.indices {
            #expect(DisplayMessages.Answer(decoding: Array(Self.answer[..<count])) == nil)
        }
        #expect(DisplayMessages.Answer(decoding: Self.answer + [0]) == nil)
        for (index, value) in [(0, 0x65), (1, 6), (4, 2), (5, 1), (7, 1)] as [(Int, UInt8)] {
            var bytes = Self.answer
            bytes[index] = value
            #expect(DisplayMessages.Answer(decoding: bytes) == nil)
        }
    }
}
