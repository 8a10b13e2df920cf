import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The doctor says how people are asked, and why not.
@Suite(.timeLimit(.minutes(10))) struct FrontEndDiagnosisTests {
    private func findings(
        _ configurationText: String, systemBus: String? = nil
    ) throws -> (display: WireFinding, asking: WireFinding) {
        let folders = try DaemonFolders(configurationText: configurationText)
        let options = systemBus.map { folders.options(systemBus: $0) } ?? folders.options
        let daemon = try DaemonProcess(DaemonStart(in: folders, options: options), in: folders)
        guard case .diagnosis(let diagnosis)? = try daemon.client().ask(.diagnose(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        func finding(_ check: String) throws -> WireFinding {
            try #require(diagnosis.findings.first { $0.check == check })
        }
        return (try finding("display"), try finding("asking"))
    }

    @Test func `a display that does not answer is named, and nobody without a terminal can be asked`() throws {
        let found = try findings("prompt.display = :9999\n")
        #expect(found.display.verdict == .notice)
        #expect(found.display.message == "There is no display for the sheet: it does not answer.")
        #expect(found.asking.verdict == .notice)
        #expect(
            found.asking.message
                == "Tried in this order: terminal, pinentry, sheet. A program without a terminal cannot ask.")
    }

    @Test func `a display that answers is named, and the sheet is what a program without a terminal gets`() throws {
        let folder = "/tmp/.X11-unix"
        _ = (mkdir(folder, 0o777), chmod(folder, 0o1777))
        let display = Int.random(in: 10_000...59_999)
        let socket = "\(folder)/X\(display)"
        let server = try UnixSocket.listen(at: socket)
        defer { unlink(socket) }
        let found = try findings("prompt.front-ends = sheet, terminal\nprompt.display = :\(display)\n")
        #expect(found.display.verdict == .ok && found.asking.verdict == .ok)
        #expect(found.display.message == "The sheet is drawn on the X display :\(display).")
        #expect(
            found.asking.message
                == "Tried in this order: sheet, terminal. A program without a terminal asks in a sheet.")
        withExtendedLifetime(server) {}
    }

    @Test func `a pinentry with a display is what a program without a terminal gets, if it comes first`() throws {
        let found = try findings("prompt.pinentry = /usr/bin/pinentry-tty\nprompt.display = :9999\n")
        #expect(found.asking.verdict == .ok)
        #expect(found.asking.message.hasSuffix("A program without a terminal asks in the pinentry."))
    }

    @Test func `the session is looked for on the daemon's own system bus`() throws {
        let bus = try PrivateBus()
        #expect(
            try findings("", systemBus: bus.path).display.message
                == "There is no display for the sheet: you have no active session at this machine.")
        let logind = try StandInLogind(on: bus)
        try logind.addSession("1", of: geteuid())
        // There is a session now, and no user manager that knows its display.
        #expect(
            try findings("", systemBus: bus.path).display.message
                == "There is no display for the sheet: neither ostiaryd.conf nor the desktop session names one.")
    }
}
