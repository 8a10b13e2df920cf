import Foundation
import Glibc
import SystemBusTestSupport
import Testing
import UnixSocket

@testable import MessageBus

/// Which program a bus has to be.
@Suite struct BusHostTests {
    @Test(arguments: [
        "/usr/bin/dbus-daemon", "/usr/bin/dbus-broker", "/usr/bin/dbus-broker-launch", "/usr/bin/dbus-daemon (deleted)",
        "/nix/store/x/bin/dbus-daemon",
    ])
    func `a bus's program of root's is one`(path: String) {
        #expect(BusHost.isBus(executed: path, owner: 0, mode: 0o100755))
        #expect(!BusHost.isBus(executed: path, owner: 1000, mode: 0o100755), "a user's")
        for mode: UInt32 in [0o100775, 0o100757, 0o100722] {
            #expect(!BusHost.isBus(executed: path, owner: 0, mode: mode), "others write it")
        }
    }

    @Test(arguments: [
        "/usr/bin/python3", "/usr/lib/systemd/systemd", "/usr/bin/xdg-dbus-proxy", "/usr/bin/dbus-daemon2", "",
        "/usr/bin/dbus-daemon/x", "(deleted)",
    ])
    func `every other program is none`(path: String) {
        #expect(!BusHost.isBus(executed: path, owner: 0, mode: 0o100755))
    }

    @Test func `this process counts as this one does, and a process that is gone does not`() {
        #expect(BusHost.sharesNumbers(getpid()))
        #expect(!BusHost.sharesNumbers(.max))
    }

    @Test func `the end of the bus's process is seen, and not before`() throws {
        let bus = try PrivateBus()
        let connection = try Bus(to: bus.address, acceptsDescriptors: false)
        let host = try BusHost(of: connection)
        #expect(!host.hasEnded(within: .zero))
        _ = try connection.call(BusDriver.name, BusDriver.path, BusDriver.name, "GetId")
        bus.stop()
        #expect(host.hasEnded(within: .seconds(60)))
    }
}

/// The connection for questions to the bus.
@Suite(.timeLimit(.minutes(10))) struct BusInquiryTests {
    @Test func `it is made again after it was lost`() throws {
        let bus = try PrivateBus()
        let inquiry = try BusInquiry(to: "unix:path=\(bus.path)", isLookedAt: true)
        #expect(try inquiry.owner(of: BusDriver.name) == BusDriver.name && inquiry.owner(of: "org.example.No") == nil)
        bus.stop()
        #expect(throws: BusError.self) { try inquiry.owner(of: BusDriver.name) }
        #expect(inquiry.descriptor == -1)
        inquiry.drop()
        try bus.startAnother()
        try bus.publish()
        #expect(try inquiry.owner(of: BusDriver.name) == BusDriver.name && inquiry.descriptor >= 0)
    }

    @Test func `it drops what others send, and gives answers then`() throws {
        let bus = try PrivateBus()
        let inquiry = try BusInquiry(to: bus.address, isLookedAt: true)
        let name = try #require(try bus.name(ofProcess: getpid()))
        for number in 0..<100 { try bus.emit("/a", "org.example.A.Said", ["'\(number)'"], to: name) }
        #expect(try inquiry.owner(of: BusDriver.name) == BusDriver.name)
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            var watched = pollfd(fd: inquiry.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&watched, 1, 0) > 0 else { break }
            inquiry.drop()
        }
        #expect(try inquiry.caller(named: name)?.processID == getpid())
    }
}

/// A process that has no more descriptors.
@Suite struct ShortageTests {
    @Test func `a caller that cannot be held is not taken for one that left`() async {
        await #expect(processExitsWith: .success) {
            let bus = try PrivateBus()
            let example = ServedExample()
            let server = try example.serveByName(on: bus)
            let client = try Bus(on: UnixSocket.connect(to: bus.path))
            _ = try client.call(BusDriver.name, BusDriver.path, BusDriver.name, "GetId")
            _ = try client.send(ServedExample.name, ServedExample.path, ServedExample.interface, "Hold", [])
            while example.held.isEmpty { usleep(1_000) }
            let caller = example.held[0].caller
            // A bus that gives a pidfd itself gave it with the call.
            guard caller.process == nil else { return }
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            while open("/dev/null", O_RDONLY) >= 0 {}
            do throws(BusError) {
                _ = try server.process(of: caller)
                bus.stop()
                exit(2)
            } catch {
                bus.stop()
                exit(error.isShortage && BusFault(error) == .shortOfDescriptors ? 0 : 3)
            }
        }
    }
}
