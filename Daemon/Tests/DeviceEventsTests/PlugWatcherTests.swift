import DeviceTestSupport
import Glibc
import StoreTestSupport
import TerminalTestSupport
import Testing

/// What is told of devices, with the real libsystemd and the real kernel. udev is played.
@Suite(.timeLimit(.minutes(10)), .enabled(if: PlayedUdev.isPossible, "only root can play udev in a namespace"))
struct PlugWatcherTests {
    private func listener(rest: Int = 300, longest: Int = 60_000) throws -> PlugListener {
        let listener = try PlugListener(rest: rest, longest: longest)
        try listener.waitUntilListening()
        return listener
    }

    @Test(arguments: ["add", "remove"]) func `a device that is plugged in or out is told`(action: String) throws {
        let listener = try listener()
        try listener.announce(.init(action))
        try listener.waitFor("plugged")
        #expect(listener.tellingCount() == 1)
        // And the next one, too.
        try listener.announce(.init(action))
        try eventually("it is told again") { listener.tellingCount(waitMilliseconds: 10) == 2 }
    }

    @Test func `devices that come and go together are told once`() throws {
        let listener = try listener()
        try listener.announce(.init("add"), count: 50)
        try listener.waitFor("plugged")
        #expect(listener.tellingCount() == 1)
    }

    @Test func `devices that come and go without end are told in between`() throws {
        let listener = try listener(rest: 1_000, longest: 1_500)
        // For four seconds, and never a second of rest.
        try listener.announce(.init("add"), count: 40, pause: 0.1)
        #expect(listener.tellingCount(waitMilliseconds: 0) >= 1)
    }

    @Test(arguments: [
        PlayedUdev.Announcement("change"), .init("bind"), .init("add", subsystem: "block", deviceType: "disk"),
        .init("add", deviceType: "usb_interface"), .init("add", subsystem: "hidraw"),
    ])
    func `nothing else is told`(announcement: PlayedUdev.Announcement) throws {
        let listener = try listener()
        try listener.announce(announcement, count: 3)
        #expect(listener.tellingCount() == 0)
        try listener.announce(.init("remove"))
        try listener.waitFor("plugged")
    }
}

/// A process that may not listen.
@Suite(.timeLimit(.minutes(10))) struct ForbiddenListeningTests {
    @Test(.enabled(if: TestProgram.isInstalled("strace"), "strace is not installed"))
    func `a process without netlink is told so at the start`() throws {
        let forbidding = ["-f", "-o", "/dev/null", "-e", "trace=socket", "-e", "inject=socket:error=EAFNOSUPPORT"]
        let listener = try PlugListener(under: ["/usr/bin/strace"] + forbidding)
        try listener.waitFor("refused: sd_device_monitor_new: \(String(cString: strerror(EAFNOSUPPORT)))")
        #expect(listener.ending == .exited(1))
    }
}
