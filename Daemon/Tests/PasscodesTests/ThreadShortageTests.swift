import Foundation
import Testing

/// A passcode is stretched without a thread of its own: a refused one made libargon2 use freed memory.
@Suite("Stretching without threads") struct StretchingWithoutThreadsTests {
    @Test func `where the system gives no thread, the key is the same`() throws {
        let vector = try #require(PasscodeStretcherTests.vectors.first)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("lone-stretcher")
        process.arguments = [vector.passcode]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
        #expect(text == vector.key + "\n")
    }
}
