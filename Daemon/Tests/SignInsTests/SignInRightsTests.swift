import HelperProcesses
import Owners
import ProcessFacts
import Prompting
import TerminalTestSupport
import Testing
import UnixSocket

@testable import SignIns

/// Who may ask for whom, and where a sensor may wait.
struct SignInRightsTests {
    private static let users = SignInUsers(
        peer: { try $0.peerCredentials() },
        named: { name in [SignInStage.ada, SignInStage.eve].first { $0.name == name } },
        numbered: { id in [SignInStage.ada, SignInStage.eve].first { $0.id == id } })

    private func rights(of userID: UInt32) -> SignInRights { SignInRights(userID: userID, users: Self.users) }

    @Test func `root asks about everybody, a user about themselves`() {
        #expect(rights(of: 0).subject(named: "ada") == SignInStage.ada)
        #expect(rights(of: SignInStage.ada.id).subject(named: "ada") == SignInStage.ada)
        #expect(rights(of: SignInStage.ada.id).subject(named: "eve") == nil)
        #expect(rights(of: SignInStage.ada.id).subject(named: "nobody-here") == nil)
        #expect(rights(of: 77).subject(named: "ada") == nil)
        #expect(rights(of: 0).subject(named: "nobody-here") == nil)
    }

    @Test func `a user's question looks no other name up`() {
        let strict = SignInUsers(
            peer: { try $0.peerCredentials() },
            named: { name in
                Issue.record("\(name) was looked up")
                return nil
            }, numbered: Self.users.numbered)
        #expect(SignInRights(userID: SignInStage.ada.id, users: strict).subject(named: "eve") == nil)
    }

    @Test func `root alone opens stores and tells of changes`() {
        #expect(rights(of: 0).owner(named: "ada") == SignInStage.ada)
        #expect(rights(of: SignInStage.ada.id).owner(named: "ada") == nil)
    }

    /// Below `hidepid` the helper alone may tell whose login began a job of cron. A login that is not told is no login of the machine.
    @Test(
        arguments: [
            ("0::/user.slice/user-1000.slice/session-2.scope\n", .failure(.refused), 1000),
            ("0::/system.slice/cron.service\n", .success(1000), 1000),
            ("0::/system.slice/ssh.service\n", .success(nil), nil),
            ("0::/system.slice/cron.service\n", .failure(.refused), SignInUsers.unknown),
            ("0::/system.slice/cron.service\n", .failure(.absent), SignInUsers.unknown),
            ("0::/system.slice/cron.service\n", .failure(.unreadable), SignInUsers.unknown),
        ] as [(String, Result<UInt32?, FactFailure>, UInt32?)])
    func `a program of root's belongs to the user below whose slice or from whose login it runs`(
        groups: String, login: Result<UInt32?, FactFailure>, userID: UInt32?
    ) throws {
        #expect(try behind(groups, login) == userID)
    }

    /// No login begins what a system service runs under the account of a user (`User=`). Its `su` keeps the real user, and its `sudo` the
    /// real group alone.
    @Test(
        arguments: [
            (.success(1000), .success(1000), 1000), (.success(1000), .success(0), 1000),
            (.success(0), .success(1000), SignInUsers.unknown),
            (.failure(.refused), .success(0), SignInUsers.unknown),
            (.success(0), .failure(.refused), SignInUsers.unknown),
        ] as [(Result<UInt32, FactFailure>, Result<UInt32, FactFailure>, UInt32)])
    func `su and sudo in a system service of a user's are no programs of the machine`(
        user: Result<UInt32, FactFailure>, group: Result<UInt32, FactFailure>, userID: UInt32
    ) throws {
        let groups = "0::/system.slice/system-syncthing.slice/syncthing@ada.service\n"
        #expect(try behind(groups, .success(nil), realUser: user, realGroup: group) == userID)
    }

    /// The user behind a program of root's.
    private func behind(
        _ groups: String, _ login: Result<UInt32?, FactFailure>,
        realUser: Result<UInt32, FactFailure> = .success(0), realGroup: Result<UInt32, FactFailure> = .success(0)
    ) throws -> UInt32? {
        var facts = PlayedFacts()
        let status = ProcessStatus(parsing: Array(("7 (su) S 1 7 7 0 -1" + String(repeating: " 0", count: 40)).utf8))
        facts.processes[7] = .success(
            PlayedProcess(7) {
                $0.controlGroups = .success(groups)
                $0.loginUserID = login
                ($0.realUserID, $0.realGroupID) = (realUser, realGroup)
                if let status { $0.status = .success(status) }
            })
        let ends = try ChannelEnds()
        let peer = PeerCredentials(processID: 7, userID: 0, groupID: 0)
        return Self.users.behind(UnixSocket(owning: ends.daemon), peer, facts)
    }

    // MARK: typed secrets of users

    @Test func `a user's programs have three tries in a row, together`() {
        let tries = TypedTries()
        #expect(!tries.hold(for: 1, after: 3))
        #expect(tries.hold(for: 1, after: 1))
        #expect(tries.hold(for: 1, after: 1))
        #expect(!tries.hold(for: 1, after: 1), "two are under way, and one was wrong")
        #expect(tries.hold(for: 2, after: 2), "those of another user are others")
        tries.release(for: 1)
        #expect(tries.hold(for: 1, after: 1))
    }

    @Test func `root's programs have four tries in a row, with those of the user's programs`() {
        let tries = TypedTries()
        #expect(tries.hold(for: 1, after: 1))
        #expect(tries.hold(for: 1, after: 1, limit: SignInLimits.triesOfAll))
        #expect(tries.hold(for: 1, after: 1, limit: SignInLimits.triesOfAll))
        #expect(!tries.hold(for: 1, after: 1, limit: SignInLimits.triesOfAll), "three are under way, one was wrong")
        #expect(!tries.hold(for: 1, after: 1))
        #expect(tries.hold(for: 2, after: 3, limit: SignInLimits.triesOfAll))
        #expect(!tries.hold(for: 3, after: 4, limit: SignInLimits.triesOfAll))
    }

    @Test func `a question of root's program holds no try, and its answer does`() {
        let tries = TypedTries()
        let (first, second) = (HeldTry(tries, for: 1, limit: 4) { 3 }, HeldTry(tries, for: 1, limit: 4) { 3 })
        #expect(first.isLeft() && second.isLeft())
        #expect(first.renew())
        #expect(!second.renew(), "the other answer is not checked yet")
        #expect(second.isLeft())
        #expect(first.isLeft(), "it lets go of the try that was checked")
        #expect(second.renew())
        #expect(!HeldTry(tries, for: 1, limit: 4) { 4 }.isLeft())
        #expect(!HeldTry(tries, for: 1, limit: 4) { nil }.isLeft(), "nobody can tell the count")
    }

    @Test func `a program holds one try from its question to the next one`() {
        let tries = TypedTries()
        var held: HeldTry? = HeldTry(tries, for: 1) { 2 }
        #expect(held?.renew() == true)
        #expect(held?.renew() == true)
        #expect(HeldTry(tries, for: 1) { 2 }.renew() == false)
        held = nil
        #expect(HeldTry(tries, for: 1) { 2 }.renew())
        #expect(!HeldTry(tries, for: 1) { nil }.renew(), "nobody can tell the count")
    }

    // MARK: places

    private func peers(_ count: Int, _ userID: UInt32, process: Int32? = nil) -> [PeerCredentials] {
        (0..<count).map { PeerCredentials(processID: process ?? Int32($0), userID: userID, groupID: 0) }
    }

    @Test func `users leave places to root`() {
        let one = PeerCredentials(processID: 9_999, userID: 5, groupID: 0)
        let root = PeerCredentials(processID: 1, userID: 0, groupID: 0)
        #expect(SignInServer.hasPlace(for: one, among: peers(15, 5)))
        #expect(!SignInServer.hasPlace(for: one, among: peers(16, 5)))
        #expect(!SignInServer.hasPlace(for: one, among: peers(8, 5, process: 9_999)))
        let many = (0..<6).flatMap { peers(16, 100 + UInt32($0)) }
        #expect(!SignInServer.hasPlace(for: one, among: many))
        #expect(SignInServer.hasPlace(for: root, among: many))
        #expect(!SignInServer.hasPlace(for: root, among: many + peers(32, 0)))
    }

    // MARK: sensors

    private struct Greeter: SessionRecords {
        var isAlone = false
        func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? { .withoutSession }
        func isAtMachine(_ userID: UInt32) -> Bool { false }
        func isOfShownGreeter(_ processID: Int32) -> Bool { processID == 7 }
        func isGreeterAlone() -> Bool { isAlone }
    }

    private final class Process: HeldProcess {
        let id: Int32 = 7
        private let terminal: Int32
        private let groups: String?
        init(onTerminal terminal: Int32, in groups: String? = "0::/system.slice/getty@tty2.service\n") {
            (self.terminal, self.groups) = (terminal, groups)
        }

        func status() throws(FactFailure) -> ProcessStatus {
            let fields = "7 (login) S 1 7 7 \(terminal) 7" + String(repeating: " 0", count: 40)
            guard let status = ProcessStatus(parsing: Array(fields.utf8)) else { throw .unreadable }
            return status
        }
        func executable() throws(FactFailure) -> ExecutedFile { throw .unreadable }
        func executes(_ file: ExecutedFile, wholly: Bool) throws(FactFailure) -> Bool { throw .unreadable }
        func name(of file: ExecutedFile) throws(FactFailure) -> ExecutedName { throw .unreadable }
        func content() throws(FactFailure) -> ExecutedContent { throw .unreadable }
        func isInOwnNamespace() throws(FactFailure) -> Bool { true }
        func isInOwnUserNamespace() throws(FactFailure) -> Bool { true }
        func userID() throws(FactFailure) -> UInt32 { 0 }
        func realUserID() throws(FactFailure) -> UInt32 { throw .unreadable }
        func realGroupID() throws(FactFailure) -> UInt32 { throw .unreadable }
        func loginUserID() throws(FactFailure) -> UInt32? { throw .unreadable }
        func controlGroups() throws(FactFailure) -> String {
            guard let groups else { throw .unreadable }
            return groups
        }
        func exit() throws(FactFailure) -> SharedDescriptor { throw .unreadable }
    }

    private let seat = SignInSeat(sessions: Greeter(), facts: KernelFacts(), shownConsole: { 4 << 8 | 2 })

    private func refusal(
        _ usual: SensorRefusal?, processID: Int32 = 7, onTerminal terminal: Int32 = 0, isAdministrator: Bool = true
    ) -> SensorRefusal? {
        seat.refusal(
            usually: usual, processID: processID, Process(onTerminal: terminal), isAdministrator: isAdministrator)
    }

    @Test func `a login has a sensor on the console that is shown, and for the greeter that is shown`() {
        #expect(refusal(.withoutSession, onTerminal: 4 << 8 | 2) == nil)
        #expect(refusal(.withoutSession, onTerminal: 4 << 8 | 3) == .withoutSession)
        #expect(refusal(.withoutSession, onTerminal: 136 << 8) == .withoutSession, "a pseudoterminal")
        #expect(refusal(.withoutSession) == nil)
        #expect(refusal(.withoutSession, processID: 8) == .withoutSession)
        #expect(refusal(.withoutSession, isAdministrator: false) == .withoutSession)
        #expect(
            seat.refusal(usually: .withoutSession, processID: 7, nil, isAdministrator: true) == .withoutSession,
            "the process has ended")
    }

    @Test(
        arguments: [
            "0::/user.slice/user-1002.slice/session-2.scope\n",
            "0::/user.slice/user-1002.slice/user@1002.service/app.slice/a.service\n", "0::/\n", nil,
        ] as [String?])
    func `su on the shown console has no sensor of the user whom it asks for`(groups: String?) {
        let refusal = seat.refusal(
            usually: .withoutSession, processID: 7, Process(onTerminal: 4 << 8 | 2, in: groups), isAdministrator: true)
        #expect(refusal == .withoutSession)
    }

    @Test func `in a locked session the user's own locker has a sensor, and root's program has none`() {
        #expect(refusal(.sessionLocked, isAdministrator: false) == nil)
        #expect(refusal(.sessionLocked) == .sessionLocked)
    }

    // MARK: display managers

    /// A process without a terminal.
    private func worker(
        in groups: String, executing path: String = "/usr/sbin/lightdm", isTrue: Bool = true
    ) throws -> PlayedProcess {
        let text = "9 (worker) S 1 9 9 0 -1" + String(repeating: " 0", count: 40)
        let status = try #require(ProcessStatus(parsing: Array(text.utf8)))
        return PlayedProcess(9) {
            $0.controlGroups = .success(groups)
            $0.name = .success(ExecutedName(path: path, isTrue: isTrue))
            $0.status = .success(status)
        }
    }

    /// - Parameter isAlone: whether the machine shows nothing but a greeter; false also when logind does not tell.
    private func refusal(
        _ usual: SensorRefusal?, to worker: PlayedProcess, whileGreeterIsAlone isAlone: Bool,
        isAdministrator: Bool = true
    ) -> SensorRefusal? {
        SignInSeat(sessions: Greeter(isAlone: isAlone), facts: KernelFacts(), shownConsole: { nil })
            .refusal(usually: usual, processID: 9, worker, isAdministrator: isAdministrator)
    }

    @Test(arguments: ["gdm", "gdm3", "greetd", "lightdm", "sddm"])
    func `a display manager has a sensor while nothing but its greeter is shown`(name: String) throws {
        let worker = try worker(in: "0::/system.slice/\(name).service\n")
        #expect(refusal(.withoutSession, to: worker, whileGreeterIsAlone: true) == nil)
        #expect(refusal(.withoutSession, to: worker, whileGreeterIsAlone: false) == .withoutSession)
        #expect(
            refusal(.withoutSession, to: worker, whileGreeterIsAlone: true, isAdministrator: false)
                == .withoutSession)
        #expect(refusal(.unknownSession, to: worker, whileGreeterIsAlone: true) == .unknownSession)
        worker.change { $0.controlGroups = .failure(.refused) }
        #expect(refusal(.withoutSession, to: worker, whileGreeterIsAlone: true) == .withoutSession)
    }

    @Test(
        arguments: [
            "0::/system.slice/ssh.service\n", "0::/system.slice/cron.service\n", "0::/system.slice/mygdm.service\n",
            "0::/user.slice/user-1002.slice/user@1002.service/gdm.service\n", "0::/\n",
        ])
    func `no other service has a sensor while a greeter is shown`(groups: String) throws {
        let worker = try worker(in: groups, executing: Self.workerOfGDM)
        #expect(refusal(.withoutSession, to: worker, whileGreeterIsAlone: true) == .withoutSession)
    }

    private static let workerOfGDM = "/usr/libexec/gdm-session-worker"
    /// Of the person who is asked.
    private static let session = "0::/user.slice/user-10001.slice/session-2.scope\n"

    @Test func `GDM has a sensor at the person's locked screen, and at the greeter when they return`() throws {
        let worker = try worker(in: Self.session, executing: Self.workerOfGDM)
        #expect(refusal(.sessionLocked, to: worker, whileGreeterIsAlone: false) == nil)
        #expect(refusal(.notActive, to: worker, whileGreeterIsAlone: true) == nil)
        #expect(refusal(.notActive, to: worker, whileGreeterIsAlone: false) == .notActive)
        #expect(
            refusal(.withoutSession, to: worker, whileGreeterIsAlone: true) == .withoutSession,
            "it runs in another user's session")
        for usual in [SensorRefusal.remote, .unknownSession] {
            #expect(refusal(usual, to: worker, whileGreeterIsAlone: true) == usual)
        }
        #expect(
            refusal(.notActive, to: worker, whileGreeterIsAlone: true, isAdministrator: false) == .notActive)
    }

    @Test(
        arguments: [
            ("/usr/bin/sudo", true), ("/usr/libexec/gdm-session-worker", false),
            ("/home/ada/usr/libexec/gdm-session-worker", true), ("/usr/libexec/gdm-session-worker (deleted)", true),
        ])
    func `no other program of root's in the person's session has one`(path: String, isTrue: Bool) throws {
        let worker = try worker(in: Self.session, executing: path, isTrue: isTrue)
        #expect(refusal(.sessionLocked, to: worker, whileGreeterIsAlone: false) == .sessionLocked)
        #expect(refusal(.notActive, to: worker, whileGreeterIsAlone: true) == .notActive)
        worker.change { $0.executable = .failure(.refused) }
        #expect(refusal(.sessionLocked, to: worker, whileGreeterIsAlone: false) == .sessionLocked)
    }

    @Test func `what refuses a sensor to any program refuses it here`() {
        for usual in [SensorRefusal.remote, .notActive, .unknownSession, .terminalForbidden] {
            for isAdministrator in [true, false] {
                #expect(refusal(usual, onTerminal: 4 << 8 | 2, isAdministrator: isAdministrator) == usual)
            }
        }
        #expect(refusal(nil) == nil)
    }

    @Test func `the shown console is one of the kernel's own`() {
        #expect(SignInSeat.console(named: "tty2") == UInt32(4 << 8 | 2))
        for name in ["tty0", "ttyS0", "pts/2", "tty64", ""] { #expect(SignInSeat.console(named: name) == nil) }
    }
}
