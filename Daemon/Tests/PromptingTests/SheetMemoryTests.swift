import Foundation
import Glibc
import PromptProtocol
import TerminalTestSupport
import Testing

extension RealPromptTests {
    /// The typed text in the memory of the real sheet, on a real X server.
    @Suite(.enabled(if: geteuid() == 0, "only root can read the memory of a process that cannot be dumped"))
    struct SheetMemoryTests {
        private let stage: SheetStage

        init() throws { stage = try SheetStage() }

        private static let marker = "vq7Zt4hNw9Kd3xWp2sJ8y"
        /// The whole text in locked memory, and not even a part of it anywhere else.
        private static let lockedAlone = ["locked whole"]

        @Test func `the typed text lies in locked memory alone, and nowhere when it is deleted`() throws {
            let asking = try stage.ask()
            let sheet = try typeMarker()
            #expect(try places(in: sheet) == Self.lockedAlone)
            try stage.server.press("ctrl+a", "BackSpace")
            try eventually("the text is deleted") { try places(in: sheet).isEmpty }
            try stage.server.type("x")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("x", .passcode))
        }

        @Test func `a text that is shown to the person lies in locked memory alone`() throws {
            let asking = try stage.ask()
            let sheet = try typeMarker()
            let hidden = try stage.server.screen()
            for key in ["Tab", "space"] { try stage.server.press(key) }
            try eventually("the text is shown") {
                try stage.server.sheetWindow().height > 0 && stage.server.screen() != hidden
            }
            sleep(1)
            #expect(try places(in: sheet) == Self.lockedAlone)
            try stage.server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `after Enter the text is sent and is nowhere, while the window waits and when it asks again`() throws
        {
            let asking = try stage.ask(holdingSheet: true)
            let sheet = try typeMarker()
            try stage.server.press("Return")
            #expect(asking.wait() == .entered(Self.marker, .passcode))
            try eventually("the text is wiped") { try places(in: sheet).isEmpty }
            let again = try stage.askAgain(asking)
            try stage.server.type("other")
            try eventually("the person types again") { try places(in: sheet).isEmpty }
            try stage.server.press("Return")
            #expect(again.wait() == .entered("other", .passcode))
        }

        /// Types the marker; the sheet's process, when it has all characters.
        private func typeMarker() throws -> pid_t {
            let sheet = try #require(runningPrompts(named: "ostiary-sheet").first)
            try stage.server.type(Self.marker)
            try eventually("all characters are typed") { try places(in: sheet).contains("locked whole") }
            return sheet
        }

        /// Stops a process, and waits until it stands still.
        private func pause(_ processID: pid_t) throws {
            kill(processID, SIGSTOP)
            try eventually("it stands still") {
                try String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8).contains(") T ")
            }
        }

        /// Where the marker, or at least eight of its characters in a row, lies in the memory that a process can write.
        private func places(in processID: pid_t) throws -> [String] {
            let output = Pipe()
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
            process.arguments = ["-c", Self.program, "\(processID)", Self.marker]
            process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
            return Set(text.split(separator: "\n").map(String.init)).sorted()
        }

        private static let program = """
            import sys
            process, marker = sys.argv[1:]
            # Of eight characters in a row, one of these six is a part.
            parts = [marker[i:i + 6] for i in range(0, len(marker) - 5, 3)]
            def mappings():
                for line in open(f'/proc/{process}/smaps'):
                    words = line.split()
                    if not words[0].endswith(':'):
                        begin, end = (int(number, 16) for number in words[0].split('-'))
                        access, isOfFile = words[1], words[4] != '0'
                    elif words[0] == 'VmFlags:' and access[0] == 'r' and (access[1] == 'w' or not isOfFile):
                        yield begin, end, 'locked' if 'lo' in words else 'plain'
            def contents(begin, end):
                read = bytearray()
                try:
                    memory.seek(begin)
                    while piece := memory.read(end - begin - len(read)): read += piece
                except (OSError, OverflowError): pass # The kernel's own pages.
                return read
            with open(f'/proc/{process}/mem', 'rb', 0) as memory:
                for begin, end, kind in mappings():
                    read = contents(begin, end)
                    for code in ('utf-8', 'utf-16-le', 'utf-32-le'):
                        if marker.encode(code) in read: print(kind, 'whole')
                        elif any(part.encode(code) in read for part in parts): print(kind, 'part')
            """
    }
}
