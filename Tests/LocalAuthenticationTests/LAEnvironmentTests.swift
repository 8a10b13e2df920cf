import Foundation
import LocalAuthentication
import OstiaryMessages
import Synchronization
import Testing

/// Counts its calls, and lets a test wait for them.
private final class Watcher: NSObject, LAEnvironment.Observer, Sendable {
    typealias Change = (old: LAEnvironment.State, new: LAEnvironment.State)

    private let received = Locked<[Change]>([])
    private let (changes, continuation) = AsyncStream.makeStream(of: Void.self)

    var all: [Change] { received.value }

    func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {
        received.update { $0.append((oldState, environment.state)) }
        continuation.yield()
    }

    /// Waits for a call; for one task.
    func isCalled() async { for await _ in changes { return } }
}

/// An app's observer without the method, which is optional in Apple's protocol.
private final class Silent: NSObject, LAEnvironment.Observer {}

@Suite(.timeLimit(.minutes(10))) struct LAEnvironmentTests {
    private let daemon = FakeDaemon()
    private let environment: LAEnvironment

    init() { environment = LAEnvironment.environment(service: daemon) }

    private static func state(_ digest: UInt8, isUsable: Bool = true) -> WireEnvironment {
        .with {
            $0.biometry = .with {
                ($0.type, $0.isEnrolled, $0.isUsable, $0.stateHash) = (1, true, isUsable, Data([digest]))
            }
            $0.passcode = .with { ($0.isSet, $0.isUsable) = (true, true) }
        }
    }

    // MARK: state

    @Test func `mechanisms say what the daemon says`() throws {
        daemon.setEnvironment(
            .with {
                $0.biometry = .with {
                    ($0.type, $0.isEnrolled, $0.isLockedOut) = (1, true, true)
                    $0.stateHash = Data([7])
                }
                $0.passcode = .with { ($0.isSet, $0.isUsable) = (true, false) }
                $0.companions = [.with { ($0.type, $0.isUsable, $0.stateHash) = (1, true, Data([8])) }]
            })
        let state = environment.state
        let biometry = try #require(state.biometry)
        #expect(biometry.biometryType == .touchID && biometry.isEnrolled && biometry.isLockedOut)
        #expect(!biometry.isUsable && !biometry.builtInSensorInaccessible && biometry.stateHash == Data([7]))
        let password = try #require(state.userPassword)
        #expect(password.isSet && !password.isUsable)
        let companion = try #require(state.companions.first)
        #expect(companion.type == .watch && companion.isUsable && companion.stateHash == Data([8]))
        #expect(state.allMechanisms == [biometry, password, companion])
        for mechanism in state.allMechanisms {
            #expect(!mechanism.localizedName.isEmpty && !mechanism.iconSystemName.isEmpty)
        }
    }

    @Test func `without a sensor there is no biometry, and without a passcode none is set`() {
        daemon.setEnvironment(WireEnvironment())
        let state = environment.state
        #expect(state.biometry == nil && state.companions.isEmpty)
        #expect(state.userPassword?.isSet == false && state.userPassword?.isUsable == false)
        #expect(state.allMechanisms.count == 1)
    }

    @Test func `without a daemon there is no mechanism`() {
        daemon.setEnvironment(nil)
        #expect(environment.state.allMechanisms.isEmpty)
        #expect(environment.state.userPassword == nil)
    }

    @Test func `states with the same content are equal, and a copy is one`() {
        daemon.setEnvironment(Self.state(1))
        let state = environment.state
        #expect(state == environment.state && state.hash == environment.state.hash)
        #expect(state.copy() as? LAEnvironment.State == state)
        daemon.setEnvironment(Self.state(2))
        #expect(state != environment.state)
        #expect(!state.isEqual(nil) && !state.isEqual(NSObject()))
    }

    @Test func `the environment of the user is one object`() {
        #expect(LAEnvironment.currentUser === LAEnvironment.currentUser)
    }

    // MARK: observers

    @Test func `an observer is told the old state, when the new one is there already`() async {
        daemon.setEnvironment(Self.state(1))
        let watcher = Watcher()
        environment.addObserver(watcher)
        for digest: UInt8 in [2, 3] {
            daemon.setEnvironment(Self.state(digest))
            await watcher.isCalled()
        }
        #expect(watcher.all.map { $0.old.biometry?.stateHash } == [Data([1]), Data([2])])
        #expect(watcher.all.map { $0.new.biometry?.stateHash } == [Data([2]), Data([3])])
        environment.removeObserver(watcher)
    }

    @Test func `all observers are told, one that was added twice only once`() async {
        let (first, second) = (Watcher(), Watcher())
        for watcher in [first, second, first] { environment.addObserver(watcher) }
        #expect(daemon.watchCount == 1)
        daemon.setEnvironment(Self.state(1))
        await first.isCalled()
        await second.isCalled()
        daemon.setEnvironment(Self.state(2))
        await first.isCalled()
        #expect(first.all.count == 2)
        for watcher in [first, second] { environment.removeObserver(watcher) }
    }

    @Test func `an observer that was removed is told nothing, and nobody watches any more`() async {
        let (removed, kept) = (Watcher(), Watcher())
        for watcher in [removed, kept] { environment.addObserver(watcher) }
        environment.removeObserver(removed)
        daemon.setEnvironment(Self.state(1))
        await kept.isCalled()
        #expect(removed.all.isEmpty)
        #expect(daemon.watchCount == 1)
        environment.removeObserver(kept)
        #expect(daemon.watchCount == 0)
        environment.removeObserver(kept)
        environment.addObserver(removed)
        #expect(daemon.watchCount == 1)
        environment.removeObserver(removed)
    }

    @Test func `an observer is not kept alive, and the watch ends with the next change`() async {
        weak var gone: Watcher?
        do {
            let watcher = Watcher()
            gone = watcher
            environment.addObserver(watcher)
        }
        #expect(gone == nil)
        daemon.setEnvironment(Self.state(1))
        while daemon.watchCount > 0 { await Task.yield() }
    }

    @Test func `a change while there was no daemon is told when there is one`() async {
        daemon.setEnvironment(nil)
        let watcher = Watcher()
        environment.addObserver(watcher)
        daemon.setEnvironment(Self.state(1))
        await watcher.isCalled()
        #expect(watcher.all.first?.old.userPassword == nil)
        #expect(watcher.all.first?.new.userPassword?.isSet == true)
        environment.removeObserver(watcher)
    }

    @Test func `an observer may remove itself, and one without the method does no harm`() async {
        final class Leaving: NSObject, LAEnvironment.Observer, Sendable {
            let (calls, continuation) = AsyncStream.makeStream(of: Void.self)
            func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {
                environment.removeObserver(self)
                continuation.yield()
            }
        }
        let (silent, leaving) = (Silent(), Leaving())
        environment.addObserver(silent)
        environment.addObserver(leaving)
        daemon.setEnvironment(Self.state(1))
        for await _ in leaving.calls { break }
        environment.removeObserver(silent)
        #expect(daemon.watchCount == 0)
    }
}
