import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import Synchronization
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The daemon locks when systemd-logind says that the user's session is locked, and for nobody else.
@Suite(.timeLimit(.minutes(10))) struct SessionLockTests {
    private static let session = "c1"
    private static let foreignSession = "c2"
    private let bus: PrivateBus
    private let logind: StandInLogind
    private let daemon: DaemonProcess
    private let stage: Stage
    private let context: UInt64

    /// A daemon that follows a session which is not locked, with an authorized right.
    init() throws {
        bus = try PrivateBus()
        logind = try StandInLogind(on: bus)
        try logind.addSession(Self.session, of: geteuid())
        try logind.addSession(Self.foreignSession, of: geteuid() + 1)
        daemon = try Self.start(in: Stage.folders(), bus.path)
        stage = try Stage(daemon)
        context = try stage.authorizedContext()
        try eventually("the daemon follows session locks") { try stage.sessionLock == .ok }
        #expect(try stage.canSign(in: context))
    }

    private static func start(
        in folders: DaemonFolders, _ systemBus: String, environment: [String] = DaemonStart.environment
    ) throws -> DaemonProcess {
        let options = folders.options(systemBus: systemBus)
        return try DaemonProcess(DaemonStart(in: folders, options: options, environment: environment), in: folders)
    }

    /// How often a session's lock was carried out.
    private func lockCount() throws -> Int {
        try stage.client.log().count { $0.event == "lock" && $0.program == "session lock (systemd-logind)" }
    }

    private func expectLocked() throws {
        #expect(try !stage.canSign(in: context))
        #expect(try stage.client.status().unlocked == false)
        #expect(try stage.client.ask(.readSecret(stage.right, in: context)).refusal == .notAuthorized)
    }

    // MARK: locks

    enum Lock: CaseIterable { case hint, signal, sleep }

    private func lock(_ how: Lock, _ session: String = Self.session) throws {
        switch how {
        case .hint: try logind.setLockedHint(session, true)
        case .signal: try logind.sendLock(session)
        case .sleep: try logind.prepareForSleep(true)
        }
    }

    @Test(arguments: Lock.allCases)
    func `a lock of the user's session ends grants and closes items`(_ how: Lock) throws {
        let item = WireRequest.OneOf_Body.addItem(
            .with {
                $0.itemClass = "genp"
                $0.attributes = [
                    .with { ($0.key, $0.value) = ("acct", .text("alice")) },
                    .with { ($0.key, $0.value) = ("pdmn", .text("ak")) },
                ]
                $0.hasData_p = true
                $0.use.question = .reason("to test")
            })
        let query = WireRequest.OneOf_Body.findItems(
            .with {
                $0.query.itemClass = "genp"
                $0.limit = 1
                $0.returnsData = true
                $0.use.question = .reason("to test")
            })
        #expect(try stage.client.ask(item, tail: Array("data".utf8)).refusal == nil)
        #expect(try stage.client.ask(query).tail == Array("data".utf8))
        try lock(how)
        try eventually("the daemon locks") { try !stage.canSign(in: context) }
        try expectLocked()
        // What an app gets as errSecInteractionNotAllowed.
        #expect(try stage.client.ask(query).refusal == .locked)
        let count = try lockCount()
        #expect(count == 1)
        #expect(try stage.canSign(in: stage.authorizedContext()), "the passcode opens again")
    }

    @Test func `a session that is unlocked unlocks nothing`() throws {
        try lock(.hint)
        try eventually("the daemon locks") { try lockCount() == 1 }
        try logind.setLockedHint(Self.session, false)
        let later = try stage.authorizedContext()
        // Handled after the hint: signals of one sender stay in order.
        try lock(.signal)
        try eventually("the daemon locks again") { try !stage.canSign(in: later) }
        try expectLocked()
    }

    @Test func `a lock while a question is up ends it`() throws {
        let id = try stage.beginAuthorizing(in: context)
        try lock(.hint)
        #expect(try stage.client.answer(to: id).refusal == .systemCancel)
        #expect(stage.terminal.isAsBefore)
        try expectLocked()
    }

    @Test func `a machine that wakes up locks nothing by that`() throws {
        try logind.prepareForSleep(false)
        // Handled after it: signals of one sender stay in order.
        try lock(.sleep)
        try eventually("the daemon locks") { try lockCount() == 1 }
        try expectLocked()
    }

    // MARK: no locks

    @Test func `nobody but logind, and no session but the user's, locks`() throws {
        let path = StandInLogind.path(Self.session)
        let changed = "org.freedesktop.DBus.Properties.PropertiesChanged"
        let values = ["'org.freedesktop.login1.Session'", "{'LockedHint': <true>}", "@as []"]
        let invalidated = ["'org.freedesktop.login1.Session'", "@a{sv} {}", "['LockedHint']"]
        let daemonName = try #require(try bus.name(ofProcess: daemon.processID))
        for destination in [nil, daemonName] as [String?] {
            try bus.emit(path, "org.freedesktop.login1.Session.Lock", to: destination)
            try bus.emit(
                "/org/freedesktop/login1", "org.freedesktop.login1.Manager.PrepareForSleep", ["true"], to: destination)
            try bus.emit(path, changed, values, to: destination)
            try bus.emit(path, changed, invalidated, to: destination)
            // Who says that logind is another one now is not the bus.
            try bus.emit(
                "/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged",
                ["'org.freedesktop.login1'", "':1.1'", "':1.999'"], to: destination)
        }
        // A machine that sleeps is no matter of sessions: it locks for everybody.
        for how in Lock.allCases where how != .sleep { try lock(how, Self.foreignSession) }
        try logind.setLockedHint(Self.session, false)
        #expect(try stage.canSign(in: context))
        // Everything above reached the daemon before this, which is the first to lock.
        try lock(.signal)
        try eventually("the daemon locks") { try !stage.canSign(in: context) }
        let count = try lockCount()
        #expect(count == 1)
    }

    // MARK: what comes and goes

    @Test func `a logind that restarts is followed again`() throws {
        logind.stop()
        try eventually("logind is gone") { try stage.sessionLock == .notice }
        #expect(try stage.canSign(in: context))
        let next = try StandInLogind(on: bus)
        try next.addSession(Self.session, of: geteuid())
        try eventually("the daemon follows session locks") { try stage.sessionLock == .ok }
        #expect(try stage.canSign(in: context))
        try next.sendLock(Self.session)
        try eventually("the daemon locks") { try !stage.canSign(in: context) }
    }

    @Test func `a lock while the bus was gone is found when it is back`() throws {
        bus.stop()
        try eventually("the bus is gone") { try stage.sessionLock == .notice }
        #expect(try stage.canSign(in: context))
        try bus.startAnother()
        let next = try StandInLogind(on: bus)
        try next.addSession(Self.session, of: geteuid())
        try next.setLockedHint(Self.session, true)
        #expect(try stage.canSign(in: context))
        try bus.publish()
        try eventually("the daemon locks") { try !stage.canSign(in: context) }
        try eventually("the daemon follows session locks") { try stage.sessionLock == .ok }
        let count = try lockCount()
        #expect(count == 1)
    }

    @Test func `a session that is locked when the daemon starts locks`() throws {
        try logind.setLockedHint(Self.session, true)
        let other = try Stage(Self.start(in: Stage.folders(), bus.path))
        try eventually("the daemon locks") {
            try other.client.log().contains { $0.program == "session lock (systemd-logind)" }
        }
    }
}

/// A daemon where session locks cannot be followed.
@Suite(.timeLimit(.minutes(10))) struct MissingBusTests {
    private static func start(
        _ systemBus: String, environment: [String] = DaemonStart.environment
    ) throws -> DaemonProcess {
        let folders = try Stage.folders()
        let options = folders.options(systemBus: systemBus)
        return try DaemonProcess(DaemonStart(in: folders, options: options, environment: environment), in: folders)
    }

    @Test func `without a bus everything else works, and the doctor says so`() throws {
        let stage = try Stage(Self.start("/nowhere/system_bus_socket"))
        #expect(try stage.sessionLock == .notice)
        #expect(try stage.canSign(in: stage.authorizedContext()))
        #expect(stage.daemon.stop() == .exited(0))
    }

    @Test func `a bus that never answers delays neither start nor end`() throws {
        let folder = try TestFolder()
        let silent = try UnixSocket.listen(at: folder.path("bus"))
        let stage = try Stage(Self.start(folder.path("bus")))
        let connection = try silent.accept()
        #expect(try stage.sessionLock == .notice)
        #expect(try stage.canSign(in: stage.authorizedContext()))
        #expect(stage.daemon.stop() == .exited(0))
        withExtendedLifetime(connection) {}
    }

    @Test func `a peer that speaks no D-Bus is left, and the doctor says so`() throws {
        let folder = try TestFolder()
        let listener = try UnixSocket.listen(at: folder.path("bus"))
        defer { listener.shutdown() }
        let connections = Mutex(0)
        // The doctor's other checks ask the same bus, and would wait for one that is silent.
        let peer = Thread {
            while let connection = try? listener.accept() {
                connections.withLock { $0 += 1 }
                _ = try? Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8).withUnsafeBytes { try connection.send($0) }
                connection.shutdown()
            }
        }
        peer.start()
        let stage = try Stage(Self.start(folder.path("bus")))
        try eventually("the bus is asked") { connections.withLock { $0 } > 0 }
        try eventually("the doctor knows") { try stage.sessionLock == .notice }
        #expect(try stage.canSign(in: stage.authorizedContext()))
        let asked = connections.withLock { $0 }
        try eventually("it is tried again") { connections.withLock { $0 } > asked }
    }

    @Test func `no variable of the environment names the bus`() throws {
        let bus = try PrivateBus()
        let logind = try StandInLogind(on: bus)
        try logind.addSession("c1", of: geteuid())
        let stage = try Stage(Self.start("/nowhere/system_bus_socket", environment: bus.environment))
        #expect(try bus.name(ofProcess: stage.daemon.processID) == nil)
        #expect(try stage.sessionLock == .notice)
    }
}

extension Stage {
    /// What the doctor finds about locks of the session.
    fileprivate var sessionLock: WireFinding.Verdict? {
        get throws {
            guard case .diagnosis(let diagnosis)? = try client.ask(.diagnose(WireDiagnoseRequest())).body else {
                return nil
            }
            return diagnosis.findings.first { $0.check == "session lock" }?.verdict
        }
    }
}
